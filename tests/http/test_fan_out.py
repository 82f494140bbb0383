"""Many who watch the same: one look for all of them, one piece of memory, and nobody is kept who has gone."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import cast

from fairhold import granted
from fairhold.changes import Changes, Cursor, News
from fairhold.http.operations import Call
from fairhold.http.stream import Watcher
from fairhold.http.together import Bell, Together
from tests.database import opened
from tests.patience import until


async def test_each_sees_at_least_what_was_there_when_it_asked() -> None:
    together, facts, looks, go_on = Together(), ["early"], 0, asyncio.Event()

    async def look() -> tuple[str, ...]:
        nonlocal looks
        looks += 1
        found = tuple(facts)
        await go_on.wait()
        return found

    first = [asyncio.create_task(together.ask("facts", look)) for _ in range(50)]
    await until(lambda: looks == 1)
    facts.append("late")
    second = [asyncio.create_task(together.ask("facts", look)) for _ in range(50)]
    await asyncio.sleep(0)
    # Who does not wait any longer takes nothing from the others.
    second[0].cancel()
    go_on.set()
    assert set(await asyncio.gather(*first)) == {("early",)}
    assert set(await asyncio.gather(*second[1:])) == {("early", "late")}
    assert looks == 2


async def test_a_look_that_fails_fails_for_all_who_asked_and_for_nobody_after() -> None:
    together = Together()

    async def fail() -> str:
        raise OSError("away")

    async def work() -> str:
        return "here"

    failed = await asyncio.gather(*(together.ask("it", fail) for _ in range(3)), return_exceptions=True)
    assert [str(it) for it in failed] == ["away"] * 3
    assert await together.ask("it", work) == "here"


async def test_a_bell_wakes_all_and_others_come_in_between() -> None:
    bell, woken = Bell(), list[bool]()

    async def wait() -> None:
        woken.append(await bell.wait())

    waiting = [asyncio.create_task(wait()) for _ in range(1_000)]
    await asyncio.sleep(0)
    bell.beat()
    await asyncio.gather(*waiting)
    assert woken == [False] * 1_000
    waiting = [asyncio.create_task(wait()) for _ in range(1_000)]
    await asyncio.sleep(0)
    woken.clear()
    bell.ring()
    await asyncio.sleep(0)
    assert len(woken) < 1_000
    await asyncio.gather(*waiting)
    assert woken == [True] * 1_000
    assert await bell.wait()


async def test_those_at_the_same_place_are_told_the_same_piece(database_url: str) -> None:
    def seen_by(role: str) -> Call:
        return cast(Call, SimpleNamespace(is_staff=role == "staff", hf=hf))

    async with opened(database_url) as hf:
        granted(await hf.create_pool("a", preset="class_waitlist", quotas={"main": 1}))
        watcher, reads = Watcher(hf), 0

        class Counted(Changes):
            async def after(self, org: str, cursor: Cursor, pool_id: int | None = None) -> News:
                nonlocal reads
                reads += 1
                return await super().after(org, cursor, pool_id)

        watcher.changes = Counted(hf)
        start = await watcher.start_of("default")
        olga = granted(await hf.book("a", "olga"))
        granted(await hf.book("a", "ann"))
        granted(await hf.cancel(olga.id))
        pieces = await asyncio.gather(*(watcher.piece_after("default", start, None) for _ in range(200)))
        assert len({id(piece) for piece in pieces}) == 1
        assert await watcher.piece_after("default", start, None) is pieces[0]
        assert reads == 1
        staff, other = pieces[0].told(seen_by("staff")), pieces[0].told(seen_by("read"))
        assert pieces[0].told(seen_by("staff")) is staff
        assert b'"token":' in staff
        assert b'"token":' not in other
        # That nothing is new is never remembered.
        end = pieces[0].news.cursor
        assert not (await watcher.piece_after("default", end, None)).news.changes
        granted(await hf.book("a", "bea"))
        assert (await watcher.piece_after("default", end, None)).news.changes
        assert reads == 3
