"""What staff see at once costs the same however much there is to see, and says what the rows say."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import pytest

from holdfast import Holdfast, granted
from tests.database import ask, opened
from tests.engine.counting import counted


@pytest.fixture
async def hf(database_url: str) -> AsyncIterator[Holdfast]:
    async with opened(database_url) as hf:
        yield hf


async def crowd(hf: Holdfast, key: str, size: int) -> None:
    """A pool with an open share, half of its bookings confirmed, and as many in line."""
    quotas = {"main": size // 2, "other": 1}
    granted(await hf.create_pool(key, preset="event_signup", quotas=quotas, open_size=size))
    for n in range(2 * size):
        made = granted(await hf.book(key, f"{key} {n}", quota="main"))
        if made.state == "held" and n % 2:
            granted(await hf.confirm(made.id))


async def kill_letters(hf: Holdfast, url: str) -> None:
    await ask(url, "UPDATE outbox SET state = 'dead', error = 'nobody there'")


async def test_what_staff_see_costs_the_same_however_much_there_is(hf: Holdfast, database_url: str) -> None:
    costs: dict[int, dict[str, Counter[str]]] = {}
    for size in (4, 40):
        key = f"pool-{size}"
        await crowd(hf, key, size)
        looks: dict[str, Any] = {
            "seats": lambda key=key: hf.seats(key),
            "holds": lambda key=key: hf.next_to_end(key, "held"),
            "line": lambda key=key: hf.line(key),
            "newest": lambda key=key: hf.newest_bookings(key),
            "bookings": lambda key=key: hf.bookings(key),
            "messages": lambda key=key: fates(hf, key),
            "find": lambda key=key: hf.find(key, pool=key, limit=1_000),
            "pools": hf.pools,
        }
        costs[size] = {}
        for name, look in looks.items():
            with counted(hf) as asked:
                assert await look()
            costs[size][name] = Counter(asked)
    assert costs[4] == costs[40]


async def fates(hf: Holdfast, key: str) -> Any:
    found = granted(await hf.newest_messages(key))
    return await hf.fates([it.id for it in found])


async def test_the_count_of_what_needs_staff_is_what_is_listed_and_costs_the_same(
    hf: Holdfast, database_url: str
) -> None:
    with counted(hf) as asked:
        assert await hf.needs_count() == 0
    empty = Counter(asked)
    await crowd(hf, "gig", 20)
    await hf.advance(seconds=26 * 60)
    await kill_letters(hf, database_url)
    with counted(hf) as asked:
        count = await hf.needs_count()
    needs = await hf.needs()
    assert count == needs.count > 20
    assert needs.holds
    assert needs.unreached
    # Some more for the bookings that dead letters are about, and not one for each.
    assert sum((Counter(asked) - empty).values()) <= 5


async def test_seats_by_state_are_what_the_bookings_add_up_to(hf: Holdfast, database_url: str) -> None:
    await crowd(hf, "gig", 10)
    rows = await ask(
        database_url,
        "SELECT quota, state, sum(quantity) FROM bookings WHERE state IN ('held', 'confirmed') GROUP BY 1, 2",
    )
    found: dict[str, dict[str, int]] = {"other": {}}
    for quota, state, seats in rows:
        found.setdefault(quota, {})[state] = int(seats)
    assert granted(await hf.seats("gig")) == found


async def test_those_who_end_first_come_first(hf: Holdfast) -> None:
    granted(await hf.create_pool("gig", quotas={"main": 9}))
    made = [granted(await hf.book("gig", f"p{n}")) for n in range(4)]
    granted(await hf.extend(made[0].id, 600, by="staff"))
    granted(await hf.confirm(made[2].id))
    found = granted(await hf.next_to_end("gig", "held"))
    assert [it.id for it in found] == [made[1].id, made[3].id, made[0].id]
    assert granted(await hf.next_to_end("gig", "held", limit=1)) == found[:1]
