"""Loading for decisions that are made ahead, while the batch before is still being written.

Nothing is locked here. A pool is taken as this process last left it; the rows that commands name are read as
they are committed, unless the batch before has them in hand. Whether all of it was so is found out under the
lock, when the batch is written: a pool whose log ends with another hash has been changed by someone else, and
then the decisions are thrown away and made again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from fairhold.core import commands as c
from fairhold.core.model import HELD, OFFERED, WAITING, Booking, Instant
from fairhold.core.room import room
from fairhold.store import rows
from fairhold.store.base import Reader, Row, Seen
from fairhold.store.loaded import Loaded, Memory

_KINDS: Final = frozenset({c.Book, c.Confirm, c.Cancel, c.Extend})
_LIVE: Final = frozenset({WAITING, OFFERED, HELD})


def may_go_ahead(commands: Iterable[c.Command]) -> bool:
    """Whether they can be decided on the pools' standing and the rows that they name."""
    for command in commands:
        if type(command) is c.Book:
            if command.units or command.opening is not None:
                return False
        elif type(command) not in _KINDS:
            return False
    return True


@dataclass(slots=True)
class Ahead:
    """The pools to decide on, and the parties of whom nobody has looked what else they have."""

    pools: dict[int, Loaded] = field(default_factory=dict)
    # In the order in which they came; and how many live bookings of theirs are in hand.
    unread: dict[tuple[int, str], None] = field(default_factory=dict)
    live: int = 0

    def seen(self) -> Seen:
        """What deciding on this takes for granted."""
        hashes = {pool_id: loaded.seen_hash for pool_id, loaded in sorted(self.pools.items())}
        return Seen(hashes, list(self.unread), self.live)

    def leave_unread(self, parties: Mapping[tuple[int, str], None]) -> None:
        if any(loaded.bookings for loaded in self.pools.values()):
            for pool_id, party in parties.keys() - self.unread.keys():
                loaded = self.pools[pool_id]
                for number in loaded.view.by_party.get(party, ()):
                    booking = loaded.bookings.get(number)
                    self.live += booking is not None and booking.state in _LIVE
        self.unread.update(parties)


async def load_ahead(
    ahead: Ahead,
    reader: Reader,
    memory: Memory,
    commands: Mapping[int, list[c.Command]],
    before: Mapping[int, Loaded],
    now: Instant,
    *,
    read_parties: bool,
) -> bool:
    """Add what these commands need, as `before`, the batch that is being written, leaves it.

    False if that cannot be told; nothing may be decided ahead on these commands then. Who books is mostly
    new. So parties are not looked up, unless asked for: that they have nothing else here is found out with
    the rest, when the batch is written.
    """
    found: dict[int, Loaded] = {}
    for pool_id in commands:
        loaded = _pool_at(ahead, memory, pool_id, now)
        if loaded is None or not _line_stays(loaded, commands[pool_id]):
            return False
        found[pool_id] = loaded
    numbers: dict[tuple[int, int], None] = {}
    parties: dict[tuple[int, str], None] = {}
    for pool_id, listed in commands.items():
        for command in listed:
            if type(command) is c.Book:
                parties[pool_id, command.party.id] = None
            else:
                numbers[pool_id, command.booking] = None  # type: ignore[union-attr]
    read: list[Row] = []
    if numbers:
        read += await reader.each("bookings_by_number", list(numbers))
    if parties and read_parties:
        read += await reader.each("bookings_of_parties", list(parties))
    # What the batch before has in hand comes first, and wins over what was read.
    named = [(pool_id, number) for pool_id, number in numbers if pool_id in before]
    for pool_id, party in parties:
        if pool_id in before:
            named += [(pool_id, number) for number in before[pool_id].view.by_party.get(party, ())]
    in_hand = [(pool_id, before[pool_id].view.bookings.get(number)) for pool_id, number in named]
    rows_read = [(row[0], rows.booking_of(row)) for row in read]
    if not all(_add(found[pool_id], booking) for pool_id, booking in [*in_hand, *rows_read]):
        return False
    ahead.pools |= found
    if not read_parties:
        ahead.leave_unread(parties)
    return True


def _pool_at(ahead: Ahead, memory: Memory, pool_id: int, now: Instant) -> Loaded | None:
    """The pool at this instant, as it was last left; None where something is due by then."""
    loaded, known = ahead.pools.get(pool_id), memory.last(pool_id)
    if loaded is not None:
        loaded.now = max(loaded.now, now)
    elif known is not None:
        loaded = known.loaded(now)
    else:
        return None
    due_at = loaded.view.due_at
    return loaded if due_at is None or due_at > loaded.now else None


def _line_stays(loaded: Loaded, commands: list[c.Command]) -> bool:
    """Whether people come to the end of the line at most: who stands in it is not known here."""
    view, pool = loaded.view, loaded.view.pool
    if not view.waiting:
        return True
    books = [command for command in commands if type(command) is c.Book]
    if pool.policy.priority_rules or len(books) < len(commands):
        return False
    asked = {command.quota for command in books}
    looked_at = [it for it in pool.quotas if it.key in asked or view.tallies[it.key].waiting]
    return not any(room(view, it, loaded.now) for it in looked_at)


def _add(loaded: Loaded, booking: Booking | None) -> bool:
    """Add a booking; not one in line, for its position is not known, nor one whose units are not."""
    if booking is None or booking.number in loaded.bookings:
        return True
    if booking.state in (WAITING, OFFERED) or any(label not in loaded.units for label in booking.units):
        return False
    loaded.bookings[booking.number] = booking
    loaded.view.load_bookings((booking,))
    return True
