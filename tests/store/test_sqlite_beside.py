"""SQLite writes beside the event loop: who looks is answered meanwhile, and nothing is done too late."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import threading
from collections.abc import AsyncIterator
from typing import Any

import pytest

from fairhold import Fairhold, granted
from fairhold.config import make_store
from fairhold.errors import Unavailable
from fairhold.store.base import Write
from tests.database import SECRET, START
from tests.engine.staging import file_locked_outside
from tests.patience import PATIENCE_S
from tests.store.test_together import finish, keys, request, seen_of


@pytest.fixture
async def hf(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Fairhold]:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1}, raising=False)
    async with Fairhold.open(sqlite_url, secret=SECRET, ticker=False) as hf:
        granted(await hf.create_pool("hall", preset="checkout", quotas={"main": 9}))
        yield hf


async def looked_meanwhile(hf: Fairhold, patience_s: float) -> bool:
    """Whether somebody who looks is answered while SQLite is at work, which takes until then or so long."""
    at_work, may_go_on, went_on = threading.Event(), threading.Event(), threading.Event()

    def stop_once() -> None:
        if not at_work.is_set():
            at_work.set()
            may_go_on.wait(patience_s)
            went_on.set()

    store: Any = hf.store
    # What it takes to be made once shall not count.
    await (await store.begin(to_finish=True)).rollback()
    store._writer.set_progress_handler(stop_once, 10)
    seen = await seen_of(hf)
    writing = asyncio.create_task(finish(hf, seen, Write("insert_requests", [request("one")])))
    async with asyncio.timeout(PATIENCE_S):
        while not at_work.is_set():
            await asyncio.sleep(0.001)
    granted(await hf.pool("hall"))
    meanwhile = not went_on.is_set()
    may_go_on.set()
    assert await writing
    store._writer.set_progress_handler(None, 0)
    return meanwhile


async def test_who_looks_is_answered_while_a_batch_is_written(hf: Fairhold) -> None:
    assert await looked_meanwhile(hf, PATIENCE_S)


async def test_control_on_one_core_who_looks_waits(hf: Fairhold) -> None:
    hf.store.is_beside = False
    assert not await looked_meanwhile(hf, 0.1)


async def test_what_is_finished_waits_for_another_process(hf: Fairhold, sqlite_url: str) -> None:
    seen = await seen_of(hf)
    with file_locked_outside(sqlite_url):
        writing = asyncio.create_task(finish(hf, seen, Write("insert_requests", [request("one")])))
        await asyncio.sleep(0.1)
        assert not writing.done()
    assert await writing
    assert await keys(sqlite_url) == {"one"}


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


async def test_what_was_begun_to_be_prepared_is_prepared_the_next_time(sqlite_url: str) -> None:
    store: Any = make_store(sqlite_url)
    await store.open()
    await store.migrate(START)
    store.is_beside = True
    refused = [3]

    def refuse_the_third(action: int, *_: Any) -> int:
        refused[0] -= action == sqlite3.SQLITE_CREATE_TEMP_VIEW
        return sqlite3.SQLITE_DENY if refused[0] == 0 else sqlite3.SQLITE_OK

    store._writer.set_authorizer(refuse_the_third)
    with pytest.raises(Exception, match="not authorized"):
        await store.begin(to_finish=True)
    store._writer.set_authorizer(None)
    await (await store.begin(to_finish=True)).rollback()
    await store.close()


async def test_nothing_is_asked_of_what_is_over(hf: Fairhold) -> None:
    """It would begin anew, and nobody would end it."""
    for to_finish in (True, False):
        tx = await hf.store.begin(to_finish=to_finish)
        await tx.rollback()
        with pytest.raises(AssertionError):
            await tx.rows("wait_for_pools", [1])
        with pytest.raises(AssertionError):
            await tx.finish(
                hf.store.put_together(await seen_of(hf), [Write("insert_requests", [request("late")])])
            )
    granted(await hf.book("hall", "Ann"))
