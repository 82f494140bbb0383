"""The page of the rules names every field of a policy and every comparison, and says what the presets are."""

from __future__ import annotations

import json
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from fairhold import Fairhold, inputs
from fairhold.core import conditions
from fairhold.core.policy import DEFAULT, PRESETS, Policy, make
from fairhold.core.refusals import Refusal

PAGE = (Path(__file__).parent.parent / "docs/concepts/rules.md").read_text(encoding="utf-8")
FIELDS = {field.name: field for field in fields(Policy)}


def rows(page: str, heading: str) -> dict[str, list[str]]:
    """The rows of all tables with such a heading, each by what stands in its first cell."""
    tables = re.findall(rf"^{re.escape(heading)}.*\n\|[-|]+\n((?:\|.*\n)+)", page, re.MULTILINE)
    cells = [
        [cell.strip() for cell in line.split("|")[1:-1]] for table in tables for line in table.splitlines()
    ]
    assert len(cells) == len({row[0] for row in cells}), "nothing stands there twice"
    return {row[0]: row[1:] for row in cells}


def test_every_field_of_a_policy_is_explained_with_its_values() -> None:
    explained = rows(PAGE, "| field | values | means |")
    assert sorted(explained) == sorted(f"`{name}`" for name in FIELDS)
    for name, field in FIELDS.items():
        values, meaning = explained[f"`{name}`"]
        assert meaning
        choices = field.metadata["wanted"].removeprefix("one of: ").split(", ")
        for choice in choices if field.metadata["kind"] == "choice" else ():
            assert f"`{choice}`" in values, (name, choice)
        unlimited = field.metadata["wanted"].endswith("or null for no limit")
        assert unlimited <= ("`null`" in values), name


def test_every_preset_is_as_its_column_says() -> None:
    said = rows(PAGE, "| field | `checkout` |")
    named = re.findall(r"`(\w+)`", PAGE[PAGE.index("| field | `checkout` |") :].partition("\n")[0])
    assert (sorted(said), named) == (sorted(FIELDS), list(PRESETS))
    for name, cells in said.items():
        for preset, cell in zip(named, cells, strict=True):
            value = getattr(PRESETS[preset], name)
            at_rest = value == getattr(DEFAULT, name)
            assert cell == shown(name, value) or (cell == "–" and at_rest), (name, preset)


def test_the_page_says_what_a_pool_is_without_a_preset() -> None:
    guide = (Path(__file__).parent.parent / "docs/howto/library.md").read_text(encoding="utf-8")
    for said in (PAGE, guide, " ".join((Fairhold.create_pool.__doc__ or "").split())):
        assert "Without a preset it is `checkout`, which has no line" in said
    assert make(None, {}) == PRESETS["checkout"]
    assert PRESETS["checkout"].promotion is None
    with_line = make(None, {"promotion": "auto"})
    assert isinstance(with_line, Policy)
    assert with_line.if_full == "wait", "who says how a line is served wants one"


def shown(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if FIELDS[name].metadata["kind"] == "length" and value:
        minutes = value // 60_000
        return f"{minutes} min" if minutes <= 60 else f"{minutes // 60} h"
    if value is None and FIELDS[name].metadata["kind"] == "count":
        return "no limit"
    if name == "confirm_by":
        return value or "null"
    return str(value) if value else "none"


def test_every_comparison_is_on_the_page() -> None:
    told = " ".join(rows(PAGE, "| comparison | takes |"))
    assert sorted(re.findall(r"`(\w+)`", told)) == sorted(conditions._COMPARISONS)


def test_the_rules_that_the_page_shows_are_good() -> None:
    priority, eligible = map(json.loads, re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL))
    policy = make("course_section", priority)
    assert not isinstance(policy, Refusal)
    assert len(policy.priority_rules) == 2
    quotas, _ = inputs.quotas(eligible["quotas"])
    assert conditions.problem(quotas[1].eligible) is None


def test_what_is_missing_or_wrong_there_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    for was, now, check in (
        ("| `cooldown` |", "| `coolness` |", test_every_field_of_a_policy_is_explained_with_its_values),
        ("`stay`, `back`, `leave`", "`stay`", test_every_field_of_a_policy_is_explained_with_its_values),
        ("| cooldown | – | – | 24 h |", "| cooldown | – | – | – |", test_every_preset_is_as_its_column_says),
        ("`less_than` |", "`smaller` |", test_every_comparison_is_on_the_page),
    ):
        assert was in PAGE
        monkeypatch.setitem(globals(), "PAGE", PAGE.replace(was, now))
        with pytest.raises(AssertionError):
            check()
        monkeypatch.undo()
