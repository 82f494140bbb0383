"""An empty database is set up, an old one brought up to date, and what is not Fairhold's left alone."""

from __future__ import annotations

import asyncio
import re
import sqlite3
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import asyncpg
import pytest

from fairhold import Fairhold, granted
from fairhold.config import make_store
from fairhold.errors import SchemaUnknown, Unavailable
from fairhold.store.migrations import load_migrations
from fairhold.store.postgres import store as postgres_store
from fairhold.store.postgres.store import MIGRATION_LOCK, QUERIES
from fairhold.store.sqlite import store as sqlite_store
from tests.cli.conftest import Cli
from tests.database import START, ask, dialect_of, every_row, opened, sqlite_file
from tests.patience import PATIENCE_S, until
from tests.store.made_migrations import MADE, made_migrations
from tests.verified import assert_verified

OPEN_AND_TELL = """
import asyncio, sys
from fairhold import Fairhold

async def main():
    async with Fairhold.open(sys.argv[1], ticker=False) as hf:
        await hf.create_pool(sys.argv[2], preset="checkout", quotas={"main": 1})
        print(hf.secret)

asyncio.run(main())
"""


async def migrate(url: str) -> list[str]:
    store = make_store(url)
    await store.open()
    try:
        return await store.migrate(START)
    finally:
        await store.close()


async def test_an_empty_database_is_set_up_once(empty_database_url: str) -> None:
    names = [step.name for step in load_migrations(dialect_of(empty_database_url))]
    assert await migrate(empty_database_url) == names
    assert await migrate(empty_database_url) == []
    applied = await ask(
        empty_database_url, "SELECT version, applied_at FROM fairhold_schema ORDER BY version"
    )
    assert applied == [(step.number, START) for step in load_migrations(dialect_of(empty_database_url))]


async def test_opening_sets_up_an_empty_database_and_keeps_a_used_one(empty_database_url: str) -> None:
    async with opened(empty_database_url) as hf:
        granted(await hf.create_pool("chair", preset="checkout", quotas={"main": 1}))
    async with opened(empty_database_url) as hf:
        assert granted(await hf.pool("chair")).key == "chair"


async def test_opening_without_leave_to_migrate_names_what_is_missing(empty_database_url: str) -> None:
    with pytest.raises(SchemaUnknown, match="0001_first"):
        async with Fairhold.open(empty_database_url, migrate=False):
            pass
    await migrate(empty_database_url)
    async with Fairhold.open(empty_database_url, migrate=False, ticker=False) as hf:
        assert await hf.pools() == []


async def test_processes_that_start_at_once_on_an_empty_database_all_find_it_ready(
    empty_database_url: str,
) -> None:
    """One migrates, the others wait; and all of them come to share one secret."""
    command = [sys.executable, "-c", OPEN_AND_TELL, empty_database_url]
    started = [
        await asyncio.create_subprocess_exec(*command, f"pool-{n}", stdout=-1, stderr=-1) for n in range(4)
    ]
    told = await asyncio.gather(*(process.communicate() for process in started))
    assert [error.decode() for _, error in told] == [""] * 4
    secrets = {said.decode().strip() for said, _ in told}
    assert len(secrets) == 1
    assert secrets != {""}
    assert await ask(empty_database_url, "SELECT count(*) FROM fairhold_pools") == [(4,)]
    known = len(load_migrations(dialect_of(empty_database_url)))
    assert await ask(empty_database_url, "SELECT count(*) FROM fairhold_schema") == [(known,)]


async def test_a_node_that_loses_the_database_while_it_waits_to_migrate_may_try_again(
    postgres_url: str,
) -> None:
    """The service waits for a database that cannot be reached; from any other error it would end."""
    connection = await asyncpg.connect(postgres_url)
    async with connection.transaction():
        await connection.execute(QUERIES["migration_lock"], MIGRATION_LOCK)
        waiting = asyncio.create_task(migrate(postgres_url))
        cut = "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
        await until(lambda: ask(postgres_url, cut))
        with pytest.raises(Unavailable):
            await waiting
    await connection.close()
    assert await migrate(postgres_url)


async def test_while_a_backup_reads_a_migration_lets_everybody_else_through(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who comes after one that waits for a table waits behind it, though all they want is to look."""
    monkeypatch.setattr(postgres_store, "MIGRATION_S", 10 * PATIENCE_S)
    await migrate(postgres_url)
    made_migrations(monkeypatch)
    waits = "SELECT true FROM pg_locks WHERE locktype = 'relation' AND NOT granted"
    async with reading(postgres_url):
        migrating = asyncio.create_task(migrate(postgres_url))
        await until(lambda: ask(postgres_url, waits))
        await asyncio.wait_for(ask(postgres_url, "SELECT count(*) FROM fairhold_bookings"), PATIENCE_S)
        assert not migrating.done()
    assert await migrating == list(MADE)


async def test_a_migration_gives_up_before_a_backup_that_does_not_end_and_has_changed_nothing(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_store, "MIGRATION_S", 0.0)
    await migrate(postgres_url)
    made_migrations(monkeypatch)
    before = await every_row(postgres_url)
    async with reading(postgres_url):
        with pytest.raises(Unavailable, match="nothing was changed"):
            await migrate(postgres_url)
        assert await every_row(postgres_url) == before
    assert await migrate(postgres_url)


@asynccontextmanager
async def reading(url: str) -> AsyncIterator[None]:
    """Meanwhile somebody reads the bookings in a transaction, as a backup does."""
    connection = await asyncpg.connect(url)
    try:
        async with connection.transaction(readonly=True):
            await connection.execute("SELECT count(*) FROM fairhold_bookings")
            yield
    finally:
        await connection.close()


LISTED = {
    "sqlite": "SELECT name FROM sqlite_schema WHERE type = 'table'",
    "postgres": "SELECT tablename::text FROM pg_tables WHERE schemaname = 'public'",
}


async def test_opening_leaves_a_database_with_other_tables_as_it_was(empty_database_url: str) -> None:
    url, dialect = empty_database_url, dialect_of(empty_database_url)
    await ask(url, "CREATE TABLE customers (name TEXT)")
    for may_migrate in (True, False):
        with pytest.raises(SchemaUnknown, match=r"other tables \(customers\).*fairhold migrate"):
            async with opened(url, migrate=may_migrate):
                pass
    assert await ask(url, LISTED[dialect]) == [("customers",)]
    if dialect == "sqlite":
        assert await ask(url, "PRAGMA journal_mode") == [("delete",)]


async def test_asked_to_migrate_fairhold_stands_beside_other_tables(empty_database_url: str) -> None:
    """A program's own tables may have the very names that ours have behind their prefix."""
    url, names = empty_database_url, ("customers", "sessions", "log", "pools", "bookings", "units")
    for name in names:
        await ask(url, f"CREATE TABLE {name} (remark TEXT)")
        await ask(url, f"INSERT INTO {name} VALUES ('mine')")
    assert "0001_first.sql" in await asyncio.to_thread(Cli(url), "migrate")
    async with opened(url) as hf:
        granted(await hf.create_pool("chair", preset="checkout", quotas={"main": 1}))
        granted(await hf.confirm(granted(await hf.book("chair", "ann")).id))
    for name in names:
        assert await ask(url, f"SELECT * FROM {name}") == [("mine",)]
    ours = {table for (table,) in await ask(url, LISTED[dialect_of(url)])} - {*names, "sqlite_sequence"}
    assert [table for table in ours if not table.startswith("fairhold_")] == []
    await assert_verified(url)


async def test_everything_that_the_schema_makes_has_the_prefix(empty_database_url: str) -> None:
    for step in load_migrations(dialect_of(empty_database_url)):
        made = re.findall(r"(?:TABLE|INDEX|TRIGGER|FUNCTION|CONSTRAINT) (\w+)", step.text)
        assert len(made) > 50
        assert [name for name in made if not name.startswith("fairhold_")] == []


async def test_a_database_of_another_edition_of_the_first_schema_is_refused(
    empty_database_url: str,
) -> None:
    """Until the first release it is edited in place, so its number alone says too little."""
    await migrate(empty_database_url)
    await ask(empty_database_url, "UPDATE fairhold_schema SET digest = 'of yesterday'")
    for may_migrate in (True, False):
        with pytest.raises(SchemaUnknown, match=r"another edition of 0001_first\.sql"):
            async with opened(empty_database_url, migrate=may_migrate):
                pass
    said = await asyncio.to_thread(lambda: Cli(empty_database_url)("verify", code=3))
    assert "begin with a new database" in said


async def test_a_newer_schema_is_refused(empty_database_url: str) -> None:
    await migrate(empty_database_url)
    await ask(
        empty_database_url, "INSERT INTO fairhold_schema (version, digest, applied_at) VALUES (99, '', 0)"
    )
    newest = load_migrations(dialect_of(empty_database_url))[-1][0]
    for may_migrate in (True, False):
        with pytest.raises(SchemaUnknown, match=f"schema 99; this Fairhold knows up to {newest}$"):
            async with opened(empty_database_url, migrate=may_migrate):
                pass


def test_a_file_that_is_no_database_is_refused_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "letter.txt"
    path.write_text("Dear reader, this is not a database, though it is long enough to be looked at. " * 20)
    with pytest.raises(Unavailable, match=r"cannot open .*letter\.txt"):
        asyncio.run(migrate(f"sqlite:///{path}"))
    assert path.read_text().startswith("Dear reader")


def test_both_dialects_have_the_same_migrations() -> None:
    assert [one[:2] for one in load_migrations("sqlite")] == [one[:2] for one in load_migrations("postgres")]
    numbers = [step.number for step in load_migrations("sqlite")]
    assert numbers == list(range(1, len(numbers) + 1))


async def test_whoever_waits_for_a_migration_waits_longer_than_for_a_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may write whole tables anew."""
    url = f"sqlite:///{tmp_path}/shared.db"
    monkeypatch.setattr(sqlite_store, "BUSY_S", 0.05)
    monkeypatch.setattr("fairhold.store.sqlite.transaction.BUSY_S", 0.05)
    with closing(sqlite3.connect(sqlite_file(url), isolation_level=None)) as other:
        other.execute("PRAGMA journal_mode = WAL")
        other.execute("BEGIN IMMEDIATE")
        migrating = asyncio.create_task(migrate(url))
        await asyncio.sleep(0.3)
        assert not migrating.done()
        other.execute("ROLLBACK")
        assert len(await migrating) == len(load_migrations("sqlite"))


async def test_a_disk_that_fills_up_during_a_migration_leaves_what_was_there(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await migrate(sqlite_url)
    made_migrations(monkeypatch)
    before = await every_row(sqlite_url)
    store = make_store(sqlite_url)
    await store.open()
    try:
        assert isinstance(store, sqlite_store.SqliteStore)
        assert store._writer is not None
        (pages,) = store._writer.execute("PRAGMA page_count").fetchone()
        store._writer.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(Unavailable, match="full"):
            await store.migrate(START)
    finally:
        await store.close()
    assert await every_row(sqlite_url) == before
    assert await migrate(sqlite_url) != []
