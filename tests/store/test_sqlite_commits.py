"""SQLite commits beside the event loop: who looks is answered meanwhile, and nothing is done too late."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from fairhold import Fairhold, granted
from fairhold.config import make_store
from fairhold.engine.batch import Batch
from fairhold.errors import Unavailable
from fairhold.store.sqlite.committing import CommitThread
from fairhold.store.sqlite.store import SqliteStore
from tests.database import SECRET
from tests.engine.staging import file_locked_outside
from tests.patience import PATIENCE_S
from tests.store.test_batch_writes import decided, keys, requests, written


@pytest.fixture
async def hf(sqlite_url: str) -> AsyncIterator[Fairhold]:
    async with Fairhold.open(sqlite_url, secret=SECRET, ticker=False) as hf:
        granted(await hf.create_pool("hall", preset="checkout", quotas={"main": 9}))
        yield hf


def before_each_commit(patch: pytest.MonkeyPatch, work: Callable[[], object]) -> None:
    """Let the disk do this before each commit."""
    run = CommitThread.run

    async def work_and_run(self: CommitThread, connection: Any, statement: str) -> Any:
        def execute(*values: Any) -> Any:
            work()
            return connection.execute(*values)

        return await run(self, cast(Any, SimpleNamespace(execute=execute)), statement)

    patch.setattr(CommitThread, "run", work_and_run)


class Disk:
    """A disk that stands still at its first commit until it may go on, or for so long."""

    def __init__(self, patience_s: float = PATIENCE_S) -> None:
        self._patience_s = patience_s
        self._at_work, self._may_go_on, self._went_on = (threading.Event() for _ in range(3))

    def work(self) -> None:
        if not self._at_work.is_set():
            self._at_work.set()
            self._may_go_on.wait(self._patience_s)
            self._went_on.set()

    async def until_at_work(self) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not self._at_work.is_set():
                await asyncio.sleep(0.001)

    @property
    def stands_still(self) -> bool:
        return self._at_work.is_set() and not self._went_on.is_set()

    def go_on(self) -> None:
        self._may_go_on.set()


async def looked_meanwhile(hf: Fairhold, disk: Disk) -> bool:
    """Return whether somebody who looks is answered while the disk is at a commit."""
    writing = asyncio.create_task(hf.book("hall", "Ann"))
    await disk.until_at_work()
    granted(await hf.pool("hall"))
    meanwhile = disk.stands_still
    disk.go_on()
    granted(await writing)
    return meanwhile


async def test_who_looks_is_answered_while_a_batch_is_written(
    hf: Fairhold, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = Disk()
    before_each_commit(monkeypatch, disk.work)
    assert await looked_meanwhile(hf, disk)


async def test_control_where_the_loop_itself_commits_who_looks_waits(
    hf: Fairhold, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run_here(self: CommitThread, connection: Any, statement: str) -> Any:
        return connection.execute(statement).fetchone()

    disk = Disk(0.1)
    monkeypatch.setattr(CommitThread, "run", run_here)
    before_each_commit(monkeypatch, disk.work)
    assert not await looked_meanwhile(hf, disk)


async def decided_meanwhile(hf: Fairhold, patch: pytest.MonkeyPatch) -> int:
    """Return how many batches of a crowd were decided while the disk was at a commit, which takes a while."""
    granted(await hf.create_pool("arena", preset="checkout", quotas={"main": 100_000}))
    at_it, decided_then, decide = threading.Event(), list[bool](), Batch.decide

    def commit_slowly() -> None:
        at_it.set()
        threading.Event().wait(0.02)
        at_it.clear()

    async def decide_and_note(self: Batch, *given: Any) -> None:
        await decide(self, *given)
        decided_then.append(at_it.is_set())

    before_each_commit(patch, commit_slowly)
    patch.setattr(Batch, "decide", decide_and_note)

    async def call(name: int) -> None:
        for turn in range(20):
            granted(await hf.book("arena", f"{name} {turn}", idempotency_key=f"{name} {turn}"))
            # They do not come all at the same moment.
            await asyncio.sleep(0.001 * (name % 8))

    await asyncio.gather(*(call(name) for name in range(64)))
    return sum(decided_then)


async def test_a_crowd_is_written_batch_behind_batch(hf: Fairhold, monkeypatch: pytest.MonkeyPatch) -> None:
    assert await decided_meanwhile(hf, monkeypatch) > 5


async def test_what_is_finished_waits_for_another_process(hf: Fairhold, sqlite_url: str) -> None:
    batch = await decided(hf, requests("one"))
    with file_locked_outside(sqlite_url):
        writing = asyncio.create_task(written(batch))
        await asyncio.sleep(0.1)
        assert not writing.done()
    assert await writing
    assert await keys(sqlite_url) == {"one"}


async def test_what_waits_for_another_process_is_tried_again_and_so_is_the_next(
    hf: Fairhold, sqlite_url: str
) -> None:
    ahead = hf.engine.batches_ahead
    with file_locked_outside(sqlite_url):
        first = asyncio.create_task(hf.book("hall", "Ann", idempotency_key="one"))
        await asyncio.sleep(0.1)
        following = asyncio.create_task(hf.book("hall", "Bea", idempotency_key="two"))
        await asyncio.sleep(0.1)
        assert not first.done()
        assert not following.done()
    assert [granted(await it).state for it in (first, following)] == ["held", "held"]
    assert await keys(sqlite_url) == {"one", "two"}
    assert hf.engine.batches_ahead - ahead == 2


async def test_who_waits_for_the_writer_comes_first(hf: Fairhold, sqlite_url: str) -> None:
    """Else the engine's batches could go on for ever, one behind the other."""
    tx = await hf.store.begin()
    beside = asyncio.create_task(hf.store.begin(beside=True))
    await asyncio.sleep(0)
    batch = asyncio.create_task(written(await decided(hf, requests("one"))))
    await asyncio.sleep(0)
    await tx.rollback()
    other = await beside
    await asyncio.sleep(0.05)
    assert not batch.done()
    assert list(await other.each("requests_by_key", [("default", "one")])) == []
    await other.rollback()
    assert await batch
    assert await keys(sqlite_url) == {"one"}


async def test_who_comes_in_between_waits_until_the_disk_is_done(
    hf: Fairhold, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = Disk()
    before_each_commit(monkeypatch, disk.work)
    writing = asyncio.create_task(written(await decided(hf, requests("one"))))
    await disk.until_at_work()
    beside = asyncio.create_task(hf.store.begin(beside=True))
    await asyncio.sleep(0.05)
    assert not beside.done()
    disk.go_on()
    tx = await beside
    assert [row[1] for row in await tx.each("requests_by_key", [("default", "one")])] == ["one"]
    await tx.rollback()
    assert await writing


async def test_without_a_thread_to_write_in_nothing_is_begun(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it was given would be done later, by the next thread that starts."""

    def cannot(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    store = make_store(sqlite_url)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", cannot)
        with pytest.raises(Unavailable, match="thread"):
            await store.open()
    await store.close()


async def test_nothing_is_asked_of_what_is_over(hf: Fairhold) -> None:
    """It would be a transaction of its own, or part of the next one."""
    assert isinstance(hf.store, SqliteStore)
    for end in ("rollback", "commit"):
        tx = await hf.store.begin()
        await getattr(tx, end)()
        with pytest.raises(AssertionError):
            await tx.rows("wait_for_pools", [1])
        with pytest.raises(AssertionError):
            await tx.each("requests_by_key", [("default", "late")])
        with pytest.raises(AssertionError):
            await tx.run("put_secret", "late", "word")
        with pytest.raises(AssertionError):
            await tx.many(*requests("late")[:2])
        with pytest.raises(AssertionError):
            await tx.commit()
    granted(await hf.book("hall", "Ann"))
