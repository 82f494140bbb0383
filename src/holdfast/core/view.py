"""The view: what a decision sees of one pool, and the only thing that `evolve` changes.

A view holds as much of a pool as was loaded, and what this transaction has changed since. It belongs
to one transaction. `savepoint` and `rollback` take back one command, so that a command which fails,
or turns out to need more rows, leaves no trace and spoils no neighbour.

Law: what was not loaded is asked for by raising `Need`, never assumed to be absent.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable
from typing import Any, Final

from holdfast.core.model import (
    OFFERED,
    TAKES_ROOM,
    WAITING,
    Booking,
    Group,
    Instant,
    Offer,
    Opening,
    Pool,
    Tally,
    Unit,
)

_ABSENT: Final = object()


class Need(Exception):
    """The decision cannot be made on this view: load `what` (see the store's loader) and decide again."""

    def __init__(self, what: str, detail: Any = None) -> None:
        super().__init__(what, detail)
        self.what = what
        self.detail = detail


class View:
    """One pool, as far as it was loaded, and the changes of this transaction."""

    __slots__ = (
        "_counters",
        "_undo",
        "added",
        "appetite",
        "arrivals",
        "asked",
        "base",
        "bookings",
        "by_party",
        "due_at",
        "first_place",
        "fresh",
        "gone",
        "heads",
        "heads_more",
        "last_place",
        "later_due_at",
        "loaded_arrivals",
        "loaded_last_place",
        "loaded_waiting",
        "numbers",
        "offers",
        "openings",
        "openings_made",
        "pool",
        "prefix",
        "prefix_whole",
        "removed",
        "round",
        "tallies",
        "tried",
        "units",
        "units_made",
        "units_whole",
        "whole",
    )

    def __init__(self, pool: Pool | None = None) -> None:
        self.pool: Pool = pool  # type: ignore[assignment]  # only PoolCreated meets a view without a pool
        self.tallies: dict[str, Tally] = {quota.key: Tally() for quota in pool.quotas} if pool else {}
        self.units: dict[str, Unit] = {}
        self.units_whole = True
        self.bookings: dict[int, Booking] = {}
        self.by_party: dict[str, list[int]] = {}
        self.offers: dict[tuple[int, int], Offer] = {}
        self.openings: dict[int, Opening] = {}
        # Whether a booking had its turn at an opening: (opening, booking). False if that was taken back.
        self.tried: dict[tuple[int, int], bool] = {}
        # Whether everything of the pool is here; if not, what more was asked for and loaded.
        self.whole = True
        self.asked: set[tuple[str, Any]] = set()
        # Counters of the pool.
        self.numbers = self.arrivals = self.openings_made = self.units_made = 0
        self.round = 1
        self.first_place, self.last_place = _HIGHEST, _LOWEST
        # When something is next due: never later than the truth, maybe earlier.
        self.due_at: Instant | None = None
        # The first deadline after those loaded as due.
        self.later_due_at: Instant | None = None
        # The line as loaded: see `line`.
        self.loaded_waiting = self.loaded_arrivals = 0
        self.loaded_last_place = _LOWEST
        self.base: dict[int, int] = {}
        self.prefix: list[int] = []
        self.prefix_whole = True
        self.heads: dict[Group, list[tuple[int, int]]] | None = {}
        self.heads_more: set[Group] = set()
        # How many of each group's first members have left since; how much room there is to give, for a guess
        # at how many members will be needed.
        self.gone: dict[Group, int] = {}
        self.appetite = 0
        # The line's changes in this transaction.
        self.added: list[int] = []
        self.removed: list[int] = []
        self.fresh: dict[Group, list[tuple[int, int]]] = {}
        self._undo: list[tuple[Any, Any, Any]] = []
        self._counters: tuple[Any, ...] = ()
        self.savepoint()

    @property
    def waiting(self) -> int:
        """How many are in line."""
        total = 0
        for tally in self.tallies.values():
            total += tally.waiting
        return total

    @property
    def offers_live(self) -> int:
        return sum(tally.offered for tally in self.tallies.values())

    def savepoint(self) -> None:
        """From here on changes can be taken back, until the next savepoint."""
        self._undo.clear()
        self._counters = (
            self.pool,
            self.numbers,
            self.arrivals,
            self.openings_made,
            self.units_made,
            self.round,
            self.first_place,
            self.last_place,
            self.due_at,
        )

    def rollback(self) -> None:
        """Take back everything since the savepoint."""
        for table, key, old in reversed(self._undo):
            if isinstance(table, list):
                if old:
                    del table[bisect_left(table, key)]
                else:
                    insort(table, key)
            elif old is _ABSENT:
                del table[key]
            else:
                table[key] = old
        (
            self.pool,
            self.numbers,
            self.arrivals,
            self.openings_made,
            self.units_made,
            self.round,
            self.first_place,
            self.last_place,
            self.due_at,
        ) = self._counters
        self._undo.clear()
        self.gone.clear()

    # What evolve may do -----------------------------------------------------------------------------

    def put(self, table: dict[Any, Any], key: Any, value: Any) -> None:
        """Change one entry of one of the view's tables."""
        self._undo.append((table, key, table.get(key, _ABSENT)))
        table[key] = value

    def put_booking(self, booking: Booking) -> None:
        """Store a booking; the tallies, the units, the line and the next due time follow by themselves."""
        number = booking.number
        old = self.bookings.get(number)
        self.put(self.bookings, number, booking)
        waits = booking.state == WAITING
        waited = old is not None and old.state == WAITING
        if old is None:
            others = self.by_party.get(booking.party.id)
            self.put(self.by_party, booking.party.id, [*others, number] if others else [number])
            self._count(booking, 1)
        else:
            if (old.state, old.quantity, old.offer_quantity) != (
                booking.state,
                booking.quantity,
                booking.offer_quantity,
            ):
                self._count(old, -1)
                self._count(booking, 1)
            if waited and not (waits and booking.place == old.place):
                self._leave_line(old.place)
        if waits and not (waited and old is not None and booking.place == old.place):
            self._enter_line(booking.place)
        if waits and (
            old is None or not waited or group_of(old) != group_of(booking) or old.place != booking.place
        ):
            self._remember(booking)
        if booking.units or (old is not None and old.units):
            self._move_units(old.units if old else (), booking.units, booking.number)
        expires_at = booking.expires_at
        if expires_at is not None and (self.due_at is None or expires_at < self.due_at):
            self.due_at = expires_at

    def add_aside(self, quota: str, quantity: int) -> None:
        """Set seats aside for staff, or give them back."""
        tally = self.tallies[quota]
        self.put(self.tallies, quota, tally._replace(aside=tally.aside + quantity))

    def _count(self, booking: Booking, sign: int) -> None:
        state, old = booking.state, self.tallies[booking.quota]
        if state == WAITING:
            new = (old.used, old.waiting + sign, old.offered, old.aside)
        elif state == OFFERED:
            used = old.used + sign * booking.offer_quantity
            new = (used, old.waiting, old.offered + sign, old.aside)
        elif state in TAKES_ROOM:
            new = (old.used + sign * booking.quantity, old.waiting, old.offered, old.aside)
        else:
            return
        self.put(self.tallies, booking.quota, tuple.__new__(Tally, new))

    def _move_units(self, old: tuple[str, ...], new: tuple[str, ...], number: int) -> None:
        for label in old:
            if label not in new:
                self.put(self.units, label, self.units[label]._replace(booking=None))
        for label in new:
            if label not in old or self.units[label].booking != number:
                self.put(self.units, label, self.units[label]._replace(booking=number))

    def _enter_line(self, place: int) -> None:
        at = bisect_left(self.removed, place)
        if at < len(self.removed) and self.removed[at] == place:
            del self.removed[at]
            self._undo.append((self.removed, place, False))
        else:
            insort(self.added, place)
            self._undo.append((self.added, place, True))
        self.first_place = min(self.first_place, place)
        self.last_place = max(self.last_place, place)

    def _leave_line(self, place: int) -> None:
        at = bisect_left(self.added, place)
        if at < len(self.added) and self.added[at] == place:
            del self.added[at]
            self._undo.append((self.added, place, False))
        else:
            insort(self.removed, place)
            self._undo.append((self.removed, place, True))

    def _remember(self, booking: Booking) -> None:
        # An entry stays when its booking leaves; what turns out stale is passed over when the line is read.
        group, entry = group_of(booking), (booking.place, booking.number)
        if group not in self.fresh:
            self.put(self.fresh, group, [])
        entries = self.fresh[group]
        at = bisect_left(entries, entry)
        if at == len(entries) or entries[at] != entry:
            entries.insert(at, entry)
            self._undo.append((entries, entry, True))

    # What loading may do ----------------------------------------------------------------------------

    def load_bookings(self, bookings: Iterable[Booking]) -> None:
        """Add rows as the database has them; what this transaction changed already wins."""
        for booking in bookings:
            if booking.number not in self.bookings:
                self.bookings[booking.number] = booking
                self.by_party.setdefault(booking.party.id, []).append(booking.number)


_LOWEST: Final = -(2**63)
_HIGHEST: Final = 2**63 - 1


def group_of(booking: Booking) -> Group:
    """The group of the line that a waiting booking stands in."""
    wants = booking.wants
    return Group(booking.quota, booking.quantity, booking.round, wants.key if wants is not None else "")
