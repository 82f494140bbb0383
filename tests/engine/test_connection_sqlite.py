"""SQLite under others who write, with its file locked from outside, and on a full disk."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest

from fairhold import Fairhold, granted, open_sync
from fairhold.errors import Busy, Unavailable
from fairhold.store.sqlite import store as stores
from tests.database import SECRET
from tests.engine.looking import bookings, look, look_now, wrong
from tests.engine.processes import Worker, run_together
from tests.engine.staging import file_locked_outside
from tests.patience import PATIENCE_S
from tests.verified import assert_verified


@pytest.fixture
async def hf(sqlite_url: str) -> AsyncIterator[Fairhold]:
    async with Fairhold.open(sqlite_url, secret=SECRET, ticker=False) as hf:
        granted(await hf.create_pool("hall", quotas={"main": 100_000}, preset="checkout"))
        yield hf


def test_processes_that_write_at_once_all_get_their_turn(sqlite_url: str) -> None:
    with open_sync(sqlite_url, secret=SECRET, ticker=False) as hf:
        granted(hf.create_pool("hall", quotas={"main": 100_000}, preset="checkout"))
    shares = [[f"{process}-{n}" for n in range(150)] for process in range(3)]
    found = run_together(*(Worker("book", sqlite_url, pool="hall", parties=share) for share in shares))

    said = Counter(answer for answers in found for answer in answers.values())
    assert said == {"held": 450}
    picture = look_now(sqlite_url)
    assert wrong(picture) == []
    assert len(bookings(picture)) == 450


async def test_a_lock_from_outside_is_waited_for_while_reads_go_on(sqlite_url: str, hf: Fairhold) -> None:
    with file_locked_outside(sqlite_url):
        booking = asyncio.create_task(hf.book("hall", "Ann"))
        for _ in range(20):
            granted(await hf.pool("hall"))
            await asyncio.sleep(0.005)
        assert not booking.done()
        async with Fairhold.open(sqlite_url, secret=SECRET, ticker=False) as another:
            granted(await another.pool("hall"))
    granted(await booking)
    await assert_verified(sqlite_url)


async def test_a_lock_that_stays_is_told_as_busy(
    sqlite_url: str, hf: Fairhold, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fairhold.store.sqlite.transaction.BUSY_S", 0.2)
    with file_locked_outside(sqlite_url):
        async with asyncio.timeout(PATIENCE_S):
            with pytest.raises(Busy):
                await hf.book("hall", "Ann")
            granted(await hf.pool("hall"))
    granted(await hf.book("hall", "Ann"))
    assert [b.party for b in bookings(await look(sqlite_url))] == ["Ann"]


def limit_pages(hf: Fairhold, count: int | None) -> None:
    """The writer finds no more room than this; with None, than it has now."""
    writer = hf.store._writer
    pages = writer.execute("PRAGMA page_count").fetchone()[0] if count is None else count
    writer.execute(f"PRAGMA max_page_count = {pages}")


async def book_until_it_fails(hf: Fairhold, prefix: str) -> tuple[list[str], str]:
    """Who got a seat, and what was said to the first who did not."""
    held = []
    for turn in range(10_000):
        try:
            held.append(granted(await hf.book("hall", f"{prefix}-{turn}")).party.id)
        except Unavailable as error:
            return held, str(error)
    return held, ""


async def test_a_full_disk_is_a_clear_error_and_nothing_is_half_done(sqlite_url: str, hf: Fairhold) -> None:
    seated: list[str] = []
    for again in range(3):
        limit_pages(hf, None)
        held, said = await book_until_it_fails(hf, f"party-{again}")
        assert "full" in said
        seated += held
        # A crowd fails as one does; and reads go on all the same.
        calls = (hf.book("hall", f"crowd-{again}-{n}", quantity=2) for n in range(200))
        crowd = await asyncio.gather(*calls, return_exceptions=True)
        assert {type(answer) for answer in crowd} == {Unavailable}
        granted(await hf.pool("hall"))
        picture = await look(sqlite_url)
        assert wrong(picture) == []
        assert [b.party for b in bookings(picture)] == seated

        limit_pages(hf, 1_000_000)
        seated.append(granted(await hf.book("hall", f"space-{again}")).party.id)
    assert [b.party for b in bookings(await look(sqlite_url))] == seated
    await assert_verified(sqlite_url)


async def test_what_connections_keep_in_memory_is_little(hf: Fairhold) -> None:
    """However large the database grows, and however many have looked at it at the same time."""
    store = hf.store
    assert isinstance(store, stores.SqliteStore)
    async with AsyncExitStack() as stack:
        for _ in range(10):
            await stack.enter_async_context(store.snapshot())
    connections = [store._writer, store._reader, *store._snapshots]
    kept = [it.execute("PRAGMA cache_size").fetchone()[0] for it in connections if it is not None]
    assert len(kept) == 6
    assert all(it < 0 for it in kept), "in KiB, not in pages of whatever size"
    assert -sum(kept) <= 40 * 1024
