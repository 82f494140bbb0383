"""Pools: make, look, change, fill; their line, log and figures; openings that were handed back."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from fairhold import ids
from fairhold.core.refusals import Refusal, unknown
from fairhold.http import examples
from fairhold.http.bodies_of_pools import FillBody, NewPool, PoolChanges, ResolveBody
from fairhold.http.operations import (
    EVERYONE,
    READERS,
    STAFFS,
    Call,
    DryRun,
    Operation,
    Page,
    Paging,
    granted,
    page,
)
from fairhold.http.problems import Problem
from fairhold.http.showing import shown_bookings
from fairhold.keys import PUBLIC
from fairhold.records import LogEntry, Opening, Stats, shown_entry
from fairhold.shapes import Booking, Outcome, PoolState

LARGE: Final = 1024 * 1024


async def create(call: Call) -> PoolState | Refusal:
    fields = _fields(call.body)
    key, quotas = fields.pop("key"), fields.pop("quotas")
    return await call.hf.create_pool(key, quotas=quotas, by=call.by_staff, idempotency_key=call.key, **fields)


async def every(call: Call) -> Page[PoolState]:
    limit, after = call.limit(), call.query.cursor or None
    if after is not None and ids.pool_number(after) is None:
        raise wrong_cursor()
    found = granted(await call.hf.pools(after=after, limit=limit + 1))
    listed = page(found, limit, lambda pool: pool.id)
    if call.access.role == PUBLIC:
        listed.items = [pool for pool in listed.items if _is_for_all(pool)]
    return listed


async def one(call: Call) -> PoolState | Refusal:
    found = await call.hf.pool(call.path["pool"])
    if call.access.role == PUBLIC and isinstance(found, PoolState) and not _is_for_all(found):
        return unknown("pool", call.path["pool"])
    return found


def _is_for_all(pool: PoolState) -> bool:
    """Whether a key that is everybody's may see it."""
    return pool.status == "open"


async def change(call: Call) -> PoolState | Outcome | Refusal:
    fields = _fields(call.body)
    return await call.hf.change_pool(call.path["pool"], by=call.by_staff, idempotency_key=call.key, **fields)


def _fields(body: msgspec.Struct) -> dict[str, Any]:
    """What was said, and no more; the library checks the rest."""
    fields: dict[str, Any] = msgspec.to_builtins(body)
    return fields


async def line(call: Call) -> Page[Booking]:
    """By the booking shown last: who leaves the line meanwhile makes nobody be skipped."""
    limit, pool_id = call.limit(), await pool_of(call)
    number = 0
    if call.query.cursor:
        named = ids.booking_number(call.query.cursor)
        if named is None or named[0] != pool_id:
            raise wrong_cursor()
        number = named[1]
    found = await call.hf.reads.line_behind(pool_id, number, limit + 1)
    listed = page(found, limit, lambda booking: booking.id)
    listed.items = shown_bookings(listed.items, call)
    return listed


async def log(call: Call) -> Page[LogEntry]:
    limit, cursor = call.limit(), call.query.cursor or "0"
    if not cursor.isdecimal() or not cursor.isascii() or len(cursor) > 15:
        raise wrong_cursor()
    found = granted(await call.hf.log(call.path["pool"], after=int(cursor), limit=limit + 1))
    return page([shown_entry(entry) for entry in found], limit, lambda entry: str(entry.seq))


async def stats(call: Call) -> Stats:
    return granted(await call.hf.stats(call.path["pool"]))


async def fill(call: Call) -> Outcome | Refusal:
    return await call.hf.fill(call.path["pool"], call.body.steps, by=call.by_staff, idempotency_key=call.key)


async def openings(call: Call) -> Page[Opening]:
    found = granted(await call.hf.openings(call.path["pool"]))
    return Page(found)


async def resolve(call: Call) -> PoolState | Refusal:
    number = call.path["opening"]
    if not number.isdecimal() or not number.isascii() or len(number) > 15:
        raise Problem("unknown", f"There is no opening {number!r} here.", "opening")
    return await call.hf.resolve(
        call.path["pool"], int(number), call.body.action, by=call.by_staff, idempotency_key=call.key
    )


async def pool_of(call: Call) -> int:
    """The number of the pool that the path names."""
    state = await call.hf.reads.pool_id(call.path["pool"], call.access.org)
    if state is None:
        raise Problem("unknown", f"There is no pool {call.path['pool']!r} here.", "pool")
    return state


def wrong_cursor() -> Problem:
    return Problem("invalid", "This cursor is not one that this list gave.", "cursor")


_POOL: Final = "/v1/pools/{pool}"
OPERATIONS: Final = (
    Operation(
        "POST",
        "/v1/pools",
        "create_pool",
        "Make a pool",
        create,
        STAFFS,
        PoolState,
        body=NewPool,
        query=DryRun,
        status=201,
        codes=("invalid", "exists", "idempotency_mismatch"),
        tag="pools",
        example=examples.POOL,
        body_max=LARGE,
        idempotent=True,
    ),
    Operation(
        "GET",
        "/v1/pools",
        "list_pools",
        "List the pools of the org; public keys see the open ones",
        every,
        EVERYONE,
        Page[PoolState],
        query=Paging,
        tag="pools",
    ),
    Operation(
        "GET",
        _POOL,
        "get_pool",
        "A pool, by its id or key; public keys see the open ones",
        one,
        EVERYONE,
        PoolState,
        codes=("unknown",),
        tag="pools",
    ),
    Operation(
        "PATCH",
        _POOL,
        "change_pool",
        "Change a pool; a dry run says who would move and who would be told",
        change,
        STAFFS,
        PoolState,
        body=PoolChanges,
        query=DryRun,
        codes=("invalid", "unknown", "would_demote", "idempotency_mismatch"),
        tag="pools",
        example={"sizes": {"main": 14}},
        body_max=LARGE,
        idempotent=True,
    ),
    Operation(
        "GET",
        f"{_POOL}/line",
        "line",
        "The line in order, with positions",
        line,
        READERS,
        Page[Booking],
        query=Paging,
        codes=("unknown", "invalid"),
        tag="pools",
    ),
    Operation(
        "GET",
        f"{_POOL}/stats",
        "pool_stats",
        "The figures of a pool",
        stats,
        READERS,
        Stats,
        codes=("unknown",),
        tag="pools",
    ),
    Operation(
        "GET",
        f"{_POOL}/log",
        "log",
        "The log: everything that happened, in order, hash-chained",
        log,
        READERS,
        Page[LogEntry],
        query=Paging,
        codes=("unknown", "invalid"),
        tag="pools",
    ),
    Operation(
        "POST",
        f"{_POOL}/fill",
        "fill",
        "Give free room to the line; normally it happens by itself",
        fill,
        STAFFS,
        Outcome,
        body=FillBody,
        query=DryRun,
        codes=("unknown",),
        tag="pools",
        idempotent=True,
    ),
    Operation(
        "GET",
        f"{_POOL}/openings",
        "openings",
        "Room that came free: what is being offered, and what was handed back to staff",
        openings,
        READERS,
        Page[Opening],
        codes=("unknown",),
        tag="pools",
    ),
    Operation(
        "POST",
        f"{_POOL}/openings/{{opening}}/resolve",
        "resolve",
        "Decide on an opening that was handed back: offer it again, leave it free, or close it",
        resolve,
        STAFFS,
        PoolState,
        body=ResolveBody,
        query=DryRun,
        codes=("unknown", "not_possible", "too_late"),
        tag="pools",
        example={"action": "again"},
        idempotent=True,
    ),
)
