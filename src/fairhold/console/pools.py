"""The pools of the org, those with the latest news first: how full each is, and how it stands."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime
from typing import Any, Final

from fairhold.clock import from_datetime
from fairhold.console import live, tale
from fairhold.console.calls import Call
from fairhold.console.page import Page
from fairhold.console.room import fill_of
from fairhold.core.book import not_open
from fairhold.core.model import Instant, Pool
from fairhold.core.policy import Policy
from fairhold.http.operations import granted
from fairhold.pages.answers import Answer
from fairhold.pages.pool import phase_of
from fairhold.shapes import PoolState

_SHOWN: Final = 100
_SKIPPED_MAX: Final = 1_000_000
OVER: Final = ("closed", "cancelled")


async def look(call: Call) -> Answer:
    skip = min(tale.number(call.query.get("skip", "")) or 0, _SKIPPED_MAX)
    # First what is watched, then what is shown: a change in between is looked at once more, never missed.
    seen = await _seen(call)
    found = granted(await call.hf.latest_pools(skip=skip, limit=_SHOWN + 1))
    shown, more = found[:_SHOWN], len(found) > _SHOWN
    rows = sorted([_row(call, pool) for pool in shown], key=lambda row: row["order"])
    return await call.show(
        "pools.html",
        "pools",
        here="/console/pools",
        live_rows=[row for row in rows if not row["over"]],
        over_rows=[row for row in rows if row["over"]],
        skip=skip,
        more=skip + _SHOWN if more else 0,
        stream=call.url("/console/pools/stream").partition("?")[0],
        seen=seen,
        pages=call.service.settings.pages,
    )


def _row(call: Call, pool: PoolState) -> dict[str, Any]:
    stands = phase(pool, call.now)
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


def phase(pool: PoolState, now: Instant) -> str:
    """open, not_open_yet, paused, closed or cancelled: as people see it on the pool's page."""
    opens, closes, starts = (_instant(at) for at in (pool.opens_at, pool.closes_at, pool.starts_at))
    asked = Pool(0, pool.org, pool.key, pool.title, Policy(), (), 0, pool.status, opens, closes, starts)
    return phase_of(pool, not_open(asked, now))


def _instant(at: datetime | None) -> Instant | None:
    return None if at is None else from_datetime(at)


async def _seen(call: Call) -> str:
    return live.digest(await call.hf.changes())


async def watch(call: Call) -> AsyncIterator[bytes]:
    async def seen() -> str:
        return await _seen(call)

    return await live.stream(call, seen)


PAGES: Final = (
    Page("/console/pools", "console_pools", look),
    Page("/console/pools/stream", "console_pools_stream", watch),
)
