"""The pools of the org: how full each is, and how it stands."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, Final

from holdfast.clock import from_datetime
from holdfast.console import live
from holdfast.console.calls import Call
from holdfast.console.page import Page
from holdfast.console.room import fill_of
from holdfast.core.book import not_open
from holdfast.core.refusals import Refusal
from holdfast.http.operations import granted
from holdfast.pages.answers import Answer
from holdfast.pages.pool import phase_of
from holdfast.shapes import PoolState

_SHOWN: Final = 100
OVER: Final = ("closed", "cancelled")


async def look(call: Call) -> Answer:
    after = call.query.get("after") or None
    found = granted(await call.hf.pools(after=after, limit=_SHOWN + 1))
    shown, more = found[:_SHOWN], len(found) > _SHOWN
    rows = sorted([await _row(call, pool) for pool in shown], key=lambda row: row["order"])
    return await call.show(
        "pools.html",
        "pools",
        here="/console/pools",
        live_rows=[row for row in rows if not row["over"]],
        over_rows=[row for row in rows if row["over"]],
        more=shown[-1].id if more else "",
        stream=call.url("/console/pools/stream").partition("?")[0],
        seen=await _seen(call),
        pages=call.service.settings.pages,
    )


async def _row(call: Call, pool: PoolState) -> dict[str, Any]:
    stands = await phase(call, pool)
    speech = call.speech(pool.time_zone)
    begun = pool.starts_at is not None and from_datetime(pool.starts_at) <= call.now
    over = stands in OVER or begun
    return {
        "pool": pool,
        "title": pool.title or pool.key,
        "phase": stands,
        "when": speech.when(pool.starts_at) if pool.starts_at is not None else "",
        "fill": fill_of(pool),
        "over": over,
        "order": (over, pool.starts_at is None, pool.starts_at or pool.id, (pool.title or pool.key).lower()),
    }


async def phase(call: Call, pool: PoolState) -> str:
    """open, not_open_yet, paused, closed or cancelled: as people see it on the pool's page."""
    pool_id = await call.hf.reads.pool_id(pool.id, call.hf.org)
    assert pool_id is not None
    return phase_of(pool, not_open((await call.hf.reads.view(pool_id)).pool, call.now))


async def _seen(call: Call) -> str:
    return live.digest(await call.hf.changes())


async def watch(call: Call) -> AsyncIterator[bytes]:
    async def seen() -> str:
        return await _seen(call)

    return await live.stream(call, seen)


async def find(call: Call) -> Answer:
    """A booking by its reference, as people say it on the phone; else the list again."""
    name = call.query.get("q", "").strip().replace(" ", "")
    found = await call.hf.booking(name) if name else None
    if found is None or isinstance(found, Refusal):
        return call.to("/console/pools", told="no_such_reference")
    return call.to(f"/console/bookings/{found.id}")


PAGES: Final = (
    Page("/console/pools", "console_pools", look),
    Page("/console/pools/stream", "console_pools_stream", watch),
    Page("/console/find", "console_find", find),
)
