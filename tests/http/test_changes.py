"""What changed, from a cursor on: nothing is missed, however commits overlap and who forgets meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest

from fairhold import TestClock, granted, upkeep
from fairhold.changes import BookingChange, Changes, Cursor, News
from fairhold.http.stream import Watcher
from tests.database import START, ask, dialect_of, opened
from tests.patience import PATIENCE_S, until


async def test_nothing_is_passed_over_when_commits_overlap(database_url: str) -> None:
    """A transaction that began first and ends last is not lost, and nothing overtakes it."""
    async with opened(database_url) as hf:
        for key in ("a", "b"):
            granted(await hf.create_pool(key, preset="checkout", quotas={"main": 5}))
        changes = Changes(hf)
        start = await changes.now()
        if dialect_of(database_url) == "sqlite":
            granted(await hf.book("b", "bea"))
            assert len((await changes.after("default", start)).changes) == 2
            return
        slow = await asyncpg.connect(database_url)
        await slow.execute("BEGIN")
        # It takes its number now, and writes to its pool only later.
        await slow.execute("SELECT pg_current_xact_id()")
        granted(await hf.book("b", "bea"))
        early = await changes.after("default", start)
        assert early.changes == []
        # A negative control: a reader without the horizon would have seen bea's change, and gone past ann's.
        [(seen,)] = await ask(database_url, f"SELECT count(*) FROM fairhold_stream WHERE mark > {start.mark}")
        assert seen == 1
        await slow.execute("UPDATE fairhold_pools SET log_seq = log_seq + 1 WHERE key = 'a'")
        await slow.execute("COMMIT")
        await slow.close()
        late = await changes.after("default", early.cursor)
        pools = [change.pool.key for change in late.changes if not isinstance(change, BookingChange)]
        assert pools == ["a", "b"]


async def test_a_pools_changes_keep_the_order_of_its_log(postgres_url: str) -> None:
    """A number taken early and used late must not put a pool's later change before its earlier one."""
    async with opened(postgres_url) as hf:
        granted(await hf.create_pool("a", preset="checkout", quotas={"main": 5}))
        early = await asyncpg.connect(postgres_url)
        await early.execute("BEGIN")
        await early.execute("SELECT pg_current_xact_id()")
        granted(await hf.book("a", "ann"))
        await early.execute("UPDATE fairhold_pools SET log_seq = log_seq + 1 WHERE key = 'a'")
        await early.execute("COMMIT")
        await early.close()
        marks = await ask(postgres_url, "SELECT mark FROM fairhold_stream ORDER BY pool_id, seq")
        assert marks == sorted(marks)


async def test_old_changes_are_forgotten_and_foreign_ones_too(database_url: str) -> None:
    async with opened(database_url) as hf:
        granted(await hf.create_pool("a", preset="checkout", quotas={"main": 5}))
        changes = Changes(hf)
        old = await changes.now()
        await hf.advance(seconds=25 * 3600)
        granted(await hf.book("a", "ann"))
        await upkeep.forget_changes(hf.store, hf.clock.now() - 24 * 3_600_000)
        assert await ask(database_url, "SELECT count(*) FROM fairhold_stream") == [(1,)]
        assert not await changes.can_resume(old)
        assert await changes.can_resume(await changes.now())
        if dialect_of(database_url) == "postgres":
            await ask(database_url, "UPDATE fairhold_stream SET mark = 9000000000000000000")
            await changes.forget_foreign()
            assert await ask(database_url, "SELECT count(*) FROM fairhold_stream") == [(0,)]


async def test_who_comes_back_after_much_has_happened_is_told_in_pieces(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of a day in one piece would keep everybody else waiting, or never be read in time."""
    monkeypatch.setattr("fairhold.changes._ENTRIES_MAX", 3)
    async with opened(database_url) as hf:
        granted(await hf.create_pool("a", preset="checkout", quotas={"main": 9}))
        changes, pieces = Changes(hf), list[list[str]]()
        cursor = await changes.now()
        for n in range(8):
            granted(await hf.book("a", f"party {n}"))

        async def everybody_is_heard_of() -> bool:
            nonlocal cursor
            news = await changes.after("default", cursor)
            cursor = news.cursor
            pieces.append([it.booking.party.id for it in news.changes if isinstance(it, BookingChange)])
            return sorted(who for piece in pieces for who in piece) == [f"party {n}" for n in range(8)]

        await until(everybody_is_heard_of)
        assert max(map(len, pieces)) <= 3


async def test_what_is_forgotten_while_it_is_read_is_no_news(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(database_url) as hf:
        granted(await hf.create_pool("a", preset="checkout", quotas={"main": 5}))
        changes, snapshot = Changes(hf), hf.store.snapshot
        cursor = await changes.now()
        granted(await hf.book("a", "ann"))

        @contextlib.asynccontextmanager
        async def after_forgetting() -> AsyncIterator[Any]:
            await upkeep.forget_changes(hf.store, hf.clock.now() + 1)
            async with snapshot() as found:
                yield found

        monkeypatch.setattr(hf.store, "snapshot", after_forgetting)
        assert await changes.after("default", cursor) == News([], cursor)


async def test_what_is_committed_while_a_watcher_looks_is_not_left_for_later(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Whoever waits for the next look, waits for ever.
    monkeypatch.setattr("fairhold.http.stream._LOOK_S", 10_000.0)
    async with opened(sqlite_url) as hf:
        granted(await hf.create_pool("a", preset="checkout", quotas={"main": 5}))
        watcher = Watcher(hf)
        look, looked = watcher.changes.orgs_after, 0

        async def look_just_before(cursor: Cursor) -> tuple[set[str], Cursor]:
            nonlocal looked
            found = await look(cursor)
            looked += 1
            if looked == 1:
                granted(await hf.book("a", "ann"))
                watcher.wake()
            return found

        monkeypatch.setattr(watcher.changes, "orgs_after", look_just_before)
        await watcher.start()
        watcher.streams += 1
        try:
            watcher.wake()
            await asyncio.wait_for(watcher.bell("default").wait(), PATIENCE_S)
            bell = watcher.bell("default")
            watcher.wake()
            await asyncio.wait_for(bell.wait(), PATIENCE_S)
        finally:
            await watcher.close()


async def test_many_writers_on_two_nodes_and_a_stream_that_hears_all(postgres_url: str) -> None:
    """Under fire from two engines, what a watcher has heard is exactly what the log holds."""
    async with opened(postgres_url) as one, opened(postgres_url) as two:
        for n in range(5):
            granted(await one.create_pool(f"p{n}", preset="checkout", quotas={"main": 1_000}))
        changes = Changes(one)
        cursor, heard, done = await changes.now(), set[tuple[str, int]](), asyncio.Event()

        async def watch() -> None:
            nonlocal cursor
            while len(heard) < 400 or not done.is_set():
                news = await changes.after("default", cursor)
                cursor = news.cursor
                for change in news.changes:
                    if isinstance(change, BookingChange):
                        heard.update((change.pool, step.seq) for step in change.changes)
                await asyncio.sleep(0)

        watching = asyncio.create_task(watch())
        for round_ in range(10):
            await asyncio.gather(
                *((one if n % 2 else two).book(f"p{n % 5}", f"party {round_} {n}") for n in range(40))
            )
        done.set()
        await asyncio.wait_for(watching, PATIENCE_S)
        rows = await ask(postgres_url, "SELECT pool_id, seq FROM fairhold_log WHERE booking IS NOT NULL")
        assert len(heard) == len(rows) == 400


async def test_a_cursor_of_a_node_whose_clock_is_a_little_ahead_can_be_resumed(database_url: str) -> None:
    """Clocks of machines differ; a client that goes from one to the other is not to read all anew."""
    async with (
        opened(database_url, clock=TestClock(START + 5_000)) as ahead,
        opened(database_url, clock=TestClock(START)) as here,
    ):
        cursor = await Changes(ahead).now()
        assert await Changes(here).can_resume(cursor)
        assert not await Changes(here).can_resume(cursor._replace(at=START + 100_000))


async def test_a_cursor_can_be_kept_as_text_and_text_is_no_cursor(database_url: str) -> None:
    async with opened(database_url) as hf:
        granted(await hf.create_pool("a", preset="checkout", quotas={"main": 5}))
        changes = Changes(hf)
        kept = str(await changes.now())
        granted(await hf.book("a", "ann"))
        cursor = Cursor.of(kept)
        assert cursor is not None
        assert await changes.can_resume(cursor)
        assert len((await changes.after("default", cursor)).changes) == 2
        for text in ("", "x", "-1", "1.2.3.4", kept, (1, 2, 3, 4), None, 5):
            wrong: Any = text
            for ask in (
                changes.after("default", wrong),
                changes.orgs_after(wrong),
                changes.can_resume(wrong),
            ):
                with pytest.raises(TypeError, match=r"Cursor\.of"):
                    await ask
        for text in ("", "x", "-1", "1.2.3", None, 5):
            wrong = text
            assert Cursor.of(wrong) is None
