"""A handle that is used where it cannot work says so at once: nobody waits for ever, and nothing is done."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from fairhold import Fairhold, Outcome, Refusal, granted
from fairhold.errors import Misused
from tests.database import dump, opened
from tests.patience import PATIENCE_S


@pytest.fixture
async def hf(database_url: str) -> AsyncIterator[Fairhold]:
    async with opened(database_url) as hf:
        granted(await hf.create_pool("class", preset="class_waitlist", quotas={"main": 3}))
        granted(await hf.book("class", "ann"))
        yield hf


async def test_a_dry_run_that_asks_the_handle_outside_is_an_error_and_does_nothing(
    hf: Fairhold, database_url: str
) -> None:
    ann = granted(await hf.bookings("class"))[0].id

    async def among_others(_: Fairhold) -> object:
        return await asyncio.gather(hf.book("class", "bea"), hf.cancel(ann))

    asked: list[Callable[[Fairhold], Awaitable[object]]] = [
        lambda _: hf.book("class", "bea"),
        lambda _: hf.for_org("default").cancel(ann),
        lambda _: hf.create_pool("other", quotas={"main": 1}),
        lambda _: hf.erase_person("ann", cancel=True),
        lambda _: hf.prune(),
        lambda _: hf.tick(),
        lambda _: hf.advance(seconds=3_600),
        among_others,
    ]
    before, now = await dump(database_url), hf.clock.now()
    for ask in asked:
        with pytest.raises(Misused, match="dry run"):
            await hf.dry_run(ask)
    refused = await hf.dry_run(lambda _: hf.allow_origin("https://example.org"))
    assert isinstance(refused, Refusal)
    assert refused.code == "not_possible"
    assert await dump(database_url) == before
    assert hf.clock.now() == now


async def test_others_go_on_beside_a_dry_run_and_after_it(hf: Fairhold) -> None:
    begun, end = asyncio.Event(), asyncio.Event()
    left: list[asyncio.Task[Any]] = []

    async def slowly(it: Fairhold) -> object:
        begun.set()
        await end.wait()

        async def later() -> object:
            await over.wait()
            return await hf.book("class", "cyd")

        left.append(asyncio.create_task(later()))
        return await it.book("class", "dan")

    over = asyncio.Event()
    rehearsal = asyncio.create_task(hf.dry_run(slowly))
    await begun.wait()
    assert granted(await hf.book("class", "bea")).state == "held"
    end.set()
    assert isinstance(await rehearsal, Outcome)
    over.set()
    assert granted(await left[0]).state == "held"


async def test_another_threads_loop_is_an_error_and_nothing_is_booked(
    hf: Fairhold, database_url: str
) -> None:
    before = await dump(database_url)
    with pytest.raises(Misused, match="event loop"):
        await asyncio.to_thread(asyncio.run, hf.book("class", "bea"))
    assert await dump(database_url) == before


def test_a_loop_may_go_on_in_another_thread(database_url: str) -> None:
    loop = asyncio.new_event_loop()
    opening = opened(database_url)
    hf = loop.run_until_complete(opening.__aenter__())
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        made = asyncio.run_coroutine_threadsafe(hf.create_pool("class", quotas={"main": 1}), loop)
        assert granted(made.result(PATIENCE_S)).key == "class"
        for ask in (hf.book("class", "ann"), hf.confirm("K7PM2X"), hf.room("class")):
            with pytest.raises(Misused, match="event loop"):
                asyncio.run(ask)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.run_until_complete(opening.__aexit__(None, None, None))
        loop.close()


def run(program: str, url: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program, url], capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


INSIDE = """
import sys
from fairhold import Fairhold
from fairhold.errors import Misused
with Fairhold.open_sync(sys.argv[1]) as hf:
    hf.create_pool("class", quotas={"main": 1})
    try:
        hf.dry_run(lambda _: hf.book("class", "ann"))
    except Misused as error:
        print(error)
    print(hf.dry_run(lambda it: it.book("class", "ann")).events[0]["event"], hf.room("class"))
"""


def test_without_a_loop_a_dry_run_that_asks_outside_is_an_error_too(database_url: str) -> None:
    assert run(INSIDE, database_url) == (
        "this call would wait for itself: in a dry run, ask the Fairhold that it hands over\n"
        "Held {'main': 1}\n"
    )


FORKED = """
import os, sys
from fairhold import Fairhold
from fairhold.errors import Misused
with Fairhold.open_sync(sys.argv[1]) as hf:
    hf.create_pool("class", quotas={"main": 1})
    child = os.fork()
    if not child:
        try:
            hf.room("class")
        except Misused as error:
            print(error, flush=True)
        sys.exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), hf.room("class"))
"""


def test_a_process_that_did_not_open_it_is_told_so_and_can_end(database_url: str) -> None:
    assert run(FORKED, database_url) == (
        "this Fairhold was opened by another process: open it after the fork\n0 {'main': 1}\n"
    )
