"""An empty database is set up, an old one brought up to date, and what is not Fairhold's left alone."""

from __future__ import annotations

import asyncio
import sqlite3
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from importlib.resources import files
from pathlib import Path

import asyncpg
import pytest

from fairhold import Fairhold, granted
from fairhold.config import make_store
from fairhold.errors import SchemaUnknown, Unavailable
from fairhold.store.postgres import store as postgres_store
from fairhold.store.postgres.store import MIGRATION_LOCK, QUERIES
from fairhold.store.queries import load_migrations
from fairhold.store.sqlite import store as sqlite_store
from tests.database import START, ask, dialect_of, opened, sqlite_file
from tests.patience import PATIENCE_S, until
from tests.store.upgrades.loading import every_row, load

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
    names = [name for _, name, _ in load_migrations(dialect_of(empty_database_url))]
    assert await migrate(empty_database_url) == names
    assert await migrate(empty_database_url) == []
    applied = await ask(
        empty_database_url, "SELECT version, applied_at FROM fairhold_schema ORDER BY version"
    )
    assert applied == [(number, START) for number, _, _ in load_migrations(dialect_of(empty_database_url))]


async def test_opening_sets_up_an_empty_database_and_keeps_a_used_one(empty_database_url: str) -> None:
    async with opened(empty_database_url) as hf:
        granted(await hf.create_pool("chair", preset="checkout", quotas={"main": 1}))
    async with opened(empty_database_url) as hf:
        assert granted(await hf.pool("chair")).key == "chair"


async def test_opening_without_leave_to_migrate_names_what_is_missing(empty_database_url: str) -> None:
    with pytest.raises(SchemaUnknown, match="0001_initial"):
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
    assert await ask(empty_database_url, "SELECT count(*) FROM pools") == [(4,)]
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
    await load(postgres_url, 1)
    waits = "SELECT true FROM pg_locks WHERE locktype = 'relation' AND NOT granted"
    async with reading(postgres_url):
        migrating = asyncio.create_task(migrate(postgres_url))
        await until(lambda: ask(postgres_url, waits))
        await asyncio.wait_for(ask(postgres_url, "SELECT count(*) FROM bookings"), PATIENCE_S)
        assert not migrating.done()
    assert len(await migrating) == len(load_migrations("postgres")) - 1


async def test_a_migration_gives_up_before_a_backup_that_does_not_end_and_has_changed_nothing(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_store, "MIGRATION_S", 0.0)
    await load(postgres_url, 1)
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
            await connection.execute("SELECT count(*) FROM bookings")
            yield
    finally:
        await connection.close()


async def test_somebody_elses_database_is_refused_and_left_as_it_was(empty_database_url: str) -> None:
    await ask(empty_database_url, "CREATE TABLE customers (name TEXT)")
    with pytest.raises(SchemaUnknown, match="not Fairhold's"):
        async with opened(empty_database_url):
            pass
    with pytest.raises(SchemaUnknown, match="not Fairhold's"):
        async with opened(empty_database_url, migrate=False):
            pass
    listed = "SELECT name FROM sqlite_schema" if dialect_of(empty_database_url) == "sqlite" else PUBLIC
    assert await ask(empty_database_url, listed) == [("customers",)]
    if dialect_of(empty_database_url) == "sqlite":
        assert await ask(empty_database_url, "PRAGMA journal_mode") == [("delete",)]


async def test_a_newer_schema_is_refused(empty_database_url: str) -> None:
    await migrate(empty_database_url)
    await ask(empty_database_url, "INSERT INTO fairhold_schema (version, applied_at) VALUES (99, 0)")
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
    numbers = [number for number, _, _ in load_migrations("sqlite")]
    assert numbers == list(range(1, len(numbers) + 1))


# The sum of the migrations is the schema.

PUBLIC = "SELECT tablename::text FROM pg_tables WHERE schemaname = 'public'"
COLUMNS = """
    SELECT table_name::text, column_name::text, ordinal_position, data_type::text, is_nullable::text,
        column_default::text
    FROM information_schema.columns WHERE table_schema = 'public' ORDER BY 1, 3
"""
CONSTRAINTS = """
    SELECT conrelid::regclass::text, conname::text, pg_get_constraintdef(oid)
    FROM pg_constraint WHERE connamespace = 'public'::regnamespace ORDER BY 1, 2
"""
INDEXES = (
    "SELECT tablename::text, indexname::text, indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 2"
)


async def described(url: str) -> list[object]:
    """Everything that a database says about its schema, without comments and line breaks."""
    if dialect_of(url) == "sqlite":
        found = await ask(url, "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name")
        return [(*row[:3], plain(row[3] or "")) for row in found]
    return [await ask(url, query) for query in (COLUMNS, CONSTRAINTS, INDEXES)]


def plain(statement: str) -> str:
    return " ".join(" ".join(line.partition("--")[0] for line in statement.splitlines()).split())


async def test_the_sum_of_the_migrations_is_the_schema(empty_database_url: str) -> None:
    """Who reads schema*.sql reads what the databases have."""
    folder = files("fairhold.store") / dialect_of(empty_database_url)
    pieces = sorted(file.name for file in folder.iterdir() if file.name.startswith("schema"))
    text = "".join((folder / name).read_text(encoding="utf-8") for name in pieces)
    if dialect_of(empty_database_url) == "sqlite":
        with closing(sqlite3.connect(sqlite_file(empty_database_url))) as connection:
            connection.executescript(text)
    else:
        connection = await asyncpg.connect(empty_database_url)
        await connection.execute(text)
        await connection.close()
    written = await described(empty_database_url)
    assert len(written) > 2
    await clear(empty_database_url)
    await migrate(empty_database_url)
    assert await described(empty_database_url) == written


async def clear(url: str) -> None:
    if dialect_of(url) == "sqlite":
        Path(sqlite_file(url)).unlink()
        return
    for (table,) in await ask(url, PUBLIC):
        await ask(url, f"DROP TABLE {table}")


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


async def test_a_disk_that_fills_up_during_a_migration_leaves_what_was_there(sqlite_url: str) -> None:
    await load(sqlite_url, 1)
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
