"""Where a scenario is played: a world with one pool, a clock that stands still, and one door.

A `World` is the little that the reader needs, so that the same text can be played on the bare rules
(`CoreWorld`), or on an engine with a database behind it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple, Protocol

from fairhold.core import line, room
from fairhold.core.commands import Command, CreatePool
from fairhold.core.decide import decide
from fairhold.core.events import Event
from fairhold.core.model import HELD, TAKES_ROOM, WAITING, Booking, Instant, Pool
from fairhold.core.refusals import Refusal
from fairhold.core.view import View
from fairhold.core.work import Done, Message

START_AT: Final[Instant] = int(datetime(2026, 3, 2, 9, 0, tzinfo=UTC).timestamp()) * 1000
SOON: Final = 5 * 60_000


class Outcome(NamedTuple):
    """What came of one command: the events with who caused each, the answer, and what must be told."""

    entries: Sequence[tuple[Event, str]]
    answer: Done | Refusal
    messages: Sequence[Message]


class World(Protocol):
    """One pool and its clock. `CreatePool` is the first command, and a second one starts afresh.

    Bookings are named by their number. The clock moves only by `now = …`, and moving it does nothing
    else: the reader runs `Tick` at each `due_at` itself.
    """

    now: Instant

    def run(self, command: Command, *, dry_run: bool = False) -> Outcome:
        """Decide a command at `now`. A dry run answers the same and leaves no trace."""

    def due_at(self) -> Instant | None:
        """When something is next due: never later than the truth."""

    def pool(self) -> Pool:
        """The pool as it is set up now."""

    def booking(self, number: int) -> Booking | None:
        """A booking as it is now."""

    def line(self) -> Sequence[int]:
        """Who is waiting, in order."""

    def position(self, number: int) -> int | None:
        """The position of a booking; of one that has left the line the last one that it had."""

    def room(self, quota: str) -> int | None:
        """What is free for a quota; None is unlimited."""

    def placement(self, number: int) -> str | None:
        """Where a booking stands: "quota", "open", "line", or None once it has ended."""

    def stats(self) -> Mapping[str, int]:
        """active_holds, expired_holds (not yet released), total_held_seats, holds_expiring_soon."""


class CoreWorld:
    """The bare rules: a pool held in memory, with nothing behind it."""

    def __init__(self, now: Instant = START_AT) -> None:
        self.now = now
        self.view = View()

    def run(self, command: Command, *, dry_run: bool = False) -> Outcome:
        if isinstance(command, CreatePool):
            self.view = View()
        self.view.savepoint()
        decision = decide(self.view, command, self.now)
        if dry_run:
            self.view.rollback()
        return Outcome(decision.entries, decision.answer, decision.messages)

    def due_at(self) -> Instant | None:
        return self.view.due_at

    def pool(self) -> Pool:
        return self.view.pool

    def booking(self, number: int) -> Booking | None:
        return self.view.bookings.get(number)

    def line(self) -> Sequence[int]:
        waiting = [b for b in self.view.bookings.values() if b.state == WAITING]
        return [b.number for b in sorted(waiting, key=lambda b: b.place)]

    def position(self, number: int) -> int | None:
        booking = self.view.bookings[number]
        return line.position(self.view, booking.place) if booking.state == WAITING else booking.position

    def room(self, quota: str) -> int | None:
        found = self.view.pool.quota(quota)
        assert found is not None
        free = room.room(self.view, found, self.now)
        return None if free == room.UNLIMITED else free

    def placement(self, number: int) -> str | None:
        booking = self.view.bookings[number]
        if booking.state not in TAKES_ROOM:
            return "line" if booking.state == WAITING else None
        quota = self.view.pool.quota(booking.quota)
        assert quota is not None
        ahead = sum(_takes(b) for b in self._takers(booking.quota) if b.arrival < booking.arrival)
        return room.placement(quota, ahead, _takes(booking))

    def stats(self) -> Mapping[str, int]:
        holds = [b for b in self.view.bookings.values() if b.state == HELD]
        ends = [b.expires_at - self.now for b in holds if b.expires_at is not None]
        return {
            "active_holds": sum(left > 0 for left in ends),
            "expired_holds": sum(left <= 0 for left in ends),
            "total_held_seats": sum(b.quantity for b in holds),
            "holds_expiring_soon": sum(0 < left <= SOON for left in ends),
        }

    def _takers(self, quota: str) -> list[Booking]:
        return [b for b in self.view.bookings.values() if b.quota == quota and b.state in TAKES_ROOM]


def _takes(booking: Booking) -> int:
    return booking.offer_quantity or booking.quantity
