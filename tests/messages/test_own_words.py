"""An org may say it in its own words: checked before they are kept, tried out before they are sent."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from jinja2.exceptions import SecurityError

from fairhold import Fairhold, Refusal, granted
from fairhold.messages.own_words import names, problem
from fairhold.messages.wording import said_instead
from tests.database import opened


@pytest.fixture
async def hf(database_url: str) -> AsyncIterator[Fairhold]:
    async with opened(database_url) as hf:
        yield hf


async def refused(hf: Fairhold, text: str, part: str = "body") -> str:
    answer = await hf.set_template("offer", "en", part, text)
    assert isinstance(answer, Refusal), text
    assert answer.code == "invalid"
    assert await hf.templates() == []
    return answer.sentence


async def test_what_is_said_instead_is_what_is_sent(hf: Fairhold) -> None:
    text = "Dear {{ name|upper }},\n\n{% if time_left %}{{ time_left }} left.{% else %}Gone.{% endif %}"
    granted(await hf.set_template("offer", "en", "body", text, by="staff:Olga"))
    granted(await hf.set_template("offer", "en", "sms", "Quick, {{ link }}"))
    first, _, late, *_ = granted(await hf.preview("offer"))
    assert "Dear ANN,\n\n10 minutes left." in first.text
    assert "Dear ANN," in first.html
    assert first.sms.startswith("Quick, https://")
    assert "Gone." in late.text
    assert "Dear" not in granted(await hf.preview("offer", "de"))[0].text
    kept = await hf.templates()
    assert [(it.part, it.by) for it in kept] == [("body", "staff:Olga"), ("sms", "staff")]
    assert await hf.drop_template("offer", "en", "body") is True
    assert await hf.drop_template("offer", "en", "body") is False
    assert "Dear" not in granted(await hf.preview("offer"))[0].text


async def test_words_can_be_tried_out_without_being_kept(hf: Fairhold) -> None:
    shown = granted(await hf.preview("confirmed", "fi", own={"subject": "Nähdään: {{ pool }}"}))
    assert shown[0].subject == "Nähdään: Saturday yoga"
    assert "data:image/png;base64," in shown[0].html
    assert await hf.templates() == []
    wrong = await hf.preview("confirmed", "fi", own={"subject": "{{ oops }}"})
    assert isinstance(wrong, Refusal)


@pytest.mark.parametrize(
    "text",
    [
        "{{ ''.__class__.__mro__ }}",
        "{{ pool.__init__.__globals__ }}",
        "{{ pool|attr('__class__') }}",
        "{% for n in [1, 2] %}{{ n }}{% endfor %}",
        "{{ range(10) }}",
        "{{ 'a' * 1000000000 }}",
        "{{ 2 ** 99999999 }}",
        "{% include 'letter.html' %}",
        "{% import 'words.j2' as w %}",
        "{% macro m() %}{% endmacro %}",
        "{% set pool = 1 %}",
        "{% block a %}{% endblock %}",
        "{{ self }}",
        "{{ namespace() }}",
        "{{ [pool, name] }}",
        "{{ pool ~ name }}",
    ],
)
async def test_what_reaches_further_than_words_is_refused(hf: Fairhold, text: str) -> None:
    await refused(hf, text)


CANNOT = {
    "brackets in brackets": "{{ " + "(" * 2_000 + "1" + ")" * 2_000 + " }}",
    "many signs": "{{ " + "-" * 4_000 + "1 }}",
    "many filters": "{{ name" + "|upper" * 800 + " }}",
    "conditions in conditions": "{% if name %}" * 120 + "{{ link }}" + "{% endif %}" * 120,
    "deeper than is needed, and not too deep to be read": "{{ " + "not " * 40 + "name }} {{ link }}",
    "a number of many digits": "{{ " + "9" * 4_900 + " }}",
    "half a character": "{{ '\\ud800' }} {{ link }}",
    "a character that no database keeps": "{{ '\\0' }} {{ link }}",
    "a comparison of what cannot be compared": "{{ position > 'a' }} {{ link }}",
    "a filter asked too much": "{{ name|title(1) }} {{ link }}",
    "a filter asked the wrong thing": "{{ name|trim(5) }} {{ link }}",
}


@pytest.mark.parametrize("text", CANNOT.values(), ids=CANNOT)
def test_what_cannot_be_filled_in_is_refused_and_no_error_of_ours(text: str) -> None:
    for part in ("subject", "sms"):
        refusal = problem("offer", "en", part, text)
        assert refusal is not None
        assert (refusal.code, refusal.field) == ("invalid", "text")


@pytest.mark.guarantee("injection.template", "Even without that check, the sandbox lets nothing out.")
@pytest.mark.parametrize("text", ["{{ ''.__class__ }}", "{{ facts.update({}) }}", "{{ facts.__init__ }}"])
def test_the_sandbox_holds_even_without_the_check(text: str) -> None:
    """A second line: what got past the check could still not reach anything."""
    with pytest.raises(SecurityError):
        said_instead("en", text, {"facts": {}})


async def test_a_wrong_name_or_a_slip_is_refused_with_what_would_be_right(hf: Fairhold) -> None:
    assert "Known: by_staff" in await refused(hf, "{{ nmae }}")
    assert "Line 2" in await refused(hf, "one\n{{ pool")
    assert "filters are: capitalize" in await refused(hf, "{{ pool|safe }}")
    assert "nothing would be said" in await refused(hf, "{% if late %}x{% endif %}", "subject")
    assert "must hold {{ link }}" in await refused(hf, "Come!", "sms")
    assert "at most 5000" in await refused(hf, "x" * 5001)
    assert "must be a text" in await refused(hf, "  ")


@pytest.mark.parametrize(
    "given", [("offers", "en", "body"), ("offer", "sv", "body"), ("offer", "en", "html"), (None, 1, [])]
)
async def test_a_kind_language_or_part_that_is_none_is_refused(hf: Fairhold, given: tuple[str, ...]) -> None:
    answer = await hf.set_template(*given, "x")  # type: ignore[call-arg, arg-type]
    assert isinstance(answer, Refusal)
    assert answer.field in ("kind", "language", "part")


def test_every_name_that_may_be_used_is_there_for_every_message() -> None:
    assert {"pool", "name", "reference", "until", "time_left", "link", "position"} <= set(names())
