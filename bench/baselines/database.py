"""The least that lets one baseline run on both databases: transactions of plain statements.

Statements are written with PostgreSQL's `$1`, which SQLite knows as `?1`. Durable commits on both.
"""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

import asyncpg

CONNECTIONS = 16


class Transaction(Protocol):
    """Runs statements; what they did is there for good, or not at all, when the transaction ends."""

    async def rows(self, statement: str, *values: object) -> Sequence[Sequence[Any]]: ...

    async def many(self, statement: str, values: Sequence[Sequence[object]]) -> None: ...


class Database(Protocol):
    name: str
    identity: str
    """How a table's own growing number is declared."""
    for_update: str
    """What makes a SELECT lock its rows; nothing on SQLite, where a writing transaction locks everything."""

    async def script(self, statements: str) -> None: ...

    async def read(self, statement: str, *values: object) -> Sequence[Sequence[Any]]: ...

    def transaction(self) -> AbstractAsyncContextManager[Transaction]: ...


class PostgresTransaction:
    def __init__(self, connection: Any) -> None:
        self._connection = connection

    async def rows(self, statement: str, *values: object) -> Sequence[Sequence[Any]]:
        found: Sequence[Sequence[Any]] = await self._connection.fetch(statement, *values)
        return found

    async def many(self, statement: str, values: Sequence[Sequence[object]]) -> None:
        await self._connection.executemany(statement, values)


class Postgres:
    name = "PostgreSQL"
    identity = "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY"
    for_update = "FOR UPDATE"

    def __init__(self, pool: Any) -> None:
        self._pool = pool

    async def script(self, statements: str) -> None:
        await self._pool.execute(statements)

    async def read(self, statement: str, *values: object) -> Sequence[Sequence[Any]]:
        found: Sequence[Sequence[Any]] = await self._pool.fetch(statement, *values)
        return found

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[PostgresTransaction]:
        async with self._pool.acquire() as connection, connection.transaction():
            yield PostgresTransaction(connection)


class Sqlite:
    """One connection, used where it is called: what is measured is the design, not threads."""

    name = "SQLite"
    identity = "INTEGER PRIMARY KEY"
    for_update = ""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._turn = asyncio.Lock()

    async def script(self, statements: str) -> None:
        self._connection.executescript(statements)

    async def read(self, statement: str, *values: object) -> Sequence[Sequence[Any]]:
        return self._connection.execute(statement.replace("$", "?"), values).fetchall()

    async def rows(self, statement: str, *values: object) -> Sequence[Sequence[Any]]:
        return await self.read(statement, *values)

    async def many(self, statement: str, values: Sequence[Sequence[object]]) -> None:
        self._connection.executemany(statement.replace("$", "?"), values)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator["Sqlite"]:
        async with self._turn:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")
        await asyncio.sleep(0)  # else one caller would go on for ever and the others never begin


async def keep_session(connection: Any) -> None:
    """Spare the reset query that a pool sends when a connection is given back: these sessions set nothing."""


@asynccontextmanager
async def open_postgres(url: str, schema: str) -> AsyncIterator[Postgres]:
    """An empty schema of that name on the server; an earlier one is dropped."""
    connection = await asyncpg.connect(url)
    await connection.execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE; CREATE SCHEMA {schema}")
    await connection.close()
    async with asyncpg.create_pool(
        url,
        min_size=CONNECTIONS,
        max_size=CONNECTIONS,
        reset=keep_session,
        server_settings={"search_path": schema},
    ) as pool:
        yield Postgres(pool)


@asynccontextmanager
async def open_sqlite() -> AsyncIterator[Sqlite]:
    """A new file, gone afterwards."""
    with TemporaryDirectory(prefix="fairhold-bench-") as directory:
        connection = sqlite3.connect(Path(directory, "bench.db"), isolation_level=None)
        try:
            connection.executescript("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL")
            yield Sqlite(connection)
        finally:
            connection.close()
