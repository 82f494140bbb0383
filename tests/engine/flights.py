"""Batches in flight: a pool whose writing transactions wait until a test lets them go."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Iterable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from fairhold import Fairhold, granted
from fairhold.engine.batch import Batch, Flight
from fairhold.engine.engine import Engine
from fairhold.engine.jobs import Job
from fairhold.ids import booking_number
from fairhold.store.base import LogHeads, Transaction
from fairhold.store.loader import Loader
from tests.database import opened
from tests.engine.staging import HandClock
from tests.patience import until
from tests.verified import assert_verified

MANY = 20


class Stage:
    """A pool of forty seats that was booked in before, and a gate that every transaction waits at."""

    def __init__(self, hf: Fairhold, clock: HandClock, monkeypatch: pytest.MonkeyPatch) -> None:
        self.hf, self.clock = hf, clock
        self.go = asyncio.Event()
        begin = hf.store.begin

        async def begin_when_let(**how: Any) -> Any:
            await self.go.wait()
            return await begin(**how)

        monkeypatch.setattr(hf.store, "begin", begin_when_let)

    async def ask(self, *calls: Awaitable[Any], taken: bool = True) -> list[asyncio.Task[Any]]:
        """Ask, and return once a batch has taken all; with `taken=False`, once all wait in the queue."""
        queue = self.hf.engine.queue
        accepted = queue.accepted
        tasks = [asyncio.ensure_future(call) for call in calls]
        await until(lambda: queue.accepted == accepted + len(calls) and taken is not bool(queue._queues))
        return tasks

    async def let_go(self, tasks: list[asyncio.Task[Any]]) -> list[Any]:
        """Return what each was answered; `transactions` says how many it took in all."""
        before = self.hf.engine.batches
        self.go.set()
        answers = await asyncio.gather(*tasks, return_exceptions=True)
        self.transactions = self.hf.engine.batches - before
        return answers


@asynccontextmanager
async def staged(url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Stage]:
    clock = HandClock()
    # A ticker that is woken late would be one more who asks.
    async with opened(url, clock=clock, ticker=False) as hf:
        granted(await hf.create_pool("hall", preset="checkout", quotas={"main": 40}))
        granted(await hf.book("hall", "first", idempotency_key="first"))
        stage = Stage(hf, clock, monkeypatch)
        try:
            yield stage
        finally:
            stage.go.set()
    await assert_verified(url)


def crowd(hf: Fairhold, name: str = "party", size: int = MANY) -> list[Awaitable[Any]]:
    return [hf.book("hall", f"{name} {n}", idempotency_key=f"{name} {n}") for n in range(size)]


def number(answer: Any) -> int:
    found = booking_number(granted(answer).id)
    assert found is not None
    return found[1]


# Protections, taken away.


def all_under_lock(patch: pytest.MonkeyPatch) -> None:
    """Nothing is decided in flight: every batch is carried out under the lock of its pools."""

    async def undecided(self: Engine, jobs: list[Job], flight: Flight | None) -> Batch | None:
        return None

    patch.setattr(Engine, "_decide", undecided)


def without_heads(patch: pytest.MonkeyPatch, hf: Fairhold) -> None:
    """Nobody looks whether the logs still end as they did when a batch was decided."""

    async def believe(tx: Transaction, heads: LogHeads) -> bool:
        return True

    patch.setattr("fairhold.engine.batch.check_heads", believe)
    patch.setattr(type(hf.store), "batch_statement", lambda *_: None)


def without_waiting_for_the_flight(patch: pytest.MonkeyPatch) -> None:
    """What cannot be told from the batch in flight is read as it was committed before."""

    async def at_once(loader: Loader, pool_ids: Iterable[int]) -> None:
        pass

    patch.setattr(Loader, "_wait_for", at_once)


def without_regard_for_the_outcome(patch: pytest.MonkeyPatch) -> None:
    """A batch is sent though the one that it was decided on was not written."""

    class AlwaysWritten(asyncio.Future[bool]):
        def __await__(self) -> Any:
            yield from super().__await__()
            return True

    make = Flight.__init__

    def blind(self: Flight, batch: Batch) -> None:
        make(self, batch)
        self.written = AlwaysWritten()

    patch.setattr(Flight, "__init__", blind)


def ahead_again_at_once(patch: pytest.MonkeyPatch) -> None:
    """After another process was quicker, the very next batch is decided without a lock again."""
    patch.setattr("fairhold.engine.engine._UNDER_LOCK", 0)
