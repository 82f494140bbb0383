"""Positions by blocks are what plain counting gives, after every commit, however the blocks split and merge.

Blocks are made tiny and the places between two arrivals few, so that a short history splits and merges
blocks, and spreads places anew, many times.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from random import Random
from typing import Any

import pytest

from fairhold import Booking, Fairhold, granted
from fairhold.core import line
from fairhold.store import blocks
from tests.database import Ask, asking, opened

LONG, SHORT, MERGED_MAX, LATE = 8, 2, 4, 3
PRIORITIES = {
    "priority_rules": [{"when": {"tag": "honours"}, "add": 5}, {"when": {"tag": "late"}, "add": -5}],
}


@pytest.fixture(autouse=True)
def tiny_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "LONG", LONG)
    monkeypatch.setattr(blocks, "SHORT", SHORT)
    monkeypatch.setattr(blocks, "MERGED_MAX", MERGED_MAX)
    monkeypatch.setattr(blocks, "LATE", LATE)
    monkeypatch.setattr(line, "GAP", 8)


class Changes:
    """Random commands to one pool, counted by what has come of them."""

    def __init__(self, hf: Fairhold, ask: Ask, seed: int) -> None:
        self.hf, self.ask, self.random = hf, ask, Random(seed)
        self.done: Counter[str] = Counter()
        self.parties = 0

    async def line(self) -> list[Booking]:
        return granted(await self.hf.line("class", limit=1_000))

    async def one(self) -> None:
        """One command, chosen so that the line grows and shrinks by turns."""
        waiting = await self.line()
        growing = len(waiting) < 15 or (len(waiting) < 60 and self.parties % 80 < 50)
        kinds = ["join"] * (6 if growing else 2) + ["leave"] * (2 if growing else 6) + ["move"] * 3
        kind = self.random.choice([*kinds, "crowd", "front", "back", "grow", "decline"])
        self.done[kind] += 1
        if kind == "join" or len(waiting) < 5:
            await self.join()
        else:
            await getattr(self, kind)(waiting)

    async def join(self) -> None:
        self.parties += 1
        tags = self.random.choice([[], [], ["honours"], ["late"]])
        granted(await self.hf.book("class", {"id": f"party {self.parties}", "tags": tags}, if_full="wait"))

    async def leave(self, waiting: list[Booking]) -> None:
        who = self.random.choice(waiting)
        left = granted(await self.hf.cancel(who.id))
        assert (left.state, left.position) == ("cancelled", who.position)
        assert await self.hf.position(who.id) == who.position

    async def move(self, waiting: list[Booking]) -> None:
        who, after = self.random.sample(waiting, 2)
        moved = granted(await self.hf.move(who.id, after=after.id))
        assert moved.position == granted(await self.hf.position(after.id)) + 1

    async def crowd(self, waiting: list[Booking]) -> None:
        """Several behind the same one: the places there run out."""
        after, *others = self.random.sample(waiting, 5)
        for who in others:
            granted(await self.hf.move(who.id, after=after.id))

    async def front(self, waiting: list[Booking]) -> None:
        assert granted(await self.hf.move(self.random.choice(waiting).id, "front")).position == 1

    async def back(self, waiting: list[Booking]) -> None:
        moved = granted(await self.hf.move(self.random.choice(waiting).id, "back"))
        assert moved.position == len(waiting)

    async def grow(self, waiting: list[Booking]) -> None:
        size = granted(await self.hf.pool("class")).quotas[0].used + 1
        granted(await self.hf.change_pool("class", sizes={"main": size}))

    async def decline(self, waiting: list[Booking]) -> None:
        for booking in granted(await self.hf.bookings("class", state="offered")):
            granted(await self.hf.decline(booking.id))

    async def several(self) -> None:
        """Joins and departures that meet in one transaction."""
        waiting = await self.line()
        leavers = self.random.sample(waiting, min(len(waiting), self.random.randrange(12)))
        joins = [self.join() for _ in range(self.random.randrange(12))]
        await asyncio.gather(*joins, *(self.hf.cancel(booking.id) for booking in leavers))

    async def check(self) -> None:
        """Positions and blocks against plain counting of the rows."""
        rows = await self.ask(
            "SELECT number, place FROM fairhold_bookings WHERE state = 'waiting' ORDER BY place"
        )
        listed = await self.line()
        assert [booking.position for booking in listed] == list(range(1, len(rows) + 1))
        read = [(await self.hf.position(booking.id), booking.party.id) for booking in listed]
        assert read == [(booking.position, booking.party.id) for booking in listed]
        numbers = [row[0] for row in rows]
        held = await self.ask("SELECT number, party_id FROM fairhold_bookings WHERE state = 'waiting'")
        names = dict(held)
        assert [booking.party.id for booking in listed] == [names[number] for number in numbers]
        await self.check_blocks([row[1] for row in rows])

    async def places(self) -> list[int]:
        rows = await self.ask("SELECT place FROM fairhold_bookings WHERE state = 'waiting' ORDER BY place")
        return [row[0] for row in rows]

    async def check_blocks(self, places: list[int]) -> None:
        found = await self.ask("SELECT low, count FROM fairhold_line_blocks ORDER BY low")
        lows = [low for low, _ in found]
        assert lows[0] == blocks.LOWEST
        counted = [
            sum(low <= place < after for place in places)
            for low, after in zip(lows, [*lows[1:], 2**63], strict=True)
        ]
        assert [count for _, count in found] == counted
        assert max(counted) <= LONG + LATE
        self.done["most blocks"] = max(self.done["most blocks"], len(found))


async def pool_for(hf: Fairhold, **policy: Any) -> None:
    rules = {**PRIORITIES, "attempts_max": None, "after_decline": "stay", "after_lapse": "back", **policy}
    granted(await hf.create_pool("class", preset="course_section", policy=rules, quotas={"main": 1}))
    granted(await hf.book("class", "teacher", confirmed=True, by="staff"))


@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_positions_are_exact_after_every_commit(database_url: str, seed: int) -> None:
    async with opened(database_url) as hf, asking(database_url) as ask:
        await pool_for(hf)
        changes = Changes(hf, ask, seed)
        for _ in range(120):
            await changes.one()
            await changes.check()
        respread = await ask("SELECT count(*) FROM fairhold_log WHERE kind = 'Respread'")
        assert respread[0][0] > 0, "no place ever ran out: the test has lost its teeth"
        assert changes.done["most blocks"] >= 4


@pytest.mark.parametrize("seed", [1, 2])
async def test_positions_are_exact_when_changes_meet_in_one_transaction(database_url: str, seed: int) -> None:
    async with opened(database_url) as hf, asking(database_url) as ask:
        await pool_for(hf)
        changes = Changes(hf, ask, seed)
        for _ in range(40):
            before = hf.engine.batches
            await changes.several()
            assert hf.engine.batches - before <= 2
            await changes.check()


async def test_blocks_stay_short_whichever_of_two_nodes_people_come_to(database_url: str) -> None:
    """A node does not know how many have entered a block at the other since it was looked at."""
    async with opened(database_url) as hf, opened(database_url) as other, asking(database_url) as ask:
        await pool_for(hf)
        nodes = [Changes(node, ask, 1) for node in (hf, other)]
        for turn in range(40):
            nodes[1].parties = nodes[0].parties = turn
            await nodes[turn % 2].join()
            await nodes[0].check_blocks(await nodes[0].places())
        await nodes[0].check()


async def test_blocks_stay_short_in_whichever_process_people_come(database_url: str) -> None:
    async with opened(database_url) as hf, asking(database_url) as ask:
        await pool_for(hf)
        for turn in range(16):
            async with opened(database_url) as again:
                changes = Changes(again, ask, 1)
                changes.parties = turn
                await changes.join()
                await changes.check_blocks(await changes.places())


async def test_neighbouring_blocks_that_empty_together_are_merged_with_nothing_lost(
    database_url: str,
) -> None:
    async with opened(database_url) as hf, asking(database_url) as ask:
        await pool_for(hf)
        changes = Changes(hf, ask, 1)
        for stay in (1, 2, 3, 5, 7):
            while len(await changes.line()) < 60:
                await changes.join()
            listed = await changes.line()
            leavers = [
                booking for index, booking in enumerate(listed) if index % 8 >= stay % 4 or index % stay
            ]
            await asyncio.gather(*(hf.cancel(booking.id) for booking in leavers))
            await changes.check()
        for booking in await changes.line():
            granted(await hf.cancel(booking.id))
            await changes.check()
        assert len(await ask("SELECT low FROM fairhold_line_blocks")) == 1


async def test_two_short_neighbours_are_merged_in_one_transaction(database_url: str) -> None:
    """A block that has just taken in its neighbour must not be merged with the count it had before."""
    async with opened(database_url) as hf, opened(database_url) as other, asking(database_url) as ask:
        await pool_for(hf)
        changes = Changes(hf, ask, 1)
        # Each node looks how long the last block is, for it does not know who came to the other.
        booked = [granted(await (hf, other)[n % 2].book("class", f"party {n}")) for n in range(13)]
        counts = "SELECT count FROM fairhold_line_blocks ORDER BY low"
        assert await ask(counts) == [(4,), (4,), (5,)]
        granted(await hf.move(booked[12].id, after=booked[5].id))
        for index in (8, 9, 10, 11, 0):
            granted(await hf.cancel(booked[index].id))
        for index in (4, 5, 6):
            granted(await hf.cancel(booked[index].id))
        assert await ask(counts) == [(3,), (2,), (0,)]
        await asyncio.gather(hf.cancel(booked[7].id), hf.book("class", "last of all"))
        await changes.check()


@pytest.mark.tampered
async def test_a_miscounted_block_would_be_noticed(database_url: str) -> None:
    async with opened(database_url) as hf, asking(database_url) as ask:
        await pool_for(hf)
        changes = Changes(hf, ask, 1)
        for _ in range(20):
            await changes.join()
        await changes.check()
        await ask(f"UPDATE fairhold_line_blocks SET count = count + 1 WHERE low = {blocks.LOWEST}")
        with pytest.raises(AssertionError):
            await changes.check()


async def test_the_departed_keep_their_last_position(database_url: str) -> None:
    async with opened(database_url) as hf:
        await pool_for(hf)
        booked = [granted(await hf.book("class", f"party {n}")) for n in range(20)]
        for index in (10, 3, 17):
            was = await hf.position(booked[index].id)
            granted(await hf.cancel(booked[index].id))
            for other in booked[:2]:
                await hf.move(other.id, "back")
            assert await hf.position(booked[index].id) == was
            assert granted(await hf.booking(booked[index].id)).position == was
