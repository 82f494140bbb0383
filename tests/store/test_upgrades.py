"""A database of an earlier version is brought up to date: nothing is lost, and people go on with it.

There is one version so far, so the later ones are made for the tests.
"""

from __future__ import annotations

import asyncio
import signal
import sys

import pytest

from fairhold import TestClock, granted
from fairhold.config import make_store
from fairhold.store.migrations import load_migrations
from tests.cli.conftest import Cli
from tests.database import START, Tables, ask, dialect_of, every_row, opened
from tests.engine.lively import Lively, make_pools
from tests.store.made_migrations import MADE, made_migrations
from tests.verified import assert_verified

DIE_IN_THE_MIDDLE = """
import asyncio, os, signal, sys
from fairhold.config import make_store
from fairhold.store import migrations
from fairhold.store.postgres import store as postgres
from fairhold.store.sqlite import store as sqlite
from tests.store.made_migrations import made_texts

class Fatal(dict):
    left = 2

    def __getitem__(self, name):
        Fatal.left -= name == "insert_migration"
        if not Fatal.left:
            os.kill(os.getpid(), signal.SIGKILL)
        return dict.__getitem__(self, name)

migrations.migration_texts = made_texts
sqlite.QUERIES = Fatal(sqlite.QUERIES)
found = postgres.queries_in(None)
postgres.queries_in = lambda schema: Fatal(found)

async def main():
    store = make_store(sys.argv[1])
    await store.open()
    await store.migrate(0)

asyncio.run(main())
"""


async def fill(url: str) -> None:
    """Let people of every kind book for a while, in pools of every preset."""
    async with opened(url) as hf:
        await Lively(hf, await make_pools(hf), 5).run(60)
        granted(await hf.create_pool("choir", preset="class_waitlist", quotas={"main": 1}))
        ann = granted(await hf.confirm(granted(await hf.book("choir", "ann")).id))
        granted(await hf.book("choir", "bea"))
        granted(await hf.cancel(ann.id))


async def test_nothing_is_lost_and_people_go_on(
    empty_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = empty_database_url
    await fill(url)
    async with opened(url) as hf:
        now = hf.clock.now()
        zoe = granted(await hf.book("choir", "zoe", idempotency_key="zoe"))
    before = await every_row(url)
    states = {row["state"] for row in before["fairhold_bookings"]}
    assert states >= {"waiting", "offered", "held", "confirmed"}
    made_migrations(monkeypatch)
    assert await asyncio.to_thread(Cli(url).json, "migrate") == {"applied": list(MADE)}
    after = await every_row(url)
    assert lost(before, after) == []
    assert len(after["fairhold_remarks"]) == len(after["fairhold_bookings"])
    async with opened(url, clock=TestClock(now)) as hf:
        assert granted(await hf.book("choir", "zoe", idempotency_key="zoe")).id == zoe.id
        assert granted(await hf.book("choir", "yan")).position == len(await hf.line("choir"))
        await hf.advance(seconds=2 * 86_400)
    await assert_verified(url)


async def test_a_row_that_a_migration_forgets_would_be_noticed(sqlite_url: str) -> None:
    await fill(sqlite_url)
    before, after = await every_row(sqlite_url), await every_row(sqlite_url)
    assert lost(before, after) == []
    after["fairhold_offers"].pop()
    after["fairhold_bookings"][0]["quantity"] += 1
    assert {line.split(":")[0] for line in lost(before, after)} == {"fairhold_bookings", "fairhold_offers"}


async def test_who_is_killed_while_migrating_leaves_what_was_there(
    empty_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = empty_database_url
    await fill(url)
    before = await every_row(url)
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", DIE_IN_THE_MIDDLE, url)
    assert await process.wait() == -signal.SIGKILL
    assert await every_row(url) == before
    # Whoever comes next finds nothing in the way, and both of two who come at once are done.
    made_migrations(monkeypatch)
    stores = [make_store(url), make_store(url)]
    for store in stores:
        await store.open()
    applied = await asyncio.gather(*(store.migrate(START) for store in stores))
    for store in stores:
        await store.close()
    assert sorted(name for names in applied for name in names) == list(MADE)
    assert lost(before, await every_row(url)) == []
    await assert_verified(url)


def test_a_database_of_a_later_version_is_refused_in_a_sentence(sqlite_url: str) -> None:
    cli = Cli(sqlite_url)
    cli("migrate")
    asyncio.run(
        ask(sqlite_url, "INSERT INTO fairhold_schema (version, digest, applied_at) VALUES (99, '', 0)")
    )
    newest = load_migrations(dialect_of(sqlite_url))[-1].number
    for command in ("migrate", "verify"):
        assert f"the database has schema 99; this Fairhold knows up to {newest}" in cli(command, code=3)


def lost(before: Tables, after: Tables) -> list[str]:
    """Return what is not there any more as it was. More columns may have come."""
    return [
        f"{table}: {row}"
        for table, rows in before.items()
        for row in rows
        if not any(row.items() <= other.items() for other in after.get(table, []))
    ]
