"""The words, numbers and flags of a command, checked whichever of them it has; and who asks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from operator import is_, itemgetter
from typing import Any, Final

from fairhold import inputs
from fairhold.core import commands as c

# What callers put into commands in their own words, as flags, and as numbers with the least each can be.
_TEXTS: Final = ("by", "why")
_NAMED: Final = "staff:"
_FLAGS: Final = ("confirmed", "allow_demotion")
_WORDS: Final = ("quota", "if_full", "label", "action", "to")
_NUMBERS: Final = {"quantity": 1, "opening": 0, "steps": 0}
_ABSENT: Final = object()


def said(command: c.Command) -> None:
    """Check the words, numbers and flags of a command, whichever of them it has."""
    names, values_of, defaults = _checked(type(command).__name__)
    values = values_of(command)
    if all(map(is_, values, defaults)):
        # None was said at all, as mostly.
        return
    for name, value, default in zip(names, values, defaults, strict=True):
        if value is default:
            continue
        if name == "by":
            who(value)
        elif name in _FLAGS:
            inputs.flag(value, name)
        elif name in _NUMBERS:
            inputs.whole(value, name, _NUMBERS[name])
        else:
            inputs.text(value, name)


@cache
def _checked(name: str) -> tuple[Sequence[str], Callable[[c.Command], Sequence[Any]], Sequence[object]]:
    """Which fields of a command are checked, how to get them, and what is there if they were not said."""
    kind = getattr(c, name)
    known = (*_TEXTS, *_FLAGS, *_WORDS, *_NUMBERS)
    names = [name for name in kind._fields if name in known]
    at = [kind._fields.index(name) for name in names]
    values_of = itemgetter(*at) if len(at) > 1 else lambda command: [command[it] for it in at]
    return names, values_of, [kind._field_defaults.get(name, _ABSENT) for name in names]


def who(by: object) -> None:
    """Who asks; the clock, the rules and the outbox are Fairhold's own."""
    name = inputs.text(by, "by") if isinstance(by, str) else ""
    if name not in ("party", "staff") and not (name.startswith(_NAMED) and name != _NAMED):
        raise inputs.Bad("by", "by must be party, staff or staff:NAME.")
