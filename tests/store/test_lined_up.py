"""On SQLite a batch is handed over while the one before is being written: behind it, or not at all."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from holdfast import Holdfast, granted
from holdfast.store.base import Seen, Write
from holdfast.store.sqlite.transaction import SqliteTransaction
from holdfast.store.sqlite.turns import Turns
from tests.database import SECRET, ask
from tests.engine.staging import file_locked_outside
from tests.patience import PATIENCE_S, until
from tests.store.test_together import finish, keys, request, seen_of


@pytest.fixture
async def hf(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Holdfast]:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1}, raising=False)
    async with Holdfast.open(sqlite_url, secret=SECRET, ticker=False) as hf:
        granted(await hf.create_pool("hall", preset="checkout", quotas={"main": 9}))
        # What it takes to be made once shall not count.
        await (await hf.store.begin(to_finish=True)).rollback()
        yield hf


@contextmanager
def halted(hf: Holdfast) -> Iterator[threading.Event]:
    """SQLite stops at the next thing it does, until it may go on."""
    store: Any = hf.store
    may_go_on = threading.Event()
    store._writer.set_progress_handler(lambda: may_go_on.wait(PATIENCE_S) and None, 10)
    try:
        yield may_go_on
    finally:
        may_go_on.set()
        store._writer.set_progress_handler(None, 0)


def writing(hf: Holdfast, seen: Seen, key: str) -> asyncio.Task[bool]:
    return asyncio.create_task(finish(hf, seen, Write("insert_requests", [request(key)])))


async def in_order(url: str) -> list[str]:
    return [row[0] for row in await ask(url, "SELECT key FROM requests ORDER BY rowid")]


def is_finishing(hf: Holdfast) -> bool:
    store: Any = hf.store
    return store._last is not None and store._last.is_finishing


async def handed_over(hf: Holdfast, seen: Seen, keys: str = "abc") -> list[asyncio.Task[bool]]:
    """One after the other, while the first is being written."""
    tasks = []
    for key in keys:
        tasks.append(writing(hf, seen, key))
        await asyncio.sleep(0.01)
    return tasks


async def test_each_is_written_behind_the_one_before(hf: Holdfast, sqlite_url: str) -> None:
    seen, store = await seen_of(hf), hf.store
    with halted(hf) as may_go_on:
        tasks = await handed_over(hf, seen)
        assert store._turns._sharing == 3  # type: ignore[attr-defined]
        may_go_on.set()
        assert [await task for task in tasks] == [True, True, True]
    assert await in_order(sqlite_url) == ["a", "b", "c"]
    assert store._turns._sharing == 0  # type: ignore[attr-defined]
    assert store._last._before is None, "else one would remember all before it"  # type: ignore[attr-defined]
    granted(await hf.book("hall", "Ann"))


async def behind_one_that_fails(hf: Holdfast) -> list[bool]:
    seen = await seen_of(hf)
    other = Seen(dict.fromkeys(seen.hashes, bytes(32)))
    with halted(hf) as may_go_on:
        first = writing(hf, other, "a")
        await until(lambda: is_finishing(hf))
        rest = await handed_over(hf, seen, "bc")
        may_go_on.set()
        return [await task for task in (first, *rest)]


async def test_behind_one_that_was_not_written_nothing_is(hf: Holdfast, sqlite_url: str) -> None:
    assert await behind_one_that_fails(hf) == [False, False, False]
    assert await keys(sqlite_url) == set()
    granted(await hf.book("hall", "Ann"))


async def test_control_without_looking_at_the_one_before(
    hf: Holdfast, sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SqliteTransaction, "assert_written", lambda _: None)
    assert await behind_one_that_fails(hf) == [False, True, True]
    assert await keys(sqlite_url) == {"b", "c"}


async def test_they_wait_together_for_another_process(hf: Holdfast, sqlite_url: str) -> None:
    seen = await seen_of(hf)
    with file_locked_outside(sqlite_url):
        tasks = await handed_over(hf, seen)
        await asyncio.sleep(0.1)
        assert not any(task.done() for task in tasks)
    assert [await task for task in tasks] == [True, True, True]
    assert await in_order(sqlite_url) == ["a", "b", "c"]


async def passed_by(hf: Holdfast) -> bool:
    """Whether one who waits for a turn of its own is passed by one who comes later."""
    seen = await seen_of(hf)
    with halted(hf) as may_go_on:
        first = writing(hf, seen, "a")
        await until(lambda: is_finishing(hf))
        waiting = asyncio.create_task(hf.store.begin())
        await asyncio.sleep(0.01)
        late = writing(hf, seen, "b")
        await asyncio.sleep(0.01)
        may_go_on.set()
        tx = await waiting
        passed = late.done()
        await tx.rollback()
        assert await first
        assert await late
    return passed


async def test_nobody_is_passed_who_waits_for_a_turn(hf: Holdfast) -> None:
    assert not await passed_by(hf)


async def test_control_with_no_regard_for_those_who_wait(
    hf: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    share = Turns.share

    def regardless(turns: Turns) -> bool:
        waiting, turns._waiting = turns._waiting, 0
        try:
            return share(turns)
        finally:
            turns._waiting = waiting

    monkeypatch.setattr(Turns, "share", regardless)
    assert await passed_by(hf)


async def test_one_that_goes_away_leaves_the_others_their_turn(hf: Holdfast, sqlite_url: str) -> None:
    seen = await seen_of(hf)
    with halted(hf) as may_go_on:
        first, second = await handed_over(hf, seen, "ab")
        # Who goes away waits for the disk, with everybody here.
        threading.Timer(0.1, may_go_on.set).start()
        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            await second
        assert await first
    assert await in_order(sqlite_url) == ["a", "b"], "what the disk was given is done"
    granted(await hf.book("hall", "Ann"))


async def test_what_is_begun_before_it_is_finished_has_its_own_turn(hf: Holdfast, sqlite_url: str) -> None:
    tx = await hf.store.begin()
    late = writing(hf, await seen_of(hf), "a")
    await asyncio.sleep(0.01)
    assert not late.done()
    await tx.run("put_secret", "something", "that never comes to be")
    await tx.rollback()
    assert await late
    assert await ask(sqlite_url, "SELECT count(*) FROM secrets") == [(0,)]
