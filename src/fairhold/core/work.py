"""A decision in the making: the view it is made on, the instant, and what has come of it so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from fairhold.core import events as e
from fairhold.core.evolve import evolve
from fairhold.core.model import OFFERED, TAKES_ROOM, Answers, Instant, Party
from fairhold.core.refusals import Refusal
from fairhold.core.room import sharing_room
from fairhold.core.view import View


class Entry(NamedTuple):
    """An event, and by whom."""

    event: e.Event
    by: str


class Message(NamedTuple):
    """Something that must be told, to the party of a booking or to staff.

    Kinds: joined, confirmed, promoted, offer, lapsed, attempts_used_up, cancelled, put_back, demoted,
    hold_ending; to staff: handed_back, unreachable.
    """

    kind: str
    to: str
    booking: int | None
    facts: Mapping[str, Any]
    # Not before this instant; None is at once.
    due_at: Instant | None = None


class Done(NamedTuple):
    """Yes. `repeated` says that it had been done before and nothing was changed."""

    booking: int | None = None
    repeated: bool = False
    facts: Mapping[str, Any] = {}


class Decision(NamedTuple):
    """What happened, what must be told, and the answer."""

    entries: list[Entry]
    messages: list[Message]
    answer: Done | Refusal


# Events after which a booking no longer takes the room it took.
_RELEASING: Final = (e.Expired, e.Cancelled, e.Closed, e.Declined, e.Lapsed, e.NotReached, e.Demoted)


class Work:
    """The view, the instant, and the growing list of events and messages."""

    __slots__ = ("by", "entries", "grown", "messages", "now", "vacated", "view")

    def __init__(self, view: View, now: Instant, by: str) -> None:
        self.view = view
        self.now = now
        self.by = by
        self.entries: list[Entry] = []
        self.messages: list[Message] = []
        # What became free in this decision, as (quota, unit label or None): fill starts an opening for it.
        self.vacated: set[tuple[str, str | None]] = set()
        # Quotas by number whose room grew, other than by an offer that came to nothing: what is free there is
        # a new opening, at which everybody has a turn again.
        self.grown: set[str] = set()

    def emit(
        self,
        event: e.Event,
        party: Party | None = None,
        by: str | None = None,
        answers: Answers | None = None,
    ) -> None:
        """It happened: note it and change the view by it."""
        if isinstance(event, _RELEASING):
            leaving = self.view.bookings[getattr(event, "part", None) or event.booking]
            if leaving.state in TAKES_ROOM:
                self.vacate(leaving.quota, leaving.units, grows=leaving.state != OFFERED)
        self.entries.append(Entry(event, by or self.by))
        evolve(self.view, event, party, answers)

    def vacate(self, quota: str, units: Sequence[str], *, grows: bool = True) -> None:
        """These units, or some seats without names, are about to become free."""
        if units:
            self.vacated.update((quota, label) for label in units)
            return
        sharing = sharing_room(self.view, quota)
        self.vacated.update((key, None) for key in sharing)
        if grows:
            self.grown |= sharing

    def tell(self, kind: str, number: int, *, due_at: Instant | None = None, **facts: Any) -> None:
        """Put a message to a booking's party into the decision, with what the party may want to know.

        Who has lost its units is told which: a booking that has ended has none.
        """
        booking = self.view.bookings[number]
        known: dict[str, Any] = {
            "reference": booking.reference,
            "quota": booking.quota,
            "quantity": booking.quantity,
            "units": list(booking.units),
        }
        self.messages.append(Message(kind, "party", number, known | facts, due_at))

    def remind(self, number: int) -> None:
        """Where the policy says so, tell a hold's party a while before it ends."""
        ahead, ends = self.view.pool.policy.hold_reminder, self.view.bookings[number].expires_at
        if ahead and ends is not None and ends - ahead > self.now:
            self.tell("hold_ending", number, due_at=ends - ahead, expires_at=ends)

    def tell_staff(self, kind: str, **facts: Any) -> None:
        self.messages.append(Message(kind, "staff", facts.get("booking"), facts))
