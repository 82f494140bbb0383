"""The engine under measurement: the whole of it, through the library, with log, outbox and idempotency."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from fairhold import Fairhold, granted


class EngineDesk:
    """One hot pool of the engine, as `workload` wants it."""

    def __init__(self, hf: Fairhold, pool: str) -> None:
        self._hf = hf
        self._pool = pool

    async def hold(self, party: str, key: str) -> str:
        booking = granted(await self._hf.book(self._pool, party, idempotency_key=key))
        assert booking.state == "held"
        return booking.id

    async def confirm(self, booking: str, key: str) -> object:
        return granted(await self._hf.confirm(booking, idempotency_key=key))

    async def cancel(self, booking: str, key: str) -> object:
        return granted(await self._hf.cancel(booking, idempotency_key=key))


@asynccontextmanager
async def open_engine(url: str | None = None) -> AsyncIterator[Fairhold]:
    """Fairhold on this PostgreSQL, or on a SQLite file of its own."""
    if url is not None:
        async with Fairhold.open(url) as hf:
            yield hf
        return
    with TemporaryDirectory() as folder:
        async with Fairhold.open(f"sqlite:///{Path(folder)}/bench.db") as hf:
            yield hf


async def hot_desk(hf: Fairhold) -> EngineDesk:
    """A pool that is far from full."""
    granted(await hf.create_pool("hot", preset="checkout", quotas={"main": 10_000_000}))
    return EngineDesk(hf, "hot")


async def make_line(hf: Fairhold, pool: str, length: int) -> None:
    """A full pool with so many in line."""
    granted(await hf.create_pool(pool, preset="class_waitlist", quotas={"main": 1}))
    granted(await hf.book(pool, "first", confirmed=True, by="staff"))
    for start in range(0, length, 5_000):
        size = min(5_000, length - start)
        await asyncio.gather(*(hf.book(pool, f"waiting-{start + i}") for i in range(size)))


def one_at_a_time(hf: Fairhold) -> Fairhold:
    """The same engine without what its lane is for: each command has a transaction of its own."""
    hf.engine._limit = lambda: 1  # type: ignore[method-assign]
    return hf
