"""Every sentence of the pages in every language, and every step of a story."""

from __future__ import annotations

import io
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from babel.messages.pofile import read_po

from fairhold import explain
from fairhold.core.model import Price
from fairhold.messages.languages import LANGUAGES
from fairhold.pages.booking import told
from fairhold.pages.speech import PageSpeech, preferred
from fairhold.pages.wording import environment
from fairhold.shapes import Explanation
from testbed.catalogues import CONSOLE, FAIRHOLD, PAGES, extracted

MESSAGES = FAIRHOLD / "messages"
NOW = datetime(2027, 3, 6, 9, 20, tzinfo=UTC)
FACTS: dict[str, Any] = {
    "seats": 2,
    "attempts": 1,
    "cooldown_s": 86400,
    "position": 3,
    "was": 5,
    "quantity": 1,
    "window_s": 600,
}
# Every code with the reasons that the rules give, as `explain` lists them.
STEPS = [
    *(
        (code, "")
        for code in [
            "joined",
            "held",
            "confirmed",
            "offered",
            "promoted",
            "claimed",
            "extended",
            "changed",
            "expired",
            "cancelled",
        ]
    ),
    *((code, "") for code in ("moved", "demoted", "completed", "told", "delayed", "reachable")),
    *(("not_reached", why) for why in ("no_channel", "no_contact", "dead_contact", "channel_down")),
    *(("changed", why) for why in ("told_by_staff", "told_by_channels")),
    ("confirmed", "waiting"),
    ("offered", "staff"),
    ("claimed", "part"),
    ("expired", "not_confirmed"),
    ("demoted", "part"),
    *(("put_back", state) for state in ("waiting", "held", "confirmed")),
    *(
        (code, why)
        for code in ("declined", "lapsed")
        for why in ("stay", "back", "leave", "attempts_used_up")
    ),
    *(
        ("closed", why)
        for why in ["attempts_used_up", "pool_closed", "pool_cancelled", "pool_started", "demoted"]
    ),
    *(
        ("passed_over", why)
        for why in [
            "had_turn",
            "cooldown",
            "does_not_fit",
            "wants_other",
            "not_eligible",
            "attempts_used_up",
            "quiet_hours",
            "unreachable",
        ]
    ),
]


def speech(language: str) -> PageSpeech:
    found = PageSpeech.of(language, "en", "Europe/Helsinki")
    assert isinstance(found, PageSpeech)
    return found


@pytest.mark.parametrize("package", [PAGES, CONSOLE], ids=lambda package: package.name)
@pytest.mark.parametrize("language", [it for it in LANGUAGES if it != "en"])
def test_a_catalogue_has_every_sentence_and_no_other(package: Path, language: str) -> None:
    text = (package / "catalogues" / f"{language}.po").read_bytes()
    catalogue = read_po(io.BytesIO(text), locale=language)
    there = {it.id if isinstance(it.id, str) else tuple(it.id): it for it in catalogue if it.id}
    assert set(there) == set(extracted(package / "templates"))
    for said, it in there.items():
        english = [said] if isinstance(said, str) else list(said)
        forms = [it.string] if isinstance(it.string, str) else list(it.string)
        assert len(forms) == len(english)
        for form in forms:
            assert form.strip(), english
            asked, given = (set(re.findall(r"%\((\w+)\)s", text)) for text in (" ".join(english), form))
            assert given == asked if len(english) == 1 else given <= asked, english
            assert form.count("<") == english[0].count("<")


# What was said beside the one word for the line, and for the reference.
OTHER_WORDS = {"de": ("Warteschlange", "Buchungsnummer", "Referenz"), "fi": ("Viit", "viit", "paikkakunnan")}


@pytest.mark.parametrize("package", [PAGES, CONSOLE, MESSAGES], ids=lambda package: package.name)
@pytest.mark.parametrize("language", OTHER_WORDS)
def test_one_thing_has_one_word_in_every_catalogue(package: Path, language: str) -> None:
    text = (package / "catalogues" / f"{language}.po").read_text(encoding="utf-8")
    assert [word for word in OTHER_WORDS[language] if word in text] == []


def sentence(language: str, code: str, reason: str, by: str = "party", **facts: Any) -> str:
    step = told(Explanation(NOW, by, code, reason, "", FACTS | facts), speech(language))
    template = environment(language).get_template("story.html")
    module: Any = template.make_module({"speech": speech(language)})
    return str(module.sentence(step))


@pytest.mark.parametrize(("code", "reason"), STEPS)
def test_every_step_of_a_story_is_told_in_every_language(code: str, reason: str) -> None:
    for by in ("party", "staff:Olga"):
        said = {sentence(language, code, reason, by) for language in LANGUAGES}
        assert len(said) == len(LANGUAGES)
        assert all(it.strip() and "%(" not in it for it in said)


def test_every_code_of_explain_is_among_them() -> None:
    listed = (explain.__doc__ or "").partition("codes ")[2].partition("reasons ")[0].split()
    assert set(listed) == {code for code, _ in STEPS}


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_two_ways_to_be_unreachable_are_told_alike(language: str) -> None:
    reasons = ("no_channel", "no_contact", "dead_contact", "channel_down")
    module: Any = environment(language).get_template("rules.html").make_module({"speech": speech(language)})
    for tell in (lambda reason: sentence(language, "not_reached", reason), module.unreached):
        assert len({str(tell(reason)).strip() for reason in reasons}) == len(reasons)


def test_a_story_is_told_with_its_figures() -> None:
    assert sentence("en", "joined", "") == "You joined the line as #3. You had 10 minutes to confirm."
    assert sentence("en", "held", "", units=("12A", "12B")) == "You signed up: 12A, 12B, held for 10 minutes."
    # The instant is 11:20 in Helsinki.
    assert sentence("en", "extended", "", window_s=1775) == "You took more time, until 11:49 AM."
    assert sentence("en", "extended", "", "staff:Olga", window_s=86_400) == (
        "The organiser gave you more time, until Sun, Mar 7 11:20 AM."
    )
    assert sentence("fi", "offered", "").startswith("Olit numero 3, ja sinulle tarjottiin: 1 paikka")
    assert "24 Stunden" in sentence("de", "passed_over", "cooldown")
    assert sentence("en", "offered", "staff", "staff:Olga", why="offered by staff").endswith(
        "for 10 minutes."
    )
    assert sentence("en", "cancelled", "", "staff:Olga", why="<called>").endswith("<q>&lt;called&gt;</q>")


@pytest.mark.parametrize(
    ("code", "reason", "why"),
    [
        ("moved", "", "complains"),
        ("put_back", "waiting", "complains"),
        ("put_back", "held", "complains"),
        ("offered", "staff", "complains"),
        ("closed", "pool_cancelled", "pool_cancelled"),
    ],
)
def test_a_story_tells_no_reason_that_staff_gave_for_themselves(code: str, reason: str, why: str) -> None:
    assert why not in sentence("en", code, reason, "staff:Olga", why=why)


@pytest.mark.parametrize(
    ("language", "seconds", "said"),
    [
        ("en", 86_400, "24 hours"),
        ("en", 600, "10 minutes"),
        ("en", 90, "90 seconds"),
        ("en", 1_775, "29 minutes 35 seconds"),
        ("fi", 1_775, "29 minuuttia 35 sekuntia"),
        ("de", 150, "2 Minuten 30 Sekunden"),
        ("en", 5_400, "1 hour 30 minutes"),
        ("en", 3 * 86_400, "3 days"),
        ("fi", 86_400, "24 tuntia"),
        ("de", 3_600, "1 Stunde"),
    ],
)
def test_a_length_is_said_as_a_rule_has_it(language: str, seconds: int, said: str) -> None:
    assert speech(language).span(seconds) == said


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0, "0:00"), (59, "0:59"), (3599, "59:59"), (3600, "1 hour"), (90_061, "1 day 1 hour")],
)
def test_time_left_is_said_as_the_script_says_it(seconds: int, said: str) -> None:
    assert speech("en").left(seconds) == said


def test_days_and_prices_are_said_as_people_write_them() -> None:
    assert speech("en").day(NOW) == "Saturday, March 6, 2027"
    assert speech("de").day(NOW) == "Samstag, 6. März 2027"
    assert speech("fi").at(NOW) == "11.20"
    assert speech("en").price(Price(4500, "EUR")) == "€45.00"
    assert speech("de").price(Price(4500, "JPY")).startswith("4.500")


@pytest.mark.parametrize(
    ("given", "locale"),
    [
        (("", "", "", "fi"), "fi"),
        (("de_AT", "", "", "en"), "de-AT"),
        (("../../x", "fi", "", "en"), "fi"),
        (("", "sv", "en-GB;q=0.2,fi", "en"), "fi"),
        (("", "", "de;q=0,en", "fi"), "en"),
        # The browser says how the language is written where it is read: 18:00 and not 6 PM.
        (("", "en", "fi,en-GB;q=0.5", "fi"), "en-GB"),
        (("en", "fi", "en-GB,en;q=0.9", "fi"), "en-GB"),
        (("", "en-US", "en-GB", "fi"), "en-US"),
        (("", "de", "en-GB", "fi"), "de"),
        (("", "en", "en-GB;q=0", "fi"), "en"),
    ],
)
def test_the_dearest_language_that_we_speak_is_chosen(given: tuple[str, str, str, str], locale: str) -> None:
    assert preferred(*given) == locale
