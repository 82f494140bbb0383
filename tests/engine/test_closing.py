"""Closing is clean: what was accepted is finished, what was not is refused, and nothing is left behind."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import asyncpg
import psutil
import pytest

from fairhold import Fairhold, SyncFairhold, granted, open_sync, upkeep
from fairhold.errors import Busy, Closing, Refused, Unavailable
from fairhold.store.base import Store
from tests.database import SECRET, ask, dialect_of, sqlite_file
from tests.engine.looking import bookings, look, look_now, wrong
from tests.engine.processes import ROOT
from tests.engine.proxy import proxied
from tests.engine.staging import file_locked_outside
from tests.patience import PATIENCE_S, until, wait_until
from tests.verified import assert_verified

POOL: dict[str, Any] = {"quotas": {"main": 1_000_000}, "preset": "checkout"}
LONG_S = PATIENCE_S


async def test_what_was_accepted_is_finished(database_url: str) -> None:
    async with Fairhold.open(database_url, secret=SECRET) as hf:
        granted(await hf.create_pool("hall", **POOL))
        granted(await hf.pool("hall"))
        calls = [asyncio.create_task(hf.book("hall", f"party-{n}")) for n in range(300)]
        await asyncio.sleep(0)
    answers = [granted(call.result()) for call in calls]
    assert len(answers) == 300
    assert sorted(a.party.id for a in answers) == sorted(b.party for b in bookings(await look(database_url)))
    await assert_verified(database_url)


async def test_reads_that_have_begun_are_answered(database_url: str) -> None:
    """Also those whose connection is just being made, or just being lent."""
    for turns in range(0, 60, 4):
        async with Fairhold.open(database_url, secret=SECRET, ticker=False) as hf:
            reads = [asyncio.create_task(hf.store.reader().rows("next_due")) for _ in range(12)]
            for _ in range(turns):
                await asyncio.sleep(0.001)
            await asyncio.sleep(0)
        assert [len(read.result()) for read in reads] == [1] * 12, turns


async def test_a_command_on_a_pool_locked_outside_is_still_finished(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fairhold.door._GIVE_UP_S", 3_600)
    connection = await asyncpg.connect(postgres_url)
    async with Fairhold.open(postgres_url, secret=SECRET) as hf:
        granted(await hf.create_pool("hall", **POOL))
        lock = connection.transaction()
        await lock.start()
        await connection.fetch("SELECT id FROM fairhold_pools FOR UPDATE")
        call = asyncio.create_task(hf.book("hall", "Ann"))
        await asyncio.sleep(0.1)
        asyncio.get_running_loop().call_later(0.3, lambda: asyncio.ensure_future(lock.rollback()))
    assert granted(call.result()).state == "held"
    await connection.close()


async def test_whoever_comes_too_late_is_told_that_it_is_closing(database_url: str) -> None:
    async with Fairhold.open(database_url, secret=SECRET) as hf:
        granted(await hf.create_pool("hall", **POOL))
        ann = granted(await hf.book("hall", "Ann"))
    late: list[Any] = [
        hf.create_pool("other", **POOL),
        hf.book("hall", "Bea"),
        hf.book("unheard-of", "Bea"),
        hf.cancel(ann.id),
        hf.confirm(ann.reference),
        hf.pool("hall"),
        hf.line("hall"),
        hf.position(ann.id),
        hf.tick(),
        # What is written beside the lane.
        hf.store.begin(),
    ]
    for call in late:
        with pytest.raises(Closing):
            await call
    assert len(bookings(await look(database_url))) == 1


async def test_a_caller_who_has_gone_away_keeps_nobody_from_closing(database_url: str) -> None:
    """Its command was accepted, so it is carried out; and if it fails, nobody is there to be told."""
    async with asyncio.timeout(LONG_S):
        async with Fairhold.open(database_url, secret=SECRET) as hf:
            granted(await hf.create_pool("hall", **POOL))
            granted(await hf.pool("hall"))
            call = asyncio.create_task(hf.book("hall", "Ann"))
            await asyncio.sleep(0)
            call.cancel()
        assert [b.party for b in bookings(await look(database_url))] == ["Ann"]


@asynccontextmanager
async def failing(url: str) -> AsyncIterator[tuple[Fairhold, Callable[[], None]]]:
    """A Fairhold, and a switch after which its database can no longer be written to."""
    async with AsyncExitStack() as stack:
        if dialect_of(url) == "sqlite":
            through = url

            def fail() -> None:
                stack.enter_context(file_locked_outside(url))
        else:
            proxy, through = await stack.enter_async_context(proxied(url))

            def fail() -> None:
                proxy.refusing = True
                proxy.cut()

        async with Fairhold.open(through, secret=SECRET) as hf:
            yield hf, fail


async def test_a_caller_who_left_a_failing_database_keeps_nobody_from_closing(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fairhold.store.sqlite.transaction.BUSY_S", 0.2)
    async with asyncio.timeout(LONG_S), failing(database_url) as (hf, fail):
        granted(await hf.create_pool("hall", **POOL))
        granted(await hf.pool("hall"))
        fail()
        gone = asyncio.create_task(hf.book("hall", "Ann"))
        told = asyncio.create_task(hf.book("hall", "Bea"))
        await asyncio.sleep(0)
        gone.cancel()
        with pytest.raises(Busy if dialect_of(database_url) == "sqlite" else Unavailable):
            await told


async def test_closing_just_when_the_ticker_wakes_does_not_hang(database_url: str) -> None:
    async with asyncio.timeout(LONG_S):
        for turn in range(10):
            async with Fairhold.open(database_url, secret=SECRET) as hf:
                granted(await hf.create_pool(f"hall-{turn}", **POOL))
                # Its deadline is the first, and wakes the ticker just now.
                granted(await hf.book(f"hall-{turn}", "Ann"))


async def test_closing_cuts_no_transaction_of_the_ticker_in_two(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    forget, said = upkeep.forget_requests, []

    async def forget_slowly(store: Store, before: int) -> None:
        said.append("began")
        await asyncio.sleep(0.2)
        await forget(store, before)
        said.append("ended")

    monkeypatch.setattr(upkeep, "forget_requests", forget_slowly)
    async with asyncio.timeout(LONG_S), Fairhold.open(database_url, secret=SECRET) as hf:
        granted(await hf.create_pool("hall", **POOL))
        granted(await hf.book("hall", "Ann"))
        await until(lambda: said)
    assert said == ["began", "ended"]


# Threads.


def test_threads_are_answered_or_refused_and_none_hangs(database_url: str) -> None:
    yes: list[str] = []
    said: Counter[str] = Counter()

    def call(hf: SyncFairhold, number: int) -> None:
        for turn in range(10_000):
            try:
                yes.append(granted(hf.book("hall", f"{number}-{turn}")).party.id)
            except Closing:
                said["closing"] += 1
                return

    with ThreadPoolExecutor(16) as threads:
        with open_sync(database_url, secret=SECRET) as hf:
            granted(hf.create_pool("hall", **POOL))
            calls = [threads.submit(call, hf, number) for number in range(16)]
            wait_until(lambda: len(yes) >= 200)
        for done in calls:
            done.result(timeout=LONG_S)

    assert said == {"closing": 16}
    picture = look_now(database_url)
    assert wrong(picture) == []
    assert sorted(b.party for b in bookings(picture)) == sorted(yes)


def test_a_closed_fairhold_refuses_threads(sqlite_url: str) -> None:
    with open_sync(sqlite_url, secret=SECRET) as hf:
        granted(hf.create_pool("hall", **POOL))
    for call in (lambda: hf.book("hall", "Ann"), lambda: hf.pool("hall"), hf.tick):
        with pytest.raises(Closing):
            call()


def test_an_error_in_the_block_closes_as_well(database_url: str) -> None:
    before = set(threading.enumerate())
    with pytest.raises(Refused), open_sync(database_url, secret=SECRET) as hf:
        granted(hf.pool("hall"))
    assert set(threading.enumerate()) <= before


def test_a_database_that_cannot_be_opened_leaves_no_thread(tmp_path: Path) -> None:
    before = set(threading.enumerate())
    for url in (f"sqlite:///{tmp_path}/nowhere/x.db", "postgresql://postgres@127.0.0.1:1/x"):
        with pytest.raises(Unavailable), open_sync(url):
            pass
    assert set(threading.enumerate()) <= before


# Nothing is left behind.


async def test_no_task_thread_or_connection_is_left(database_url: str) -> None:
    tasks, threads = asyncio.all_tasks(), set(threading.enumerate())
    async with Fairhold.open(database_url, secret=SECRET) as hf:
        granted(await hf.create_pool("hall", **POOL))
        await asyncio.gather(*(hf.book("hall", f"party-{n}") for n in range(20)))
        await asyncio.gather(*(hf.pool("hall") for _ in range(20)))
        assert await connections(database_url) > 0
    assert asyncio.all_tasks() == tasks
    assert set(threading.enumerate()) == threads

    async def none_left() -> bool:
        return not await connections(database_url)

    # The server takes a moment to notice that a connection is gone.
    await until(none_left)


async def connections(url: str) -> int:
    if dialect_of(url) == "sqlite":
        return sum(sqlite_file(url) in file.path for file in psutil.Process().open_files())
    where = "application_name = 'fairhold' AND datname = current_database()"
    return int((await ask(url, f"SELECT count(*) FROM pg_stat_activity WHERE {where}"))[0][0])


QUIETLY = """
import asyncio, logging, sys
from fairhold import Fairhold, open_sync

# How long something took says no more than how slow the machine is.
logging.getLogger("asyncio").addFilter(lambda record: "took %.3f seconds" not in str(record.msg))

async def main(url):
    async with Fairhold.open(url) as hf:
        await hf.create_pool("hall", quotas={"main": 100}, preset="checkout", policy={"hold_window": 1})
        calls = [asyncio.create_task(hf.book("hall", f"party-{n}")) for n in range(30)]
        reads = [asyncio.create_task(hf.pool("hall")) for n in range(30)]
        await asyncio.sleep(0.01)
    await asyncio.gather(*calls, *reads, return_exceptions=True)

asyncio.run(main(sys.argv[1]))
with open_sync(sys.argv[1]) as hf:
    hf.book("hall", "another")
print("done")
"""


def test_closing_leaves_no_warning(database_url: str) -> None:
    """In Python's development mode, which tells of tasks, threads and connections that were left open."""
    command = [sys.executable, "-X", "dev", "-W", "error", "-c", QUIETLY, database_url]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=LONG_S)
    assert (found.returncode, found.stdout, found.stderr) == (0, "done\n", "")
