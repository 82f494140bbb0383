"""Every kind of message, in every case, language and channel: nothing missing, nothing too long."""

from __future__ import annotations

import dataclasses
import io
import re
from html.parser import HTMLParser
from importlib.resources import files
from typing import Any

import pytest
from babel.messages.pofile import read_po
from jinja2.ext import babel_extract

from fairhold.core.model import Price
from fairhold.core.policy import PRESETS
from fairhold.messages import letter, segments
from fairhold.messages.context import Speech
from fairhold.messages.languages import LANGUAGES, language_of, region_of
from fairhold.messages.sample import CASES, NOW, samples
from fairhold.messages.wording import KINDS
from fairhold.verify import promises

EVERY = [(kind, language) for kind in KINDS for language in LANGUAGES]
BASE = "https://seats.example.org"
LONG = "An evening of chamber music – with “Näkki”, introduced by Prof. Dr. Łukasz Żółć 🎻 and friends"


def spoken(language: str) -> Speech:
    return Speech.of(language, "en", "Europe/Helsinki")


@pytest.mark.parametrize(("kind", "language"), EVERY)
def test_every_case_is_said_in_full(kind: str, language: str) -> None:
    for notice in samples(kind):
        words = letter.email(notice, spoken(language), {}, NOW)
        said = (words.subject, words.text, words.html, letter.sms(notice, spoken(language), {}, NOW))
        for text in said:
            assert text.strip()
            assert not re.search(r"%\(|\{\{|None\b|Undefined", text), text
        assert "\n" not in words.subject
        if notice.to == "party":
            is_offer = kind == "offer" and notice.facts["expires_at"] > NOW
            for name in ("offer", "decline") if is_offer else ("booking",):
                assert notice.links[name] in words.text
                assert notice.links[name] in words.html


@pytest.mark.parametrize(("kind", "language"), EVERY)
def test_no_language_falls_back_to_english(kind: str, language: str) -> None:
    if language == "en":
        return
    for notice in samples(kind, title="T", name="N"):
        ours = letter.email(notice, spoken(language), {}, NOW)
        english = letter.email(notice, spoken("en"), {}, NOW)
        shared = set(ours.text.splitlines()) & set(english.text.splitlines())
        assert all(not line or line == "-- " or line.startswith("http") for line in shared), shared


@pytest.mark.parametrize("title", ["Saturday yoga", LONG, "茶道の会", "{{ 7*7 }}", "€" * 60, "x" * 500])
@pytest.mark.parametrize(("kind", "language"), EVERY)
def test_a_text_is_one_segment_with_its_link_whole(kind: str, language: str, title: str) -> None:
    for notice in samples(kind, title=title, name="Aleksandra Wolfeschlegelsteinhausenbergerdorff"):
        text = letter.sms(notice, spoken(language), {}, NOW)
        assert segments.is_plain(text)
        assert segments.length(text) <= segments.SEGMENT_MAX
        link = notice.links.get("offer") or notice.links.get("booking", "")
        assert text.endswith(link)
        assert "\n" not in text


def test_who_is_confirmed_in_line_is_told_what_comes_by_how_the_line_is_served() -> None:
    notice = next(it for it in samples("confirmed") if it.facts.get("waiting"))
    said = []
    for preset in ("event_signup", "class_waitlist"):
        pool = dataclasses.replace(notice.pool, policy=PRESETS[preset])
        told = dataclasses.replace(notice, pool=pool)
        said.append(letter.email(told, spoken("en"), {}, NOW).text)
    assert "you get the place by itself" in said[0]
    assert "you get the place by itself" not in said[1]
    assert "you can say yes or no" in said[1]


@pytest.mark.parametrize(
    ("price", "once"),
    [
        (Price(2500, "EUR"), "It is yours once your payment has arrived."),
        (None, "It is yours once the organiser has confirmed it."),
    ],
)
@pytest.mark.parametrize(
    ("kind", "preset", "facts", "held"),
    [
        (
            "confirmed",
            "event_signup",
            {"waiting": True},
            "As soon as it is your turn, we hold a place",
        ),
        (
            "offer",
            "class_waitlist",
            {"expires_at": NOW + 60_000},
            "If you say yes, the place is held",
        ),
    ],
)
def test_where_staff_confirm_a_letter_promises_a_hold_and_no_place(
    kind: str, preset: str, facts: dict[str, Any], held: str, price: Price | None, once: str
) -> None:
    notice = samples(kind)[0]
    policy = dataclasses.replace(PRESETS[preset], confirm_by="staff")
    pool = dataclasses.replace(notice.pool, policy=policy, price=price)
    told = dataclasses.replace(notice, pool=pool, facts={**notice.facts, **facts})
    text = " ".join(letter.email(told, spoken("en"), {}, NOW).text.split())
    assert held in text
    assert once in text
    assert "you get the place by itself" not in text
    # Controls: where the party confirms, and where staff have confirmed already, nothing is left to be done.
    theirs = dataclasses.replace(pool, policy=dataclasses.replace(policy, confirm_by="party"))
    assert notice.booking is not None
    settled = notice.booking._replace(confirmed_at=NOW)
    for other in (dataclasses.replace(told, pool=theirs), dataclasses.replace(told, booking=settled)):
        text = " ".join(letter.email(other, spoken("en"), {}, NOW).text.split())
        assert held not in text
        assert once not in text


@pytest.mark.parametrize("language", LANGUAGES)
def test_staff_are_promised_no_reason_where_none_is_known(language: str) -> None:
    """An outbox that never ran, or a channel that answered nothing, says no word of what went wrong."""
    for notice in samples("unreachable"):
        told = dataclasses.replace(notice, facts={**notice.facts, "why": ""})
        text = letter.email(told, spoken(language), {}, NOW).text
        # A paragraph that ends so was cut off before what it announces.
        assert not [it for it in text.split("\n\n") if it.rstrip().endswith(":")], text


def test_the_longest_address_leaves_room_for_the_words_that_matter() -> None:
    (notice, *_) = samples(
        "offer", title=LONG, base_url="https://booking.city-of-somewhere.example.org/seats"
    )
    text = letter.sms(notice, spoken("de"), {}, NOW)
    assert segments.length(text) <= segments.SEGMENT_MAX
    assert "11:30 Uhr" in text


def test_a_text_that_is_not_cut_would_be_too_long() -> None:
    """The negative control of the length: the title alone is longer than a segment."""
    assert segments.length(segments.plain("x" * 500)) > segments.SEGMENT_MAX
    assert not segments.is_plain("茶")


def extracted() -> set[str]:
    found = set()
    folder = files("fairhold.messages") / "templates"
    for file in folder.iterdir():
        if file.name.endswith(".j2"):
            text = io.BytesIO(file.read_bytes())
            for _, _, said, _ in babel_extract(text, ["gettext", "ngettext"], [], {"trimmed": "true"}):
                found.add(said if isinstance(said, str) else said[0])
    return found


@pytest.mark.parametrize("language", [it for it in LANGUAGES if it != "en"])
def test_a_catalogue_has_every_sentence_and_no_other(language: str) -> None:
    text = (files("fairhold.messages") / "catalogues" / f"{language}.po").read_bytes()
    catalogue = read_po(io.BytesIO(text), locale=language)
    there = {it.id if isinstance(it.id, str) else it.id[0]: it for it in catalogue if it.id}
    assert set(there) == extracted()
    for english, it in there.items():
        forms = [it.string] if isinstance(it.string, str) else list(it.string)
        assert len(forms) == (1 if isinstance(it.id, str) else 2)
        for form in forms:
            assert form.strip(), english
            asked = set(re.findall(r"%\((\w+)\)s", " ".join([it.id] if isinstance(it.id, str) else it.id)))
            assert set(re.findall(r"%\((\w+)\)s", form)) <= asked
            if isinstance(it.id, str):
                assert set(re.findall(r"%\((\w+)\)s", form)) == asked


def test_every_kind_that_the_rules_ask_for_has_its_words() -> None:
    asked = set(promises._MESSAGES.values()) | {"attempts_used_up", "lapsed", "demoted", "unreachable"}
    assert asked <= set(KINDS)
    assert set(CASES) == set(KINDS)


def test_places_and_people_come_in_the_right_number() -> None:
    one, two = (letter.email(it, spoken("fi"), {}, NOW).subject for it in samples("offer")[:2])
    assert (one, two) == ("Sinulle on paikka: Saturday yoga", "Sinulle on 2 paikkaa: Saturday yoga")
    one, two = (letter.email(it, spoken("de"), {}, NOW).subject for it in samples("offer")[:2])
    assert (one, two) == ("Ein Platz für Sie: Saturday yoga", "2 Plätze für Sie: Saturday yoga")


class Page(HTMLParser):
    """What an HTML letter asks a reader's program to fetch or do."""

    def __init__(self) -> None:
        super().__init__()
        self.sources: list[str] = []
        self.links: list[str] = []
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            if name in ("src", "background", "srcset") and value:
                self.sources.append(value)
            if name == "href" and value:
                self.links.append(value)


@pytest.mark.parametrize(("kind", "language"), EVERY)
def test_a_letter_fetches_nothing_and_runs_nothing(kind: str, language: str) -> None:
    for notice in samples(kind):
        html = letter.email(notice, spoken(language), {}, NOW).html
        page = Page()
        page.feed(html)
        assert all(it.startswith("cid:") for it in page.sources)
        assert not {"script", "link", "iframe", "form", "object"} & set(page.tags)
        assert "url(" not in html
        assert all(it.startswith(BASE) for it in page.links)
        assert f'lang="{language}"' in html


def test_names_are_shown_as_they_are_and_never_as_markup_or_template() -> None:
    name = "<script>alert(1)</script>{{ 7*7 }}{% raw %}"
    (notice, *_) = samples("offer", title='<b>"Gig"</b>', name=name)
    words = letter.email(notice, spoken("en"), {}, NOW)
    assert "<script>" not in words.html
    assert "&lt;script&gt;" in words.html
    assert "<b>" not in words.html
    assert name in words.text
    assert "49" not in words.text.partition("\n")[0]


@pytest.mark.parametrize("kind", KINDS)
def test_a_letter_says_where_and_what_it_costs_while_that_matters(kind: str) -> None:
    for notice in samples(kind):
        pool = dataclasses.replace(notice.pool, attributes={"location": "Old mill"}, price=Price(4500, "EUR"))
        said = letter.email(dataclasses.replace(notice, pool=pool), spoken("en"), {}, NOW).text
        over = kind in ("lapsed", "attempts_used_up", "cancelled", "handed_back", "unreachable")
        over |= kind == "demoted" and notice.facts["position"] is None
        assert ("Where: Old mill" in said) is not over
        count = notice.facts.get("offered") or notice.facts.get("quantity") or 1
        assert (f"Price: €{45 * count}.00" in said) is not over


def test_a_letter_tells_the_price_that_was_agreed_and_no_place_that_is_no_text() -> None:
    (notice, *_) = samples("confirmed")
    pool = dataclasses.replace(notice.pool, attributes={"location": 7}, price=Price(4500, "EUR"))
    assert notice.booking is not None
    booking = notice.booking._replace(price=Price(4000, "EUR"))
    said = letter.email(dataclasses.replace(notice, pool=pool, booking=booking), spoken("en"), {}, NOW).text
    assert "Price: €40.00" in said
    assert "Where" not in said


# Times, lengths and languages.


def test_instants_are_those_of_the_pools_zone() -> None:
    (helsinki, *_) = samples("offer", time_zone="Europe/Helsinki")
    (tokyo, *_) = samples("offer", time_zone="Asia/Tokyo")
    said = letter.email(helsinki, Speech.of("de", "en", "Europe/Helsinki"), {}, NOW).text
    assert "Sa., 6. März 2027, 11:30 Uhr" in said
    assert "Uhrzeiten gelten für Helsinki" in said
    assert "18:30" in letter.email(tokyo, Speech.of("de", "en", "Asia/Tokyo"), {}, NOW).text


def test_a_locale_says_how_times_are_written() -> None:
    (notice, *_) = samples("offer")
    for locale, time in (
        ("en-US", "11:30 AM"),
        ("en-GB", "11:30"),
        ("fi", "klo 11.30"),
        ("de-AT", "11:30 Uhr"),
    ):
        speech = Speech.of(locale, "en", "Europe/Helsinki")
        assert time in letter.email(notice, speech, {}, NOW).text
    assert "AM" not in letter.email(notice, Speech.of("en_GB", "en", "Europe/Helsinki"), {}, NOW).text


@pytest.mark.parametrize(
    ("minutes", "said"),
    [
        (0, "0 minutes"),
        (1, "1 minute"),
        (60, "1 hour"),
        (90, "1 hour 30 minutes"),
        (1440, "1 day"),
        (1441, "1 day"),
        (26 * 60 + 59, "1 day 2 hours"),
    ],
)
def test_time_left_is_never_more_than_there_is(minutes: int, said: str) -> None:
    assert spoken("en").length(minutes * 60_000 + 59_999) == said


def test_who_speaks_none_of_our_languages_gets_the_default() -> None:
    assert Speech.of("sv-FI", "fi", "UTC").language == "fi"
    assert Speech.of("", "de", "UTC").language == "de"
    assert Speech.of("nonsense!!", "en", "UTC").language == "en"
    assert Speech.of("en-XX-YY-ZZ", "de", "UTC").language == "en"
    assert (language_of("DE_at"), language_of("sv"), language_of("")) == ("de", None, None)
    assert (region_of("de-AT"), region_of("zh_Hant_TW"), region_of("fi")) == ("AT", "TW", "")


def test_an_offer_that_comes_too_late_says_so_and_offers_nothing() -> None:
    late = samples("offer")[2]
    words = letter.email(late, spoken("en"), {}, NOW)
    assert "reaches you late" in words.text
    assert "Time left" not in words.text
    assert "/o/" not in words.text


def test_the_text_alphabet_is_that_of_phones() -> None:
    assert segments.plain("Łódź – “Żółć” … naïve") == 'Lodz - "Zolc" ... naive'
    assert segments.plain("Pa\u0308ivi") == "Päivi"
    assert segments.plain("Äiti söi ÅÄÖ ß ñ €") == "Äiti söi ÅÄÖ ß ñ €"
    assert segments.length("€") == 2
    assert segments.cut("abcdefgh", 6) == "abc..."
    assert segments.cut("abc", 3) == "abc"
    assert segments.cut("abcdefgh", 2) == ""
