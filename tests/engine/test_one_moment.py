"""What is read in several steps is of one moment: whatever happens between two steps, it fits together."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from holdfast import Holdfast, granted
from holdfast.changes import Changes
from tests.database import opened
from tests.engine.meanwhile import Meanwhile, Read


@pytest.fixture
async def hf(database_url: str) -> AsyncIterator[Holdfast]:
    async with opened(database_url, ticker=False) as hf:
        yield hf


async def test_what_is_read_in_several_steps_is_of_one_moment(
    hf: Holdfast, monkeypatch: pytest.MonkeyPatch
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
