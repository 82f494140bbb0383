"""What staff see at once costs the same however much there is to see, and says what the rows say."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import pytest

from fairhold import Fairhold, granted
from fairhold.core.refusals import Refusal
from fairhold.store.queries import load_queries
from tests.database import ask, asking, dialect_of, opened
from tests.engine.counting import counted


@pytest.fixture
async def hf(database_url: str) -> AsyncIterator[Fairhold]:
    async with opened(database_url) as hf:
        yield hf


async def crowd(hf: Fairhold, key: str, size: int) -> None:
    """A pool with an open share, half of its bookings confirmed, and as many in line."""
    quotas = {"main": size // 2, "other": 1}
    granted(await hf.create_pool(key, preset="event_signup", quotas=quotas, open_size=size))
    for n in range(2 * size):
        made = granted(await hf.book(key, f"{key} {n}", quota="main"))
        if made.state == "held" and n % 2:
            granted(await hf.confirm(made.id))


async def kill_letters(hf: Fairhold, url: str) -> None:
    await ask(url, "UPDATE fairhold_outbox SET state = 'dead', error = 'nobody there'")


async def test_what_staff_see_costs_the_same_however_much_there_is(hf: Fairhold, database_url: str) -> None:
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


async def fates(hf: Fairhold, key: str) -> Any:
    found = granted(await hf.newest_messages(key))
    return await hf.fates([it.id for it in found])


async def test_the_count_of_what_needs_staff_is_what_is_listed_and_costs_the_same(
    hf: Fairhold, database_url: str
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


@pytest.mark.parametrize(
    ("name", "index"),
    [
        ("needs_telling", "offers_to_tell"),
        ("needs_places", "outbox_places"),
        ("needs_letters", "outbox_not_sent"),
        ("needs_reach", "booking_reach"),
        ("not_reached", "booking_reach"),
    ],
)
async def test_what_needs_staff_is_found_without_a_look_at_the_rest(
    hf: Fairhold, database_url: str, name: str, index: str
) -> None:
    """PostgreSQL has counted its rows, and may not look through a small table instead."""
    dialect = dialect_of(database_url)
    await crowd(hf, "gig", 20)
    query = re.sub(r"[?$]\d", "1", load_queries(dialect)[name]).replace("org = 1", "org = '1'")
    async with asking(database_url) as run:
        if dialect == "postgres":
            await run("ANALYZE")
            await run("SET enable_seqscan = off")
        plan = await run(f"{'EXPLAIN' if dialect == 'postgres' else 'EXPLAIN QUERY PLAN'} {query}")
    assert index in str(plan), plan


async def test_seats_by_state_are_what_the_bookings_add_up_to(hf: Fairhold, database_url: str) -> None:
    await crowd(hf, "gig", 10)
    rows = await ask(
        database_url,
        "SELECT quota, state, sum(quantity) FROM fairhold_bookings WHERE state IN ('held', "
        "'confirmed') GROUP BY 1, 2",
    )
    found: dict[str, dict[str, int]] = {"other": {}}
    for quota, state, seats in rows:
        found.setdefault(quota, {})[state] = int(seats)
    assert granted(await hf.seats("gig")) == found


async def test_those_who_end_first_come_first(hf: Fairhold) -> None:
    granted(await hf.create_pool("gig", quotas={"main": 9}))
    made = [granted(await hf.book("gig", f"p{n}")) for n in range(4)]
    granted(await hf.extend(made[0].id, 600, by="staff"))
    granted(await hf.confirm(made[2].id))
    found = granted(await hf.next_to_end("gig", "held"))
    assert [it.id for it in found] == [made[1].id, made[3].id, made[0].id]
    assert granted(await hf.next_to_end("gig", "held", limit=1)) == found[:1]


async def test_pools_come_with_the_latest_news_first_and_their_names_by_one_question(
    hf: Fairhold, database_url: str
) -> None:
    async with opened(database_url, org="theirs") as others:
        granted(await others.create_pool("theirs", quotas={"main": 1}))
    for n in range(5):
        await hf.advance(seconds=1)
        units = {"units": ["1 pm", "2 pm"]} if n % 2 else {"size": 3}
        quotas = [{"key": "main", **units}]
        rules: dict[str, Any] = {"preset": "last_minute", "policy": {"tries_max": 1}}
        granted(await hf.create_pool(f"p{n}", title=f"Pool {n}", quotas=quotas, **rules))
    # Two at one moment: these have an order, too.
    granted(await hf.create_pool("p5", quotas={"main": 1}))
    await hf.advance(seconds=1)
    # The one who is asked declines what another gives back, so that it is handed back to staff.
    ann, _, cyd, _ = [granted(await hf.book("p1", who)) for who in ("ann", "bea", "cyd", "dan")]
    granted(await hf.cancel(ann.id))
    granted(await hf.decline(cyd.id))
    tied = sorted([granted(await hf.pool(key)).id for key in ("p4", "p5")])
    found = granted(await hf.latest_pools())
    assert [it.key for it in (found[0], *found[3:])] == ["p1", "p3", "p2", "p0"]
    assert [it.id for it in found[1:3]] == tied
    assert (found[0].quotas[0].used, found[0].quotas[0].room) == (1, 0)
    assert found == [granted(await hf.pool(it.id)) for it in found]
    assert sorted(found, key=lambda it: it.id) == granted(await hf.pools())
    pages = [granted(await hf.latest_pools(skip=skip, limit=4)) for skip in (0, 4, 8)]
    assert [*pages[0], *pages[1]] == found
    assert not pages[2]
    with counted(hf) as asked:
        names = granted(await hf.pool_names())
    assert asked == ["latest_pools"]
    shown = [(it.id, it.key, it.title, it.time_zone) for it in found]
    assert [(it.id, it.key, it.title, it.time_zone) for it in names] == shown
    assert granted(await hf.pool_names(limit=2)) == names[:2]
    newest = granted(await hf.history("p1", limit=1)).entries[0]
    assert names[0].updated_at == newest.at
    for wrong in ({"skip": -1}, {"limit": 0}, {"skip": "1"}):
        assert isinstance(await hf.latest_pools(**wrong), Refusal)  # type: ignore[arg-type]
    assert isinstance(await hf.pool_names(limit=0), Refusal)
