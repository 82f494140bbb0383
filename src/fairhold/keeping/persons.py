"""Everything that is known about one person, to be handed out."""

from __future__ import annotations

from datetime import datetime

import msgspec

from fairhold import ids, records
from fairhold.clock import to_datetime
from fairhold.core.model import Instant
from fairhold.keeping.erasure import BOOKINGS_MAX
from fairhold.reads import Reads
from fairhold.records import LogEntry, Message
from fairhold.shapes import Booking, Explanation
from fairhold.store.base import Store


class PersonBooking(msgspec.Struct, frozen=True):
    """One booking of a person, with all that was decided about it, logged about it and said about it."""

    pool: str
    title: str
    booking: Booking
    history: tuple[Explanation, ...]
    log: tuple[LogEntry, ...]
    messages: tuple[Message, ...]


class PersonRecord(msgspec.Struct, frozen=True):
    """All about one party, over all pools of an org."""

    party: str
    exported_at: datetime
    bookings: tuple[PersonBooking, ...]


async def bookings_of(store: Store, org: str, party: str) -> list[tuple[int, int]]:
    """The (pool, number) of every booking of a party."""
    return [(row[0], row[1]) for row in await store.reader().rows("bookings_of_person", org, party)]


async def pools_of(store: Store, org: str) -> list[int]:
    """The pools of an org."""
    return sorted(row[0] for row in await store.reader().rows("pools_of_org", org))


async def person_record(store: Store, reads: Reads, org: str, party: str, now: Instant) -> PersonRecord:
    found = []
    for pool_id, number in await bookings_of(store, org, party):
        async with reads.at_one_moment() as one:
            booking = await one.booking(pool_id, number)
            if booking is not None:
                found.append(await _with_history(one, pool_id, number, booking))
    return PersonRecord(party, to_datetime(now), tuple(found))


async def _with_history(reads: Reads, pool_id: int, number: int, booking: Booking) -> PersonBooking:
    pool, reader = (await reads.view(pool_id)).pool, reads.reader()
    return PersonBooking(
        pool.key,
        pool.title,
        booking,
        tuple(await reads.explain(pool_id, number)),
        tuple(
            records.log_entry(pool_id, row)
            for row in await reader.rows("read_log_of", pool_id, number, BOOKINGS_MAX)
        ),
        tuple(records.message(row) for row in await reader.rows("messages_about", pool_id, number)),
    )


def named(pool_id: int, numbers: tuple[int, ...]) -> list[str]:
    """The ids of some bookings of a pool."""
    return [ids.booking_text(pool_id, number) for number in numbers]
