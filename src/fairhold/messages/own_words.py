"""An org's own words: a small language of names, `if` and a few filters, checked before it is kept.

There are no loops, calls or attributes in it, so a template can neither run for long nor reach anything.
"""

from __future__ import annotations

from typing import Any, Final

from jinja2 import TemplateSyntaxError, nodes

from fairhold.core.refusals import Refusal, invalid
from fairhold.messages import letter
from fairhold.messages.context import Speech, variables
from fairhold.messages.languages import LANGUAGES
from fairhold.messages.letter import Overrides
from fairhold.messages.sample import NOW, samples
from fairhold.messages.wording import KINDS, PARTS, environment

TEXT_MAX: Final = 5_000
# Far less than Python can read: what is accepted can be filled in wherever that is done.
DEPTH_MAX: Final = 30
FILTERS: Final = frozenset({"upper", "lower", "capitalize", "title", "trim", "default"})
_ALLOWED: Final = (
    nodes.Template,
    nodes.Output,
    nodes.TemplateData,
    nodes.Name,
    nodes.Const,
    nodes.If,
    nodes.CondExpr,
    nodes.Compare,
    nodes.Operand,
    nodes.And,
    nodes.Or,
    nodes.Not,
    nodes.Filter,
)


def problem(kind: object, language: object, part: object, text: object) -> Refusal | None:
    """What is wrong with a template; None if it can be used."""
    if kind not in KINDS:
        return invalid("kind", f"There is no such kind of message. There are: {', '.join(KINDS)}.")
    if language not in LANGUAGES:
        return invalid("language", f"language must be one of: {', '.join(LANGUAGES)}.")
    if part not in PARTS:
        return invalid("part", f"part must be one of: {', '.join(PARTS)}.")
    if not isinstance(text, str) or not text.strip() or len(text) > TEXT_MAX or "\0" in text:
        return invalid("text", f"text must be a text of at most {TEXT_MAX} characters.")
    return _wrong_words(text) or _wrong_result(str(kind), str(language), str(part), text)


def _wrong_words(text: str) -> Refusal | None:
    try:
        tree = environment("en").parse(text)
    except TemplateSyntaxError as error:
        return invalid("text", f"Line {error.lineno}: {error.message}")
    except (RecursionError, ValueError):
        return invalid("text", "It is nested too deeply, or has a number of too many digits.")
    if _is_deeper(tree, DEPTH_MAX):
        return invalid("text", f"It is nested deeper than {DEPTH_MAX} levels.")
    for node in tree.find_all(nodes.Node):
        if not isinstance(node, _ALLOWED):
            what = type(node).__name__.lower()
            return invalid(
                "text", f"Line {node.lineno}: {what!r} has no place here; use names, if and filters."
            )
        if isinstance(node, nodes.Filter) and node.name not in FILTERS:
            return invalid("text", f"Line {node.lineno}: the filters are: {', '.join(sorted(FILTERS))}.")
        if isinstance(node, nodes.Const) and not _can_be_sent(node.value):
            return invalid("text", f"Line {node.lineno}: there is a character that cannot be sent.")
    known = set(names())
    unknown = sorted({node.name for node in tree.find_all(nodes.Name)} - known)
    if unknown:
        return invalid("text", f"Not known: {', '.join(unknown)}. Known: {', '.join(sorted(known))}.")
    return None


def _is_deeper(node: nodes.Node, levels: int) -> bool:
    """Whether there are more levels below; no further than that is looked."""
    if not levels:
        return True
    return any(_is_deeper(child, levels - 1) for child in node.iter_child_nodes())


def _can_be_sent(value: object) -> bool:
    """Whether what is written out between quotes, where escapes can name any character, is real text."""
    try:
        return not isinstance(value, str) or b"\0" not in value.encode()
    except UnicodeEncodeError:
        return False


def _wrong_result(kind: str, language: str, part: str, text: str) -> Refusal | None:
    """Try it on every case there is: it must say something, and a text must keep its link."""
    for notice in samples(kind):
        speech = Speech.of(language, language, notice.pool.time_zone)
        own: Overrides = {(kind, language, part): text}
        try:
            said = (
                letter.sms(notice, speech, own, NOW)
                if part == "sms"
                else getattr(
                    letter.email(notice, speech, own, NOW), "subject" if part == "subject" else "text"
                )
            )
        except Exception as error:  # noqa: BLE001  # whatever it is, these words did it
            return invalid("text", f"It cannot be filled in: {error}.")
        if not said.strip():
            return invalid("text", "With some of what can happen, nothing would be said.")
        link = notice.links.get("offer") or notice.links.get("booking", "")
        if part == "sms" and link not in said:
            return invalid("text", "A text must hold {{ link }}.")
    return None


def names() -> dict[str, Any]:
    """What a template may name, with an example of each."""
    notice = samples("offer")[0]
    return variables(notice, Speech.of("en", "en", notice.pool.time_zone), NOW)
