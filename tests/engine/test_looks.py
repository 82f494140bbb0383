"""Many who look at the same time are answered by one look at the database."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from fairhold import Fairhold, granted
from fairhold.errors import Unavailable
from fairhold.looks import Key, Looks
from fairhold.shapes import Booking
from tests.database import ask, opened


@pytest.fixture
async def hf(database_url: str) -> AsyncIterator[Fairhold]:
    async with opened(database_url) as hf:
        granted(await hf.create_pool("talk", preset="event_signup", quotas={"a": 2, "b": 9}, open_size=2))
        yield hf


def watched(hf: Fairhold, monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The snapshots that are taken from now on."""
    taken: list[object] = []
    plain = hf.store.snapshot

    @asynccontextmanager
    async def snapshot() -> AsyncIterator[Any]:
        async with plain() as found:
            taken.append(found)
            yield found

    monkeypatch.setattr(hf.store, "snapshot", snapshot)
    return taken


async def test_two_hundred_who_look_at_once_are_answered_by_one_look(
    hf: Fairhold, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is told the same as who looks alone: with seats of the quota, of the open share, or in line."""
    made = [granted(await hf.book("talk", f"p-{n}", quota="a")) for n in range(8)]
    alone = [granted(await hf.booking(it.id)) for it in made]
    assert [it.placement for it in alone] == ["quota"] * 2 + ["open"] * 2 + ["line"] * 4
    assert [it.position for it in alone] == [None] * 4 + [1, 2, 3, 4]
    looks = watched(hf, monkeypatch)
    together = await asyncio.gather(*(hf.booking(made[n % 8].id) for n in range(200)))
    assert together == [alone[n % 8] for n in range(200)]
    assert len(looks) == 1


async def test_who_looks_sees_what_was_committed_before(hf: Fairhold) -> None:
    async def book_and_look(name: str) -> None:
        made = granted(await hf.book("talk", name, quota="b"))
        granted(await hf.confirm(made.id))
        assert granted(await hf.booking(made.id)).state == "confirmed"

    await asyncio.gather(*(book_and_look(f"p-{n}") for n in range(9)))


async def test_a_group_that_shares_its_seats_with_the_open_share_is_placed_there(hf: Fairhold) -> None:
    """Two have the quota, a group of two behind them the open seats; when one goes, the group moves up."""
    first = granted(await hf.book("talk", "ann", quota="a"))
    second = granted(await hf.book("talk", "bea", quota="a"))
    group = granted(await hf.book("talk", "cyd", 2, quota="a"))
    assert [granted(await hf.booking(it.id)).placement for it in (first, second, group)] == [
        "quota",
        "quota",
        "open",
    ]
    granted(await hf.cancel(first.id))
    # One of its seats is still an open one.
    assert granted(await hf.booking(group.id)).placement == "open"
    granted(await hf.cancel(second.id))
    assert granted(await hf.booking(group.id)).placement == "quota"


async def test_a_look_that_fails_fails_who_asked_and_nobody_else() -> None:
    asked: list[Sequence[Key]] = []

    async def look(keys: Sequence[Key]) -> dict[Key, Booking]:
        asked.append(keys)
        await asyncio.sleep(0)
        if len(asked) == 1:
            raise Unavailable("away")
        return {}

    looks = Looks(look)
    first = await asyncio.gather(*(looks.ask((1, n)) for n in range(3)), return_exceptions=True)
    assert [type(it) for it in first] == [Unavailable] * 3
    assert await looks.ask((1, 1)) is None
    assert [len(keys) for keys in asked] == [3, 1]


async def test_while_the_database_is_ill_a_crowd_is_told_so_by_one_look() -> None:
    """However many they are: a look that fails takes seconds, and more would gather than it fails."""
    begun, go_on, looks_made = asyncio.Event(), asyncio.Event(), 0

    async def look(keys: Sequence[Key]) -> dict[Key, Booking]:
        nonlocal looks_made
        looks_made += 1
        begun.set()
        await go_on.wait()
        raise Unavailable("away")

    looks = Looks(look)
    crowd = [asyncio.create_task(looks.ask((1, 1)))]
    await begun.wait()
    crowd += [asyncio.create_task(looks.ask((1, n))) for n in range(1_000)]
    await asyncio.sleep(0)
    go_on.set()
    found = await asyncio.gather(*crowd, return_exceptions=True)
    assert {type(it) for it in found} == {Unavailable}
    assert looks_made == 1


@pytest.mark.tampered
async def test_a_booking_that_cannot_be_shown_spoils_nobody_elses(hf: Fairhold, database_url: str) -> None:
    made = [granted(await hf.book("talk", f"p-{n}", quota="b")) for n in range(9)]
    await ask(database_url, "UPDATE fairhold_bookings SET party = '[]' WHERE number = 4")
    found = await asyncio.gather(*(hf.booking(it.id) for it in made), return_exceptions=True)
    assert [n for n, it in enumerate(found, 1) if not isinstance(it, Booking)] == [4]


async def test_who_goes_away_while_others_look_takes_nobody_along() -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def look(keys: Sequence[Key]) -> dict[Key, Booking]:
        begun.set()
        await go_on.wait()
        return {}

    looks = Looks(look)
    tasks = [asyncio.create_task(looks.ask((1, n))) for n in range(3)]
    await begun.wait()
    late = asyncio.create_task(looks.ask((2, 1)))
    tasks[0].cancel()
    go_on.set()
    found = await asyncio.gather(*tasks, late, return_exceptions=True)
    assert isinstance(found[0], asyncio.CancelledError)
    assert found[1:] == [None] * 3
