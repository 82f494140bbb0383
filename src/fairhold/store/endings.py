"""What a booking had until it ended, as the log tells it: its row no longer says, and may be put back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from fairhold.core import events as e
from fairhold.core.model import CLOSED, HELD, OFFERED, WAITING, Ending

# The entries that give a booking something or take it away, and do not end it.
KINDS: Final = [
    kind.__name__
    for kind in (
        e.Joined,
        e.Held,
        e.Promoted,
        e.Offered,
        e.Claimed,
        e.Declined,
        e.Lapsed,
        e.NotReached,
        e.Demoted,
        e.PutBack,
    )
]


def ending_of(number: int, logged: Iterable[e.Event]) -> Ending:
    """The same that `evolve` notes when a booking ends; `logged` are these entries of it and of what it is a
    part of, in order."""
    had = Ending(WAITING)
    for event in logged:
        had = _after(number, event) or had
    return had


def _after(number: int, event: e.Event) -> Ending | None:
    """What the booking had after an event; None if that is as before, or not to do with it."""
    if isinstance(event, e.Claimed) and (event.part or event.booking) == number:
        return Ending(event.state, event.units)
    if isinstance(event, e.Demoted) and event.part == number:
        return Ending(CLOSED)
    if getattr(event, "booking", None) != number:
        return None
    if isinstance(event, e.Held):
        return Ending(HELD, event.units)
    if isinstance(event, e.Promoted | e.PutBack):
        return Ending(event.state, event.units)
    if isinstance(event, e.Offered):
        return Ending(OFFERED)
    # An offer that was no more than declined or lapsed left it in line; one that ended it was what it had.
    ended = isinstance(event, e.Declined | e.Lapsed) and event.state != WAITING
    return None if ended else Ending(WAITING)
