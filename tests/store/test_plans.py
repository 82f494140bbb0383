"""Which index PostgreSQL goes along, on a table that grows and that it has not counted.

Its plans are made for the table that it believes in, and when the first big event opens, it believes in a
small one: then two indexes may seem equally good, of which one is the whole event.
"""

from __future__ import annotations

import asyncio
import re
from typing import Final

import asyncpg
import pytest

from fairhold import Fairhold, granted
from fairhold.store.postgres import connections
from fairhold.store.postgres.bulk import QUERIES
from fairhold.store.postgres.connections import PLANS
from fairhold.store.postgres.store import PostgresStore, PostgresTransaction
from tests.database import SECRET, ask

SIZES: Final = (0, 40, 160, 640, 1_000, 1_500, 2_000, 3_000)
# What each looks for, and along which indexes: who has a place or a hold, and who stands before.
ROADS: Final = {
    "bookings_of_parties": ("'{1}', '{ann}'", {"fairhold_one_place_in_line", "fairhold_booking_holds"}),
    "bookings_of_person": (
        "'default', 'ann'",
        {
            "fairhold_one_place_in_line",
            "fairhold_booking_holds",
            "fairhold_booking_past",
            "fairhold_pools_pkey",
        },
    ),
    "bookings_by_number": ("'{1}', '{1}'", {"fairhold_bookings_pkey"}),
    "bookings_due": ("1, 1, 1", {"fairhold_booking_due"}),
    "due_after": ("1, 1", {"fairhold_booking_due"}),
    "bookings_offered": ("1, 1", {"fairhold_booking_due"}),
    "bookings_behind": ("1, 1, 1", {"fairhold_line_order"}),
    "offered_behind": ("1, 1, 1", {"fairhold_offered_order"}),
    "bookings_taking": ("1, 'main', 1", {"fairhold_booking_taken"}),
    "line_end": ("1, 1", {"fairhold_line_order"}),
    "position_of": ("1, 1", {"fairhold_bookings_pkey", "fairhold_line_order", "fairhold_line_blocks_pkey"}),
    "waiting_before": ("'{1}', '{1}'", {"fairhold_line_order", "fairhold_line_blocks_pkey"}),
    "line_groups": ("1, 1", {"fairhold_line_groups"}),
    "group_members": ("1, 'main', 1, 1, '', 1, 1", {"fairhold_line_groups"}),
    "last_taken": ("1, 'main', 1", {"fairhold_booking_taken"}),
}
# So it was before an index that begins with the quota.
TEMPTING: Final = """
    DROP INDEX fairhold_booking_taken;
    CREATE INDEX fairhold_booking_taken ON fairhold_bookings (pool_id, quota, arrival, number)
        WHERE state IN ('offered', 'held', 'confirmed')"""


async def taken_while_a_crowd_comes(url: str, *altered: str) -> dict[str, set[str]]:
    """The indexes of each query's plans, at all sizes."""
    found: dict[str, set[str]] = {name: set() for name in ROADS}
    async with Fairhold.open(url, secret=SECRET, ticker=False) as hf:
        for statement in ("ALTER TABLE fairhold_bookings SET (autovacuum_enabled = false)", *altered):
            await ask(url, statement)
        granted(await hf.create_pool("gig", preset="event_signup", quotas={"main": 1_500}))
        came = 0
        for size in SIZES:
            await asyncio.gather(*(hf.book("gig", f"party {n}", quota="main") for n in range(came, size)))
            came = size
            for name, road in (await taken(url)).items():
                found[name] |= road
    return found


async def taken(url: str) -> dict[str, set[str]]:
    connection = await asyncpg.connect(url, server_settings=PLANS)
    try:
        found = {}
        for name, (values, _) in ROADS.items():
            await connection.execute(f"PREPARE it AS {QUERIES[name]}")
            plan = "\n".join(row[0] for row in await connection.fetch(f"EXPLAIN EXECUTE it({values})"))
            found[name] = set(re.findall(r"using (\w+) on", plan))
            assert "Seq Scan" not in plan
            await connection.execute("DEALLOCATE it")
        return found
    finally:
        await connection.close()


async def test_a_growing_event_is_not_looked_through(postgres_url: str) -> None:
    assert await taken_while_a_crowd_comes(postgres_url) == {name: road for name, (_, road) in ROADS.items()}


async def planned_for_each_who_came_alone(url: str) -> int:
    """How often a plan was made for the values of one batch, over some who came one after the other."""
    async with Fairhold.open(url, secret=SECRET, ticker=False) as hf:
        granted(await hf.create_pool("gig", preset="event_signup", quotas={"main": 5}))
        for n in range(50):
            granted(await hf.book("gig", f"party {n}", quota="main", idempotency_key=f"key {n}"))
        assert isinstance(hf.store, PostgresStore)
        tx = await hf.store.begin()
        try:
            assert isinstance(tx, PostgresTransaction)
            return int(await tx._connection.fetchval("SELECT sum(custom_plans) FROM pg_prepared_statements"))
        finally:
            await tx.rollback()


async def test_nobody_who_comes_alone_waits_for_a_plan(postgres_url: str) -> None:
    assert await planned_for_each_who_came_alone(postgres_url) == 0


async def test_control_left_to_itself_it_plans_for_everybody(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(connections._WRITER, "plan_cache_mode", "auto")
    assert await planned_for_each_who_came_alone(postgres_url) >= 10


async def test_control_an_index_that_tempts_is_gone_along(postgres_url: str) -> None:
    found = await taken_while_a_crowd_comes(postgres_url, *TEMPTING.split(";"))
    assert "fairhold_booking_taken" in found["bookings_of_parties"]
