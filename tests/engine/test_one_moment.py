"""What is read in several steps is of one moment: whatever happens between two steps, it fits together."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from fairhold import Fairhold, granted
from fairhold.changes import Changes
from tests.database import opened
from tests.engine.meanwhile import Meanwhile, Read
from tests.patience import PATIENCE_S, until


@pytest.fixture
async def hf(database_url: str) -> AsyncIterator[Fairhold]:
    async with opened(database_url, ticker=False) as hf:
        yield hf


async def test_what_is_read_in_several_steps_is_of_one_moment(
    hf: Fairhold, monkeypatch: pytest.MonkeyPatch
) -> None:
    meanwhile = Meanwhile(hf)
    await meanwhile.crowd(waiting=100)
    last, cursor = meanwhile.waiting[-1], await Changes(hf).now()
    await meanwhile.one_leaves()
    await meanwhile.watch(monkeypatch)

    async def stats() -> Any:
        # How far the clocks are apart is no matter of the pool.
        return msgspec.structs.replace(granted(await hf.stats("gig")), clock_ahead_s=0)

    async def stream() -> Any:
        return [msgspec.to_builtins(it) for it in (await Changes(hf).after(hf.org, cursor)).changes]

    reads: dict[str, Read] = {
        "pool": lambda: hf.pool("gig"),
        "pools": hf.pools,
        "booking": lambda: hf.booking(last.id),
        "bookings": lambda: hf.newest_bookings("gig", limit=20),
        "line": lambda: hf.line("gig", after=1, limit=20),
        "seats": lambda: hf.seats("gig"),
        "units": lambda: hf.units("gig"),
        "numbers": lambda: hf.numbers("gig"),
        "stats": stats,
        "stream": stream,
    }
    torn = {
        name: after_query
        for name, read in reads.items()
        for after_query, (before, seen, after) in enumerate(await meanwhile.between(read), 1)
        if seen not in (before, after)
    }
    assert torn == {}


async def test_long_looks_leave_room_for_short_ones(hf: Fairhold, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever has ten pools verified at once keeps nobody else from looking, nor anybody of another org."""
    monkeypatch.setattr("fairhold.store.postgres.connections.ANSWER_S", 10_000.0)
    granted(await hf.create_pool("gig", preset="checkout", quotas={"main": 9}))
    looking, done = 0, asyncio.Event()

    async def look_for_long() -> None:
        nonlocal looking
        async with hf.store.snapshot(long=True) as snapshot:
            await snapshot.rows("all_pool_ids")
            looking += 1
            await done.wait()

    tasks = [asyncio.create_task(look_for_long()) for _ in range(10)]
    await until(lambda: looking >= 4)
    async with asyncio.timeout(PATIENCE_S):
        assert granted(await hf.pool("gig")).key == "gig"
        assert granted(await hf.stats("gig")).waiting == 0
    done.set()
    await asyncio.gather(*tasks)
