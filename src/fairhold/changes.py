"""What changed, for those who watch: pools and bookings as they are now, from a cursor on.

Law: from a cursor on nothing is ever missed, however commits overlap; after a break something may be told
twice. Each transaction leaves a row in `stream` for every pool whose log it wrote to.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Final, NamedTuple

import msgspec

from fairhold import ids
from fairhold.clock import LEAP, to_datetime
from fairhold.core.model import Instant
from fairhold.library import Fairhold
from fairhold.reads import Reads
from fairhold.shapes import Booking, PoolState

KEPT: Final = 24 * 3_600_000
PAGE: Final = 100
_NEWS_MAX: Final = 1_000
# Who comes back after much has happened is told in pieces, so that nobody else has to wait for it.
_ENTRIES_MAX: Final = 500
_BOOKINGS_MAX: Final = 200
_LOG_MAX: Final = 1_000
_LAST: Final = 2**63 - 1
_CURSOR: Final = re.compile(r"([0-9]{1,19})\.([0-9]{1,19})\.([0-9]{1,19})\.([0-9]{1,15})")


class Cursor(NamedTuple):
    """A place in the order of all changes. `at` says when it was given out: it is good for a day.

    `str(cursor)` is how to keep it, and `Cursor.of` makes that a cursor again.
    """

    mark: int
    pool_id: int
    seq: int
    at: Instant

    def __str__(self) -> str:
        return f"{self.mark}.{self.pool_id}.{self.seq}.{self.at}"

    @classmethod
    def of(cls, text: object) -> Cursor | None:
        """The cursor that was kept as this text; None if it is none."""
        found = _CURSOR.fullmatch(text) if isinstance(text, str) else None
        cursor = cls(*map(int, found.groups())) if found else None
        return cursor if cursor and max(cursor) <= _LAST else None


class Step(msgspec.Struct):
    """One entry of the log, in short."""

    seq: int
    at: datetime
    event: str
    by: str


class BookingChange(msgspec.Struct):
    """A booking as it is now, and what happened to it."""

    pool: str
    booking: Booking
    changes: list[Step]


class PoolChange(msgspec.Struct):
    """A pool as it is now; `seq` is the last entry of its log that this speaks of."""

    pool: PoolState
    seq: int


class News(NamedTuple):
    """What is new, and the cursor behind it; and whether there may be more behind that."""

    changes: list[BookingChange | PoolChange]
    cursor: Cursor
    more: bool = False


class Changes:
    """Reads what changed."""

    def __init__(self, hf: Fairhold) -> None:
        self._hf = hf

    async def now(self) -> Cursor:
        """The cursor behind all that has happened."""
        horizon = (await self._hf.store.reader().rows("stream_horizon"))[0][0]
        return Cursor(horizon - 1, _LAST, 0, self._hf.clock.now())

    async def can_resume(self, cursor: Cursor) -> bool:
        """Whether all that came after a cursor is still known."""
        _must_be_a_cursor(cursor)
        now = await self.now()
        # Another node may have given it out, whose clock is a little ahead.
        return cursor.mark <= now.mark and now.at - KEPT < cursor.at <= now.at + LEAP

    async def orgs_after(self, cursor: Cursor) -> tuple[set[str], Cursor]:
        """Which orgs have something new, and the cursor behind it."""
        _must_be_a_cursor(cursor)
        found = await self._hf.store.reader().rows("stream_news", *cursor[:3], _NEWS_MAX)
        if not found:
            return set(), cursor
        mark, pool_id, seq = found[-1][1:]
        return {row[0] for row in found}, Cursor(mark, pool_id, seq, self._hf.clock.now())

    async def after(self, org: str, cursor: Cursor, pool_id: int | None = None) -> News:
        """What is new to an org after a cursor; only of one pool, if it is given."""
        _must_be_a_cursor(cursor)
        asked = (org, *cursor[:3], PAGE)
        if not await self._hf.store.reader().rows("stream_after", *asked):
            return News([], cursor)
        # What happened, bookings and pools are told as they were at one moment.
        async with self._hf.reads.at_one_moment() as reads:
            found = await reads.reader().rows("stream_after", *asked)
            stretches: dict[int, tuple[int, int]] = {}
            entries = 0
            for mark, pool, before, seq in found:
                first = stretches[pool][0] if pool in stretches else before
                stretches[pool] = (first, seq)
                cursor = Cursor(mark, pool, seq, self._hf.clock.now())
                entries += seq - before
                if entries >= _ENTRIES_MAX:
                    break
            changes: list[BookingChange | PoolChange] = []
            for pool, (before, seq) in stretches.items():
                if pool_id in (None, pool):
                    changes += await _of_pool(reads, pool, before, seq)
        return News(changes, cursor, more=entries >= _ENTRIES_MAX or len(found) == PAGE)

    async def forget_foreign(self) -> None:
        """Forget what a restored database brought along from another server."""
        tx = await self._hf.store.begin(beside=True)
        try:
            await tx.rows("forget_foreign_stream")
            await tx.commit()
        finally:
            await tx.rollback()


def _must_be_a_cursor(cursor: object) -> None:
    if not isinstance(cursor, Cursor):
        raise TypeError("a cursor must be a Cursor: Cursor.of(text) makes one of the text that was kept")


async def _of_pool(reads: Reads, pool_id: int, before: int, seq: int) -> list[BookingChange | PoolChange]:
    steps: dict[int, list[Step]] = {}
    last = before
    while last < seq:
        found = await reads.reader().rows("read_log", pool_id, last, min(_LOG_MAX, seq - last))
        if not found:
            break
        for row in found:
            if row[3] is not None:
                steps.setdefault(row[3], []).append(Step(row[0], to_datetime(row[1]), row[2], row[4]))
        last = found[-1][0]
    changes: list[BookingChange | PoolChange] = list(await _bookings(reads, pool_id, steps))
    changes.append(PoolChange(await reads.pool(pool_id), seq))
    return changes


async def _bookings(reads: Reads, pool_id: int, steps: Mapping[int, list[Step]]) -> list[BookingChange]:
    numbers, told = list(steps), []
    for start in range(0, len(numbers), _BOOKINGS_MAX):
        for booking in await reads.bookings_of(pool_id, numbers[start : start + _BOOKINGS_MAX]):
            named = ids.booking_number(booking.id)
            assert named is not None
            told.append(BookingChange(booking.pool, booking, steps[named[1]]))
    return told
