"""What messages say: Fairhold's words or the org's own, with a preview before they are kept."""

from __future__ import annotations

from typing import Any, Final

from fairhold.console import tabs
from fairhold.console.calls import Call
from fairhold.console.page import READERS, STAFFS, Page
from fairhold.core.refusals import Refusal
from fairhold.http.operations import granted
from fairhold.http.problems import not_found
from fairhold.messages.context import Speech, variables
from fairhold.messages.languages import LANGUAGES
from fairhold.messages.sample import NOW, samples
from fairhold.messages.wording import KINDS, PARTS
from fairhold.pages.answers import Answer
from fairhold.pages.speech import NAMES

HERE: Final = f"{tabs.HOME}/words"


async def look(call: Call) -> Answer:
    own = {(it.kind, it.language) for it in await call.hf.templates()}
    rows = [
        (kind, to, [(code, NAMES[code], (kind, code) in own) for code in LANGUAGES])
        for kind, to in KINDS.items()
    ]
    return await tabs.show(call, "words.html", "words", here=HERE, rows=rows)


async def one(call: Call) -> Answer:
    return await _show(call, await _kept(call))


def _named(call: Call) -> tuple[str, str]:
    kind, language = call.path["kind"], call.path["language"]
    if kind not in KINDS or language not in LANGUAGES:
        raise not_found()
    return kind, language


async def _kept(call: Call) -> dict[str, str]:
    """What the org says in its own words, by part."""
    named = _named(call)
    return {it.part: it.text for it in await call.hf.templates() if (it.kind, it.language) == named}


async def _show(
    call: Call, texts: dict[str, str], refused: Refusal | None = None, *, tried: bool = False
) -> Answer:
    kind, language = _named(call)
    own: dict[str, str] = {} if refused is not None else {part: text for part, text in texts.items() if text}
    found = await call.hf.preview(kind, language, own=own)
    return await tabs.show(
        call,
        "words_of.html",
        "words",
        here=f"{HERE}/{kind}/{language}",
        refused=refused,
        kind=kind,
        spoken=language,
        languages_of=[(code, NAMES[code]) for code in LANGUAGES],
        parts=PARTS,
        texts=texts,
        is_own=bool(await _kept(call)),
        tried=tried,
        cases=[] if isinstance(found, Refusal) else found,
        names=_names(kind, language),
        to=KINDS[kind],
    )


def _names(kind: str, language: str) -> list[tuple[str, Any]]:
    """What the words may name, with how it reads in an example."""
    notice = next(iter(samples(kind)))
    found = variables(notice, Speech.of(language, language, notice.pool.time_zone), NOW)
    return [(name, value) for name, value in found.items() if isinstance(value, str | int) and value]


async def send(call: Call) -> Answer:
    """Show how it would read, or keep it; what is left empty goes back to Fairhold's words."""
    kind, language = _named(call)
    kept = await _kept(call)
    texts = {part: call.form.get(part, "").strip() for part in PARTS}
    said = {part: text for part, text in texts.items() if text}
    refused = await call.hf.preview(kind, language, own=said)
    if isinstance(refused, Refusal):
        return await _show(call, texts, refused)
    if call.form.get("do") != "keep":
        return await _show(call, texts, tried=True)
    for part, text in texts.items():
        if text:
            granted(await call.hf.set_template(kind, language, part, text, by=call.by))
        elif part in kept:
            granted(await call.hf.drop_template(kind, language, part))
    return call.to(f"{HERE}/{kind}/{language}", told="words_kept")


PAGES: Final = (
    Page(HERE, "console_words", look),
    Page(f"{HERE}/{{kind}}/{{language}}", "console_words_of", one, send, READERS, STAFFS),
)
