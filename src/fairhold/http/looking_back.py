"""Looking back at a pool: what happened, the newest first, and what it adds up to."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from msgspec import Meta

from fairhold.http.operations import LIMIT_MAX, READERS, Call, Operation, Page, Paging, Query, granted
from fairhold.http.pools import wrong_cursor
from fairhold.numbers import DAYS_MAX, Numbers
from fairhold.records import LogEntry, shown_entry


class HistoryQuery(Paging, frozen=True):
    """What to look for: some kinds of events, whose doing they were, one unit. Nothing said is all of it."""

    topic: Literal["signups", "offers", "ends", "seats", "pool"] | None = None
    actor: Literal["staff", "party", "rule"] | None = None
    unit: Annotated[str, Meta(min_length=1, max_length=100)] | None = None
    limit: Annotated[int, Meta(ge=1, le=LIMIT_MAX)] = 50


class NumbersQuery(Query, frozen=True):
    """How many days to look back."""

    days: Annotated[int, Meta(ge=1, le=DAYS_MAX)] = 14


async def history(call: Call) -> Page[LogEntry]:
    """A page may hold less than its limit, or nothing, and still be followed by another."""
    query: HistoryQuery = call.query
    cursor = query.cursor
    if cursor and (not cursor.isdecimal() or not cursor.isascii() or len(cursor) > 15):
        raise wrong_cursor()
    found = granted(
        await call.hf.history(
            call.path["pool"],
            before=int(cursor) if cursor else None,
            limit=query.limit,
            topic=query.topic,
            actor=query.actor,
            unit=query.unit,
        )
    )
    earlier = None if found.earlier is None else str(found.earlier)
    return Page([shown_entry(entry) for entry in found.entries], earlier)


async def numbers(call: Call) -> Numbers:
    return granted(await call.hf.numbers(call.path["pool"], days=call.query.days))


OPERATIONS: Final = (
    Operation(
        "GET",
        "/v1/pools/{pool}/history",
        "history",
        "What happened, the newest first: all of it, or by topic, by whose doing, or of one unit",
        history,
        READERS,
        Page[LogEntry],
        query=HistoryQuery,
        codes=("unknown", "invalid"),
        tag="pools",
    ),
    Operation(
        "GET",
        "/v1/pools/{pool}/numbers",
        "numbers",
        "What the last days add up to: fill, line, freed seats, offers, and when nobody answers",
        numbers,
        READERS,
        Numbers,
        query=NumbersQuery,
        codes=("unknown",),
        tag="pools",
    ),
)
