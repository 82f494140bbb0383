"""A pool locked from outside is parked, not waited for; a frozen node does not keep it for long."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg
import pytest

from fairhold import Fairhold, door, granted, ids
from fairhold.engine import jobs
from fairhold.engine.jobs import Job, JobQueue
from fairhold.errors import Busy
from tests.database import SECRET
from tests.engine.looking import bookings, look, wrong
from tests.engine.processes import Worker
from tests.engine.staging import QUERIES, outcome
from tests.patience import PATIENCE_S
from tests.verified import assert_verified


@pytest.fixture
async def hf(postgres_url: str) -> AsyncIterator[Fairhold]:
    async with Fairhold.open(postgres_url, secret=SECRET, ticker=False) as hf:
        for name in ("locked", "free"):
            granted(await hf.create_pool(name, quotas={"main": 1_000}, preset="checkout"))
        yield hf


@asynccontextmanager
async def locked_outside(url: str) -> AsyncIterator[None]:
    """Somebody has a long transaction on the pool "locked"."""
    connection = await asyncpg.connect(url)
    async with connection.transaction():
        await connection.fetch("SELECT id FROM fairhold_pools WHERE key = 'locked' FOR UPDATE")
        yield
    await connection.close()


async def test_other_pools_go_on_while_one_is_locked_outside(
    postgres_url: str, hf: Fairhold, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(door, "_GIVE_UP_S", 3_600)
    async with locked_outside(postgres_url):
        waiting = [asyncio.create_task(hf.book("locked", f"party-{n}")) for n in range(5)]
        for turn in range(50):
            async with asyncio.timeout(PATIENCE_S):
                granted(await hf.book("free", f"party-{turn}"))
        assert not any(task.done() for task in waiting)
    async with asyncio.timeout(PATIENCE_S):
        assert [outcome(answer) for answer in await asyncio.gather(*waiting)] == ["held"] * 5
    await assert_verified(postgres_url)


async def _after_the_lock(url: str, hf: Fairhold, patch: pytest.MonkeyPatch) -> list[str]:
    """Who is booked first: Ann, who was parked while the pool was locked, or Bea, who comes after it?"""
    patch.setattr(jobs, "_PARK_FIRST_S", 3_600)
    queue = hf.engine.queue
    await hf._pool_id("locked")
    async with asyncio.timeout(PATIENCE_S):
        async with locked_outside(url):
            ann = asyncio.create_task(hf.book("locked", "Ann"))
            while not queue._parked:
                await asyncio.sleep(0)
        bea = asyncio.create_task(hf.book("locked", "Bea"))
        # The batch that has this would have Bea's, too.
        await asyncio.sleep(0)
        granted(await hf.book("free", "Cyd"))
        for parked in queue._parked.values():
            queue._end_parking(parked)
        numbers = {name: granted(await task).id for name, task in (("Ann", ann), ("Bea", bea))}
    return sorted(numbers, key=lambda name: ids.booking_number(numbers[name]) or (0, 0))


async def test_who_comes_after_the_lock_does_not_overtake_who_waited(
    postgres_url: str, hf: Fairhold, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert await _after_the_lock(postgres_url, hf, monkeypatch) == ["Ann", "Bea"]


async def test_control_without_parking_the_whole_pool_the_later_one_is_first(
    postgres_url: str, hf: Fairhold, monkeypatch: pytest.MonkeyPatch
) -> None:
    submit = JobQueue.submit

    def submit_past_parked(self: JobQueue, job: Job) -> None:
        parked, self._parked = self._parked, {}
        submit(self, job)
        self._parked = parked

    monkeypatch.setattr(JobQueue, "submit", submit_past_parked)
    monkeypatch.setattr(JobQueue, "without_parked", lambda self, jobs: jobs)
    assert await _after_the_lock(postgres_url, hf, monkeypatch) == ["Bea", "Ann"]


async def test_who_is_parked_does_not_hear_of_what_fails_after_the_commit_of_others(
    postgres_url: str, hf: Fairhold, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("it could not be counted")

    monkeypatch.setattr(door, "_GIVE_UP_S", 3_600)
    assert await hf._pool_id("locked") != await hf._pool_id("free")
    async with asyncio.timeout(PATIENCE_S):
        async with locked_outside(postgres_url):
            with monkeypatch.context() as patch:
                patch.setattr(hf.engine.observer, "committed", fail)
                # Both are in one batch.
                ann, bea = (asyncio.create_task(hf.book(pool, pool)) for pool in ("locked", "free"))
                assert outcome(await bea) == "held"
            assert not ann.done()
        assert outcome(await ann) == "held"


async def test_who_waits_too_long_for_a_locked_pool_is_told_that_it_is_busy(
    postgres_url: str, hf: Fairhold, monkeypatch: pytest.MonkeyPatch
) -> None:
    await hf._pool_id("locked")
    async with locked_outside(postgres_url):
        with monkeypatch.context() as patch:
            # Only who asks now has so little patience.
            patch.setattr(door, "_GIVE_UP_S", 0.3)
            impatient = asyncio.create_task(hf.book("locked", "Ann"))
            await asyncio.sleep(0)
        assert outcome(await hf.book("free", "Ann")) == "held"
        with pytest.raises(Busy):
            await impatient
    granted(await hf.book("locked", "Ann"))
    picture = await look(postgres_url)
    assert wrong(picture) == []
    assert len(bookings(picture)) == 2


async def test_control_without_skipping_one_locked_pool_stops_all(
    postgres_url: str, hf: Fairhold, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = QUERIES["postgres"]["lock_pools"]
    monkeypatch.setitem(QUERIES["postgres"], "lock_pools", query.replace("SKIP LOCKED", ""))
    hf.store._lane.statements.clear()  # type: ignore[attr-defined]
    async with locked_outside(postgres_url):
        stuck = asyncio.create_task(hf.book("locked", "Ann"))
        await asyncio.sleep(0.1)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1):
                await hf.book("free", "Ann")
    await stuck


@asynccontextmanager
async def frozen_node(url: str, timeout_ms: int | None = None) -> AsyncIterator[Worker]:
    """Another process, stopped in the middle of a transaction on the pool "locked"."""
    worker = Worker("freeze", url, pool="locked", party="Ann", timeout_ms=timeout_ms)
    try:
        await asyncio.to_thread(worker.wait_until_ready)
        worker.say()
        assert await asyncio.to_thread(worker.hear) == "locked"
        worker.process.send_signal(signal.SIGSTOP)
        yield worker
    finally:
        worker.process.send_signal(signal.SIGCONT)
        worker.end()


async def test_a_frozen_node_loses_its_lock_and_the_others_go_on(
    postgres_url: str, hf: Fairhold, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with frozen_node(postgres_url) as frozen:
        # The server ends the frozen node's transaction after two seconds, and nobody else ends it.
        monkeypatch.setattr(door, "_GIVE_UP_S", 3_600)
        bea, began = asyncio.create_task(hf.book("locked", "Bea")), time.monotonic()
        granted(await hf.book("free", "Bea"))
        # Where the machine stood still, the two seconds may be over.
        assert not bea.done() or time.monotonic() - began > 1
        async with asyncio.timeout(PATIENCE_S):
            granted(await bea)

        frozen.process.send_signal(signal.SIGCONT)
        frozen.say("go on")
        assert await asyncio.to_thread(frozen.result) == "held"
    picture = await look(postgres_url)
    assert wrong(picture) == []
    assert sorted(b.party for b in bookings(picture)) == ["Ann", "Bea", "Bea"]
    await assert_verified(postgres_url)


@pytest.mark.guarantee(
    "frozen-node",
    "The frozen node keeps the pool, and others are told that it is busy.",
    control=True,
)
async def test_control_without_the_time_limit_a_frozen_node_keeps_its_lock(
    postgres_url: str, hf: Fairhold, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(door, "_GIVE_UP_S", 3)
    async with frozen_node(postgres_url, timeout_ms=0):
        with pytest.raises(Busy):
            await hf.book("locked", "Bea")


async def test_bookings_do_not_wait_for_what_is_written_beside_them(hf: Fairhold) -> None:
    """Such as the outbox, which notes down what it has sent. SQLite has one writer, and no such thing."""
    tx = await hf.store.begin(beside=True)
    try:
        await tx.rows("every_pool")
        booking = await asyncio.wait_for(hf.book("free", "ann"), PATIENCE_S)
    finally:
        await tx.rollback()
    assert granted(booking).state == "held"
