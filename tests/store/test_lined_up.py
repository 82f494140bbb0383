"""SQLite writes a batch straight behind the one before: if that was written, and after nobody's turn."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from fairhold import Fairhold, granted
from fairhold.store.base import Seen, Together, Write
from fairhold.store.sqlite import transaction
from tests.database import SECRET
from tests.engine.staging import file_locked_outside
from tests.patience import PATIENCE_S
from tests.store.test_together import keys, request, seen_of


@pytest.fixture
async def hf(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Fairhold]:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1}, raising=False)
    async with Fairhold.open(sqlite_url, secret=SECRET, ticker=False) as hf:
        granted(await hf.create_pool("hall", preset="checkout", quotas={"main": 9}))
        # What it takes to be made once shall not count.
        await (await hf.store.begin(to_finish=True)).rollback()
        yield hf


class Writing:
    """A batch that is being written until it is let go on, and one that is to be written behind it."""

    def __init__(self, hf: Fairhold) -> None:
        self.hf = hf
        self.store: Any = hf.store
        self._at_work, self._go_on = threading.Event(), threading.Event()

    def whole(self, seen: Seen, *names: str) -> Together:
        rows = [request(name) for name in names]
        return self.store.put_together(seen, [Write("insert_requests", rows)])  # type: ignore[no-any-return]

    async def begin(self, whole: Together) -> None:
        self.store._writer.set_progress_handler(self._stop_once, 1)
        self.first = asyncio.create_task(self.finish(whole))
        async with asyncio.timeout(PATIENCE_S):
            while not self._at_work.is_set():
                await asyncio.sleep(0.001)

    async def line_up(self) -> Together:
        """One is being written; the other, which this is, is lined up behind it."""
        seen = await seen_of(self.hf)
        one, two = self.whole(seen, "one"), self.whole(seen, "two")
        await self.begin(one)
        self.store.line_up(two, behind=one)
        return two

    def _stop_once(self) -> None:
        if not self._at_work.is_set():
            self._at_work.set()
            assert self._go_on.wait(PATIENCE_S)

    def go_on(self) -> None:
        self._go_on.set()

    async def finish(self, whole: Together) -> bool:
        tx = await self.store.begin(to_finish=True)
        try:
            return await tx.finish(whole)  # type: ignore[no-any-return]
        finally:
            await tx.rollback()


@pytest.fixture
def writing(hf: Fairhold) -> Writing:
    return Writing(hf)


async def test_the_next_is_written_before_it_is_asked_for(writing: Writing, sqlite_url: str) -> None:
    two = await writing.line_up()
    writing.go_on()
    assert await writing.first
    sheet = writing.store._lined_up.sheet
    sheet.wait()
    assert await keys(sqlite_url) == {"one", "two"}
    assert await writing.finish(two)
    assert await keys(sqlite_url) == {"one", "two"}


@pytest.mark.parametrize("why", ["overtaken", "a key that is taken"])
async def test_behind_one_that_is_not_written_nothing_is(
    hf: Fairhold, writing: Writing, sqlite_url: str, why: str
) -> None:
    seen = await seen_of(hf)
    wrong = {pool: bytes(32) for pool in seen.hashes}
    one = writing.whole(Seen(wrong) if why == "overtaken" else seen, "one")
    if why != "overtaken":
        assert await writing.finish(writing.whole(seen, "one"))
    two = writing.whole(seen, "two")
    await writing.begin(one)
    hf.store.line_up(two, behind=one)
    writing.go_on()
    if why == "overtaken":
        assert not await writing.first
    else:
        with pytest.raises(Exception, match="UNIQUE"):
            await writing.first
    assert writing.store._lined_up is None
    assert "two" not in await keys(sqlite_url)
    # And it can be written by itself, as if it had not been lined up.
    assert await writing.finish(two)
    assert "two" in await keys(sqlite_url)


async def test_what_waits_for_another_process_is_tried_again_and_so_is_the_next(
    hf: Fairhold, writing: Writing, sqlite_url: str
) -> None:
    seen, busy = await seen_of(hf), threading.Event()
    one, two = writing.whole(seen, "one"), writing.whole(seen, "two")
    writing.store.scribe.hand_over(busy.wait)
    first = asyncio.create_task(writing.finish(one))
    await asyncio.sleep(0)
    hf.store.line_up(two, behind=one)
    assert writing.store._lined_up is not None
    with file_locked_outside(sqlite_url):
        busy.set()
        await asyncio.sleep(0.1)
        assert not first.done()
        assert not writing.store._lined_up.has_begun
    assert await first
    assert await writing.finish(two)
    assert await keys(sqlite_url) == {"one", "two"}


async def test_who_waits_for_the_writer_comes_first(hf: Fairhold, writing: Writing) -> None:
    """Else those in the lane could go on for ever."""
    seen = await seen_of(hf)
    one, two = writing.whole(seen, "one"), writing.whole(seen, "two")
    await writing.begin(one)
    beside = asyncio.create_task(hf.store.begin(beside=True))
    await asyncio.sleep(0)
    hf.store.line_up(two, behind=one)
    assert writing.store._lined_up is None
    writing.go_on()
    await (await beside).rollback()
    assert await writing.finish(two)


async def test_who_comes_in_between_waits_until_the_scribe_is_done(
    hf: Fairhold, writing: Writing, sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = transaction.writing

    def slowly(*what: Any) -> Callable[[], None]:
        def wait_and_write() -> None:
            time.sleep(0.05)
            write(*what)()

        return wait_and_write

    monkeypatch.setattr(transaction, "writing", slowly)
    two = await writing.line_up()
    beside = asyncio.create_task(hf.store.begin(beside=True))
    await asyncio.sleep(0)
    writing.go_on()
    tx = await beside
    rows = await tx.each("requests_by_key", [("default", "one"), ("default", "two")])
    assert {row[1] for row in rows} == {"one", "two"}
    await tx.rollback()
    assert await writing.first
    assert await writing.finish(two)
    assert await keys(sqlite_url) == {"one", "two"}


async def test_another_than_the_one_that_was_lined_up_is_not_finished_in_its_place(
    hf: Fairhold, writing: Writing, sqlite_url: str
) -> None:
    three = writing.whole(await seen_of(hf), "three")
    await writing.line_up()
    writing.go_on()
    assert await writing.first
    with pytest.raises(RuntimeError, match="another batch"):
        await writing.finish(three)
    assert await keys(sqlite_url) == {"one", "two"}


async def test_nothing_is_lined_up_but_behind_the_one_that_is_being_written(
    hf: Fairhold, writing: Writing
) -> None:
    seen = await seen_of(hf)
    one, two, three = (writing.whole(seen, name) for name in ("one", "two", "three"))
    hf.store.line_up(two, behind=one)
    assert writing.store._lined_up is None
    tx = await hf.store.begin(to_finish=True)
    hf.store.line_up(two, behind=one)
    assert writing.store._lined_up is None
    await tx.rollback()
    await writing.begin(one)
    hf.store.line_up(two, behind=three)
    assert writing.store._lined_up is None
    writing.go_on()
    assert await writing.first
    hf.store.line_up(two, behind=one)
    assert writing.store._lined_up is None


async def test_nothing_is_lined_up_behind_another_transaction(hf: Fairhold, writing: Writing) -> None:
    seen, busy = await seen_of(hf), threading.Event()
    one, two = writing.whole(seen, "one"), writing.whole(seen, "two")
    assert await writing.finish(one)
    writing.store.scribe.hand_over(busy.wait)
    beside = asyncio.create_task(hf.add_staff_contact("email", "olga@example.org"))
    async with asyncio.timeout(PATIENCE_S):
        while writing.store._has_writer is None or writing.store._has_writer._sheet is None:
            await asyncio.sleep(0.001)
    hf.store.line_up(two, behind=one)
    assert writing.store._lined_up is None
    busy.set()
    granted(await beside)


async def test_a_crowd_is_written_batch_behind_batch(hf: Fairhold, monkeypatch: pytest.MonkeyPatch) -> None:
    granted(await hf.create_pool("arena", preset="checkout", quotas={"main": 100_000}))
    store: Any = hf.store
    lined_up, line_up = list[bool](), store.line_up

    def noted(whole: Together, behind: Together) -> None:
        line_up(whole, behind)
        lined_up.append(store._lined_up is not None)

    monkeypatch.setattr(store, "line_up", noted)
    # However busy this machine is: the next is decided before one is written.
    store._writer.set_progress_handler(lambda: time.sleep(0.005), 10_000)

    async def caller(name: int) -> None:
        for turn in range(20):
            granted(await hf.book("arena", f"{name} {turn}", idempotency_key=f"{name} {turn}"))

    await asyncio.gather(*(caller(name) for name in range(64)))
    assert sum(lined_up) > 5
