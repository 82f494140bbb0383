"""A caller that goes away, at whatever moment, leaves the one writing connection as it found it."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any, cast

import asyncpg
import pytest

from fairhold import Fairhold, granted
from fairhold.store.sqlite.committing import CommitThread
from tests.database import SECRET, ask
from tests.engine.proxy import proxied
from tests.engine.staging import nodes, outcome
from tests.patience import PATIENCE_S
from tests.verified import assert_verified


class SlowDisk(CommitThread):
    """A disk that takes a while for every commit."""

    def __init__(self) -> None:
        super().__init__()
        self.at_it = asyncio.Event()

    async def run(self, connection: Any, statement: str) -> Any:
        loop = asyncio.get_running_loop()

        def slowly(*values: Any) -> Any:
            loop.call_soon_threadsafe(self.at_it.set)
            threading.Event().wait(0.2)
            return connection.execute(*values)

        return await super().run(cast(Any, SimpleNamespace(execute=slowly)), statement)


async def cut_off(task: asyncio.Task[Any], times: int = 1) -> None:
    """Cancel a task, and again while it tidies up."""
    for _ in range(times):
        task.cancel()
        await asyncio.sleep(0)
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize("times", [1, 3])
async def test_a_caller_that_goes_away_during_a_commit_does_not_commit_for_the_next(
    sqlite_url: str, times: int
) -> None:
    async with nodes(sqlite_url, 1) as (hf,):
        store: Any = hf.store
        store._commits.close()
        disk = store._commits = SlowDisk()
        disk.start()
        task = asyncio.create_task(hf.add_staff_contact("email", "ann@example.org"))
        await disk.at_it.wait()
        await cut_off(task, times)
        # The next transaction is half-way when the disk is done with the first.
        tx = await hf.store.begin()
        await tx.run("put_secret", "half of something", "that never came to be")
        await asyncio.to_thread(threading.Event().wait, 0.4)
        await tx.rollback()
        assert await ask(sqlite_url, "SELECT count(*) FROM fairhold_secrets") == [(0,)]
        assert len(await hf.staff_contacts()) == 1, "what the disk was at is done"


@pytest.mark.parametrize("times", [1, 3])
async def test_a_caller_that_goes_away_while_it_waits_leaves_the_lane_free(
    postgres_url: str, times: int
) -> None:
    async with nodes(postgres_url, 1) as (hf,):
        granted(await hf.create_pool("gig", preset="checkout", quotas={"main": 9}))
        contact = granted(await hf.add_staff_contact("email", "ann@example.org"))
        connection = await asyncpg.connect(postgres_url)
        async with connection.transaction():
            await connection.execute("DELETE FROM fairhold_staff_contacts")
            task = asyncio.create_task(hf.remove_staff_contact(contact.id))
            await asyncio.sleep(0.1)
            await cut_off(task, times)
            async with asyncio.timeout(PATIENCE_S):
                assert outcome(await hf.book("gig", "bea")) == "held"
        await connection.close()
    await assert_verified(postgres_url)


@pytest.mark.parametrize("times", [1, 3])
async def test_a_caller_that_goes_away_during_a_commit_cuts_it_off_and_sends_no_cancel(
    postgres_url: str, times: int
) -> None:
    """A cancel makes a server with a slow standby say that it has committed, and show what it may lose."""
    async with proxied(postgres_url) as (proxy, through), nodes(through, 1) as (hf,):
        at_it = asyncio.Event()
        proxy.on_stall, proxy.at_commit = at_it.set, ["stall before"]
        task = asyncio.create_task(hf.add_staff_contact("email", "ann@example.org"))
        await at_it.wait()
        await cut_off(task, times)
        # Who sends one waits until it is sent before the connection is used again.
        granted(await hf.add_staff_contact("email", "bea@example.org"))
        assert proxy.cancels == 0
        assert [it.address for it in await hf.staff_contacts()] == ["bea@example.org"]


async def look(hf: Fairhold) -> None:
    await hf.store.reader().rows("next_due")


async def look_at_length(hf: Fairhold) -> None:
    async with hf.store.snapshot() as snapshot:
        await snapshot.rows("next_due")


async def look_in_vain(hf: Fairhold) -> None:
    with contextlib.suppress(ZeroDivisionError):
        async with hf.store.snapshot():
            raise ZeroDivisionError


async def write(hf: Fairhold) -> None:
    tx = await hf.store.begin()
    try:
        await tx.rows("next_due")
    finally:
        await tx.rollback()


@pytest.mark.parametrize("ask_it", [look, look_at_length, look_in_vain, write])
async def test_a_caller_that_goes_away_in_the_middle_of_a_question_sends_no_cancel(
    postgres_url: str, ask_it: Callable[[Fairhold], Awaitable[None]]
) -> None:
    async with proxied(postgres_url) as (proxy, through), nodes(through, 1) as (hf,):
        # After so many messages of ours nothing gets through: in the middle of each question once.
        for after in range(4):
            await ask_it(hf)
            proxy.stall_after(after)
            task = asyncio.create_task(ask_it(hf))
            await asyncio.sleep(0.05)
            if task.done():
                break
            await cut_off(task)
            proxy.flow()
            async with asyncio.timeout(PATIENCE_S):
                await ask_it(hf)
        proxy.flow()
        assert proxy.cancels == 0


@pytest.mark.parametrize("turns", range(0, 12, 2))
async def test_a_command_whose_caller_goes_away_is_done_or_not_done(database_url: str, turns: int) -> None:
    async with Fairhold.open(database_url, secret=SECRET, ticker=False) as hf:
        granted(await hf.create_pool("gig", preset="checkout", quotas={"main": 9}))
        tasks = [asyncio.create_task(hf.book("gig", f"party {n}", idempotency_key=f"{n}")) for n in range(3)]
        for _ in range(turns):
            await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        again = [await hf.book("gig", f"party {n}", idempotency_key=f"{n}") for n in range(3)]
        assert [outcome(answer) for answer in again] == ["held"] * 3
        assert len(granted(await hf.bookings("gig"))) == 3
    await assert_verified(database_url)
