"""Conditions are data: checked when they are written, judged without being run."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import pytest

from fairhold import inputs
from fairhold.core import commands as c
from fairhold.core.conditions import DEPTH_MAX, SIZE_MAX, matches, problem
from fairhold.core.model import Wants
from fairhold.core.refusals import Refusal
from tests.core.world import ANN, two_units

ABOUT = {
    "credits": 90,
    "average": 1.7,
    "programme": "maths",
    "registered_on": "2026-01-15",
    "applied_at": "2026-01-15T12:00:00+02:00",
    "paid": True,
    "nothing": None,
    "born": date(2001, 5, 6),
    "seen_at": datetime(2026, 1, 1, tzinfo=UTC),
}


def holds(condition: dict[str, Any]) -> bool:
    assert problem(condition) is None
    return matches(condition, ("honours", "member"), ABOUT)


@pytest.mark.parametrize(
    "condition",
    [
        {"tag": "honours"},
        {"attribute": "credits", "is": 90},
        {"attribute": "credits", "is": 90.0},
        {"attribute": "credits", "at_least": 90},
        {"attribute": "credits", "at_most": 90},
        {"attribute": "credits", "more_than": 89.5},
        {"attribute": "credits", "less_than": 91},
        {"attribute": "average", "at_most": 2},
        {"attribute": "programme", "is": "maths"},
        {"attribute": "programme", "in": ["physics", "maths"]},
        {"attribute": "programme", "less_than": "physics"},
        {"attribute": "registered_on", "before": "2026-02-01"},
        {"attribute": "registered_on", "after": "2026-01-14"},
        {"attribute": "applied_at", "before": "2026-01-15T10:00:01Z"},
        {"attribute": "applied_at", "after": "2026-01-15T09:59:59Z"},
        {"attribute": "born", "before": "2008-01-01"},
        {"attribute": "seen_at", "after": "2025-12-31"},
        {"attribute": "paid", "is": True},
        {"attribute": "paid", "known": True},
        {"attribute": "nothing", "known": False},
        {"attribute": "absent", "known": False},
        {"not": {"tag": "auditor"}},
        {"not": {"attribute": "absent", "is": 1}},
        {"all": [{"tag": "honours"}, {"tag": "member"}]},
        {"any": [{"tag": "auditor"}, {"tag": "member"}]},
        {
            "all": [
                {"tag": "honours"},
                {"any": [{"not": {"tag": "member"}}, {"attribute": "credits", "is": 90}]},
            ]
        },
    ],
)
def test_what_is_so_matches(condition: dict[str, Any]) -> None:
    assert holds(condition)


@pytest.mark.parametrize(
    "condition",
    [
        {"tag": "auditor"},
        {"attribute": "credits", "is": 91},
        {"attribute": "credits", "is": "90"},
        {"attribute": "credits", "at_least": 91},
        {"attribute": "credits", "more_than": 90},
        {"attribute": "credits", "less_than": 90},
        {"attribute": "programme", "in": []},
        {"attribute": "registered_on", "before": "2026-01-15"},
        {"attribute": "paid", "known": False},
        {"not": {"tag": "honours"}},
        {"all": [{"tag": "honours"}, {"tag": "auditor"}]},
        {"any": [{"tag": "auditor"}, {"tag": "guest"}]},
    ],
)
def test_what_is_not_so_does_not_match(condition: dict[str, Any]) -> None:
    assert not holds(condition)


@pytest.mark.parametrize(
    "condition",
    [
        {"attribute": "absent", "is": None},
        {"attribute": "absent", "at_most": 5},
        {"attribute": "nothing", "is": None},
        {"attribute": "programme", "at_least": 90},
        {"attribute": "credits", "at_least": "90"},
        {"attribute": "credits", "before": "2026-01-01"},
        {"attribute": "programme", "before": "2026-01-01"},
        {"attribute": "paid", "is": 1},
        {"attribute": "paid", "in": [1]},
        {"attribute": "paid", "at_least": 0},
        {"attribute": "credits", "in": [True]},
    ],
)
def test_what_is_absent_or_of_another_kind_does_not_match(condition: dict[str, Any]) -> None:
    assert not holds(condition)


def nested(depth: int) -> dict[str, Any]:
    condition: dict[str, Any] = {"tag": "a"}
    for _ in range(depth - 1):
        condition = {"not": condition}
    return condition


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        (None, "a condition is an object"),
        ("vip", "a condition is an object"),
        ([], "a condition is an object"),
        ({}, "a condition is one of"),
        ({"some": []}, "a condition is one of"),
        ({"tag": "a", "not": {"tag": "b"}}, "a condition is one of"),
        ({"attribute": "a"}, "a condition is one of"),
        ({"attribute": "a", "at_least": 1, "at_most": 2}, "a condition is one of"),
        ({"tag": 1}, "a tag is text"),
        ({"all": []}, "a list of 1 to"),
        ({"any": {"tag": "a"}}, "a list of 1 to"),
        ({"any": [{"tag": "a"}] * (SIZE_MAX + 1)}, "a list of 1 to"),
        ({"all": [{"tag": "a"}, {"tag": 1}]}, "a tag is text"),
        ({"not": [{"tag": "a"}]}, "a condition is an object"),
        ({"attribute": 1, "is": 1}, "an attribute is named by text"),
        ({"attribute": "a", "like": "x"}, "there is no comparison 'like'"),
        ({"attribute": "a", "in": "xyz"}, "in takes a list"),
        ({"attribute": "a", "known": 1}, "known takes true or false"),
        ({"attribute": "a", "before": "soon"}, "before takes a date"),
        ({"attribute": "a", "after": 5}, "after takes a date"),
        ({"attribute": "a", "at_least": True}, "at_least takes a number or text"),
        ({"attribute": "a", "less_than": [1]}, "less_than takes a number or text"),
        ({"attribute": "a", "less_than": None}, "less_than takes a number or text"),
        (nested(DEPTH_MAX + 1), "nest"),
    ],
)
def test_a_wrong_condition_is_refused_in_words(condition: object, said: str) -> None:
    assert said in (problem(condition) or "")


def test_conditions_may_nest_as_deep_as_is_said() -> None:
    assert problem(nested(DEPTH_MAX)) is None


def test_not_a_number_is_never_more_or_less() -> None:
    for comparison in ("at_least", "at_most", "more_than", "less_than"):
        assert not matches({"attribute": "x", comparison: 1}, (), {"x": float("nan")})


TAGGED: list[dict[str, Any]] = [
    {"tag": "x"},
    {"not": {"tag": "x"}},
    {"all": [{"attribute": "row", "is": 1}, {"any": [{"tag": "x"}]}]},
]


@pytest.mark.parametrize("condition", TAGGED)
def test_a_unit_has_no_tags_so_nobody_can_want_one_by_them(condition: dict[str, Any]) -> None:
    """Who did was never offered anything."""
    world = two_units()
    assert problem(condition) is None
    assert world.refused(c.Book(ANN, wants=Wants(condition))) == "invalid"
    refusal = world.decisions[-1].answer
    assert isinstance(refusal, Refusal)
    assert (refusal.field, refusal.sentence) == ("wants.attributes", "In wants: a unit has no tags.")
    refused = inputs_of(condition)
    assert (refused.field, refused.sentence) == (refusal.field, refusal.sentence)


def inputs_of(condition: dict[str, Any]) -> Refusal:
    with pytest.raises(inputs.Bad) as bad:
        inputs.wants({"attributes": condition})
    return bad.value.refusal
