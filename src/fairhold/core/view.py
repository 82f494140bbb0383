"""The view: what a decision sees of one pool, and the only thing that `evolve` changes.

A view holds as much of a pool as was loaded, and what this transaction has changed since. There always are
the pool, its counters, tallies and live openings; its units, of very many the first thousand, free ones
before others; the first few hundred bookings that are due; and what the commands name: bookings, units, and
what a party that books has already.

A view belongs to one transaction. `savepoint` and `rollback` take back one command, so that a command which
fails, or turns out to need more rows, leaves no trace and spoils no neighbour.

Law: what was not loaded is asked for by raising `Need`, never assumed to be absent.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from fairhold.core.model import (
    GOING_ON,
    OFFERED,
    TAKES_ROOM,
    WAITING,
    Booking,
    Ending,
    Group,
    Instant,
    Offer,
    Opening,
    Pool,
    Tally,
    Unit,
)

_ABSENT: Final = object()
_LOWEST: Final = -(2**63)
HIGHEST: Final = 2**63 - 1


class Need(Exception):
    """The decision cannot be made on this view: load `what` (see the store's loader) and decide again.

    heads: the first members of every group of the line; more: further ones of this group; position: how many
    were waiting before this place; followers: those behind this place, at least so many; takers: so many of
    the latest to take room in these quotas; in_play: some who are in these states, of the line the last;
    booking: this one; party: what this one has in play; ending: what this booking had until it ended; units:
    all of them.
    """

    def __init__(self, what: str, detail: Any = None) -> None:
        super().__init__(what, detail)
        self.what = what
        self.detail = detail


@dataclass(slots=True, eq=False, repr=False)
class View:
    """One pool, as far as it was loaded, and the changes of this transaction."""

    pool: Pool = None  # type: ignore[assignment]  # only PoolCreated meets a view without a pool
    tallies: dict[str, Tally] = field(default_factory=dict)
    units: dict[str, Unit] = field(default_factory=dict)
    units_whole: bool = True
    bookings: dict[int, Booking] = field(default_factory=dict)
    by_party: dict[str, list[int]] = field(default_factory=dict)
    offers: dict[tuple[int, int], Offer] = field(default_factory=dict)
    openings: dict[int, Opening] = field(default_factory=dict)
    # The number of the opening that goes on for some room, by quota and unit; None once it is over.
    going_on: dict[tuple[str, str | None], int | None] = field(default_factory=dict)
    # Whether a booking had its turn at an opening: (opening, booking). False if that was taken back.
    tried: dict[tuple[int, int], bool] = field(default_factory=dict)
    # What bookings had that have ended, where that was seen or asked for.
    endings: dict[int, Ending] = field(default_factory=dict)
    # Whether everything of the pool is here; if not, what more was asked for and loaded.
    whole: bool = True
    asked: set[tuple[str, Any]] = field(default_factory=set)
    # Up to which place everyone is here who stood behind this one.
    reached: dict[int, int] = field(default_factory=dict)
    # Counters of the pool: the highest number, arrival, opening and ordinal given so far, and the highest
    # round that any quota has come to; a new quota begins with it.
    numbers: int = 0
    arrivals: int = 0
    openings_made: int = 0
    units_made: int = 0
    round: int = 1
    # The first and the last place that anyone in line has ever had.
    first_place: int = HIGHEST
    last_place: int = _LOWEST
    # When something is next due: never later than the truth, maybe earlier.
    due_at: Instant | None = None
    # The first deadline after those loaded as due.
    later_due_at: Instant | None = None
    # The line as loaded: how many waited, up to which arrival and place; how many before some of the places;
    # the first places of all; and by groups the first members of each, as (place, number), None before they
    # are asked for, with the groups that have more of them than that. See `line`.
    loaded_waiting: int = 0
    loaded_arrivals: int = 0
    loaded_last_place: int = _LOWEST
    base: dict[int, int] = field(default_factory=dict)
    prefix: list[int] = field(default_factory=list)
    prefix_whole: bool = True
    heads: dict[Group, list[tuple[int, int]]] | None = field(default_factory=dict)
    heads_more: set[Group] = field(default_factory=set)
    # How many of each group's first members have left since, of those loaded and of those who entered; how
    # much room there is to give, for a guess at how many members will be needed.
    gone: dict[Group, int] = field(default_factory=dict)
    gone_fresh: dict[Group, int] = field(default_factory=dict)
    appetite: int = 0
    # The line's changes in this transaction: places taken, places left, and the new members of the groups.
    added: list[int] = field(default_factory=list)
    removed: list[int] = field(default_factory=list)
    fresh: dict[Group, list[tuple[int, int]]] = field(default_factory=dict)
    # Whether a decision has seen that what was loaded is not oversold.
    entered: bool = False
    # How to take back what was changed since the savepoint: (table, key, what stood there) or, of a sorted
    # list, (list, entry, whether it was put in or taken out).
    _undo: list[tuple[Any, Any, Any]] = field(default_factory=list)
    _counters: tuple[Any, ...] = ()

    def __post_init__(self) -> None:
        if self.pool is not None:
            self.tallies = {quota.key: Tally() for quota in self.pool.quotas}
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

    def of_party(self, party: str) -> list[Booking]:
        """What is known of a party's bookings, in the order of their numbers."""
        numbers = self.by_party.get(party)
        return [b for number in sorted(numbers) if (b := self.bookings.get(number))] if numbers else []

    def savepoint(self) -> None:
        """From here on changes can be taken back, until the next savepoint."""
        self._undo.clear()
        pool = (self.pool, self.numbers, self.arrivals, self.openings_made, self.units_made, self.round)
        self._counters = pool, self.first_place, self.last_place, self.due_at

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
        pool, self.first_place, self.last_place, self.due_at = self._counters
        self.pool, self.numbers, self.arrivals, self.openings_made, self.units_made, self.round = pool
        self._undo.clear()
        self.gone.clear()
        self.gone_fresh.clear()

    # What evolve may do -----------------------------------------------------------------------------

    def put(self, table: dict[Any, Any], key: Any, value: Any) -> None:
        """Change one entry of one of the view's tables."""
        self._undo.append((table, key, table.get(key, _ABSENT)))
        table[key] = value

    def put_booking(self, booking: Booking) -> None:
        """Store a booking; the tallies, the units, the line and the next due time follow by themselves."""
        number = booking.number
        old = self.bookings.get(number)
        # The same as `put`, said here because every decision passes by.
        self._undo.append((self.bookings, number, _ABSENT if old is None else old))
        self.bookings[number] = booking
        if old is None:
            others = self.by_party.get(booking.party.id)
            self.put(self.by_party, booking.party.id, [*others, number] if others else [number])
            self._count(booking, 1)
        else:
            counts = (booking.state, booking.quantity, booking.offer_quantity)
            if (old.state, old.quantity, old.offer_quantity) != counts:
                self._count(old, -1)
                self._count(booking, 1)
            if old.state == WAITING and not _same_place(old, booking):
                self._leave_line(old.place)
        if booking.state == WAITING:
            stays = old is not None and _same_place(old, booking)
            if not stays:
                self._enter_line(booking.place)
            if old is None or not stays or group_of(old) != group_of(booking):
                self._remember(booking)
        if booking.units or (old is not None and old.units):
            self._move_units(old.units if old else (), booking.units, booking.number)
        if booking.expires_at is not None:
            self.wake(booking.expires_at)

    def put_opening(self, opening: Opening) -> None:
        """Store an opening; which one goes on for its room follows by itself."""
        self.put(self.openings, opening.number, opening)
        room = (opening.quota, opening.unit)
        known = self.going_on.get(room)
        if opening.state in GOING_ON and known != opening.number:
            self.put(self.going_on, room, opening.number)
        elif opening.state not in GOING_ON and known == opening.number:
            self.put(self.going_on, room, None)

    def wake(self, at: Instant) -> None:
        """Make sure of a tick at this instant; one too many does no harm: `decide` judges deadlines."""
        if self.due_at is None or at < self.due_at:
            self.due_at = at

    def add_aside(self, quota: str, quantity: int) -> None:
        """Set seats aside for staff, or give them back."""
        tally = self.tallies[quota]
        self.put(self.tallies, quota, tally._replace(aside=tally.aside + quantity))

    def _count(self, booking: Booking, sign: int) -> None:
        state, quota = booking.state, booking.quota
        used, waiting, offered, aside, round_ = self.tallies[quota]
        if state == WAITING:
            waiting += sign
        elif state == OFFERED:
            used += sign * booking.offer_quantity
            offered += sign
        elif state in TAKES_ROOM:
            used += sign * booking.quantity
        else:
            return
        new = (used, waiting, offered, aside, round_)
        self.put(self.tallies, quota, tuple.__new__(Tally, new))

    def _move_units(self, old: tuple[str, ...], new: tuple[str, ...], number: int) -> None:
        for label in old:
            if label not in new:
                self.put(self.units, label, self.units[label]._replace(booking=None))
        for label in new:
            unit = self.units[label]
            if label not in old or unit.booking != number:
                assert unit.booking in (None, number), "no_oversell"
                self.put(self.units, label, unit._replace(booking=number))

    def _enter_line(self, place: int) -> None:
        self._note_place(place, self.removed, self.added)
        self.first_place = min(self.first_place, place)
        self.last_place = max(self.last_place, place)

    def _leave_line(self, place: int) -> None:
        self._note_place(place, self.added, self.removed)

    def _note_place(self, place: int, undone: list[int], done: list[int]) -> None:
        """Leaving undoes entering, and entering undoes leaving; else it is noted."""
        at = bisect_left(undone, place)
        if at < len(undone) and undone[at] == place:
            del undone[at]
            self._undo.append((undone, place, False))
        else:
            insort(done, place)
            self._undo.append((done, place, True))

    def _remember(self, booking: Booking) -> None:
        # An entry stays when its booking leaves; what turns out stale is passed over when the line is read.
        group, entry = group_of(booking), (booking.place, booking.number)
        if group not in self.fresh:
            self.put(self.fresh, group, [])
        entries = self.fresh[group]
        at = bisect_left(entries, entry)
        if at < self.gone_fresh.get(group, 0):
            self.gone_fresh[group] = at
        if at == len(entries) or entries[at] != entry:
            entries.insert(at, entry)
            self._undo.append((entries, entry, True))

    # What is loaded, and what a decision asks for --------------------------------------------------

    def load_bookings(self, bookings: Iterable[Booking]) -> None:
        """Add rows as the database has them; what this transaction changed already wins."""
        for booking in bookings:
            if booking.number not in self.bookings:
                self.bookings[booking.number] = booking
                self.by_party.setdefault(booking.party.id, []).append(booking.number)

    def load_openings(self, openings: Iterable[Opening]) -> None:
        """Add openings as the database has them."""
        for opening in openings:
            self.openings[opening.number] = opening
            if opening.state in GOING_ON:
                self.going_on[opening.quota, opening.unit] = opening.number

    def require(self, what: str, detail: Any) -> None:
        """Go on only with these rows loaded: ask for them, once."""
        if not self.whole and (what, detail) not in self.asked:
            raise Need(what, detail)


def _same_place(old: Booking, new: Booking) -> bool:
    return old.state == new.state == WAITING and old.place == new.place


def group_of(booking: Booking) -> Group:
    """The group of the line that a waiting booking stands in."""
    return Group(booking.quota, booking.quantity, booking.round, booking.line_key)
