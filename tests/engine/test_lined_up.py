"""A batch is lined up behind the one that it was decided on, and behind nothing else.

If that one could not be written it is carried out anew, under the lock. What was decided on it is thrown away
then: it must not have been written behind something else meanwhile, or everybody in it would come twice.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from fairhold import Booking, Fairhold, granted
from fairhold.store.base import Together
from fairhold.store.sqlite.scribe import Sheet
from fairhold.store.sqlite.transaction import LinedUp, SqliteTransaction, writing
from tests.database import SECRET, ask
from tests.patience import PATIENCE_S
from tests.verified import assert_verified

CROWD = 30


async def slow_commits(hf: Fairhold, monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Commits of what is carried out under the lock take a while; the event tells of the first."""
    scribe: Any = hf.store.scribe  # type: ignore[attr-defined]
    at_it, loop = asyncio.Event(), asyncio.get_running_loop()
    elsewhere, hand_over = SqliteTransaction._elsewhere, scribe.hand_over
    commits = [False]

    async def noted(tx: SqliteTransaction, statement: str, values: Sequence[Any] = ()) -> None:
        commits[0] = statement == "COMMIT"
        await elsewhere(tx, statement, values)

    def slowly(work: Callable[[], Any]) -> Sheet:
        def wait_and_work() -> Any:
            loop.call_soon_threadsafe(at_it.set)
            time.sleep(0.05)
            return work()

        return hand_over(wait_and_work if commits[0] else work)  # type: ignore[no-any-return]

    monkeypatch.setattr(SqliteTransaction, "_elsewhere", noted)
    monkeypatch.setattr(scribe, "hand_over", slowly)
    return at_it


async def granted_meanwhile(url: str, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many of a crowd at one pool are, who come while a batch of another one is carried out anew."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1}, raising=False)
    async with Fairhold.open(url, secret=SECRET, ticker=False) as hf:
        for pool in ("aula", "hall"):
            granted(await hf.create_pool(pool, preset="checkout", quotas={"main": 100}))
            granted(await hf.book(pool, "first"))
        granted(await hf.book("aula", "old", idempotency_key="old"))
        granted(await hf.book("aula", "other"))
        at_it = await slow_commits(hf, monkeypatch)
        old = hf.book("aula", "old", idempotency_key="old")
        again = asyncio.ensure_future(asyncio.gather(old, hf.book("aula", "new")))
        async with asyncio.timeout(PATIENCE_S):
            await at_it.wait()
            crowd = await asyncio.gather(*(hf.book("hall", f"one of {n}") for n in range(CROWD)))
            assert all(isinstance(it, Booking) for it in await again)
            # And life goes on.
            granted(await hf.book("hall", "late"))
    return sum(isinstance(it, Booking) for it in crowd)


async def test_what_is_decided_while_a_batch_is_carried_out_anew_is_written_once(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert await granted_meanwhile(sqlite_url, monkeypatch) == CROWD
    assert await ask(sqlite_url, "SELECT count(*) FROM fairhold_bookings") == [(CROWD + 6,)]
    await assert_verified(sqlite_url)


async def test_control_behind_whatever_is_being_written_a_crowd_comes_twice(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second time everybody is refused, for all have what they ask for, and do not know it."""

    def behind_anything(tx: SqliteTransaction, whole: Together, behind: Together) -> LinedUp | None:
        assert tx._sheet is not None
        sheet = tx._scribe.line_up(writing(tx._connection, whole.statement, whole.values), behind=tx._sheet)
        return None if sheet is None else LinedUp(whole, sheet)

    monkeypatch.setattr(SqliteTransaction, "line_up", behind_anything)
    assert await granted_meanwhile(sqlite_url, monkeypatch) == 0
