"""Conditions over tags and attributes: data that is checked and judged, never code that is run.

    {"all": [c, …]}   {"any": [c, …]}   {"not": c}
    {"tag": "honours"}
    {"attribute": "credits", "at_least": 90}
    {"attribute": "registered_on", "before": "2026-02-01"}

Comparisons: is, in, at_least, at_most, more_than, less_than (numbers, text), before, after (dates and
instants in ISO 8601; a value without a zone is UTC), known (true or false). An attribute that is
absent, or of another kind than the comparison wants, simply does not match.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from datetime import UTC, date, datetime
from typing import Any, Final

DEPTH_MAX: Final = 8
SIZE_MAX: Final = 200

Condition = Mapping[str, Any]


def problem(condition: object, depth: int = 1, *, of_unit: bool = False) -> str | None:
    """What is wrong with a condition, of a party or of a unit, in words; None if nothing is."""
    if not isinstance(condition, Mapping):
        return "a condition is an object"
    if depth > DEPTH_MAX:
        return f"conditions may nest {DEPTH_MAX} deep"
    keys = set(condition)
    if keys in ({"all"}, {"any"}):
        (parts,) = condition.values()
        if not isinstance(parts, list | tuple) or not 0 < len(parts) <= SIZE_MAX:
            return f"all and any take a list of 1 to {SIZE_MAX} conditions"
        return next((found for part in parts if (found := problem(part, depth + 1, of_unit=of_unit))), None)
    if keys == {"not"}:
        return problem(condition["not"], depth + 1, of_unit=of_unit)
    if keys == {"tag"}:
        if of_unit:
            return "a unit has no tags"
        return None if isinstance(condition["tag"], str) else "a tag is text"
    if "attribute" in keys and len(keys) == 2:
        return _comparison_problem(condition)
    return "a condition is one of all, any, not, tag, or attribute with one comparison"


def _comparison_problem(condition: Condition) -> str | None:
    (name,) = set(condition) - {"attribute"}
    value = condition[name]
    if not isinstance(condition["attribute"], str):
        return "an attribute is named by text"
    if name not in _COMPARISONS:
        return f"there is no comparison {name!r}; there are {', '.join(_COMPARISONS)}"
    if name == "in" and not isinstance(value, list | tuple):
        return "in takes a list"
    if name == "known" and not isinstance(value, bool):
        return "known takes true or false"
    if name in ("before", "after") and _instant(value) is None:
        return f"{name} takes a date or an instant in ISO 8601"
    if name in _ORDERED and (isinstance(value, bool) or not isinstance(value, int | float | str)):
        return f"{name} takes a number or text"
    return None


def matches(condition: Condition, tags: Collection[str], attributes: Mapping[str, Any]) -> bool:
    """Whether a checked condition holds."""
    if "all" in condition:
        return all(matches(part, tags, attributes) for part in condition["all"])
    if "any" in condition:
        return any(matches(part, tags, attributes) for part in condition["any"])
    if "not" in condition:
        return not matches(condition["not"], tags, attributes)
    if "tag" in condition:
        return condition["tag"] in tags
    name = next(key for key in condition if key != "attribute")
    held = attributes.get(condition["attribute"])
    if name == "known":
        return (held is not None) is condition["known"]
    return held is not None and _COMPARISONS[name](held, condition[name])


def _instant(value: object) -> datetime | None:
    if isinstance(value, datetime):
        moment = value
    elif isinstance(value, date):
        moment = datetime(value.year, value.month, value.day, tzinfo=UTC)
    elif isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            return None
    else:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _same(held: object, wanted: object) -> bool:
    return held == wanted and isinstance(held, bool) == isinstance(wanted, bool)


def _ordered(test: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def compare(held: object, wanted: object) -> bool:
        numbers = isinstance(held, int | float) and isinstance(wanted, int | float)
        texts = isinstance(held, str) and isinstance(wanted, str)
        return (numbers or texts) and not isinstance(held, bool) and test(held, wanted)

    return compare


def _dated(test: Callable[[datetime, datetime], bool]) -> Callable[[Any, Any], bool]:
    def compare(held: object, wanted: object) -> bool:
        left, right = _instant(held), _instant(wanted)
        return left is not None and right is not None and test(left, right)

    return compare


_ORDERED: Final = ("at_least", "at_most", "more_than", "less_than")
_COMPARISONS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "is": _same,
    "in": lambda held, wanted: any(_same(held, one) for one in wanted),
    "at_least": _ordered(lambda held, wanted: held >= wanted),
    "at_most": _ordered(lambda held, wanted: held <= wanted),
    "more_than": _ordered(lambda held, wanted: held > wanted),
    "less_than": _ordered(lambda held, wanted: held < wanted),
    "before": _dated(lambda held, wanted: held < wanted),
    "after": _dated(lambda held, wanted: held > wanted),
    "known": lambda held, wanted: True,
}
