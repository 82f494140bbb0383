"""Reads and writing transactions of SQLite, on connections that the store opens.

Statements run on the event loop's own thread, for they take microseconds. COMMIT waits for the disk, so
another thread does it.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from typing import Any, Final, TypeVar

from fairhold.errors import Busy, Unavailable
from fairhold.store.base import BatchStatement, Row
from fairhold.store.queries import load_queries
from fairhold.store.rows import text
from fairhold.store.sqlite.committing import CommitThread

QUERIES: Final = load_queries("sqlite")
BUSY_S: Final = 10.0
_PAGE: Final = 1_000

T = TypeVar("T")


def plain(value: Any) -> Any:
    return text(value) if isinstance(value, list | tuple) else value


def fetch(connection: sqlite3.Connection, name: str, values: Sequence[Any]) -> list[Row]:
    try:
        return connection.execute(QUERIES[name], [plain(value) for value in values]).fetchall()
    except sqlite3.OperationalError as error:
        raise Unavailable(f"SQLite: {error}") from error


def fetch_each(connection: sqlite3.Connection, name: str, keys: Sequence[Row]) -> list[Row]:
    query, found = QUERIES[name], []
    try:
        if "json_each(?2)" in query:
            # Those that begin alike are looked up by one statement.
            for first, seconds in _by_first(keys).items():
                found += connection.execute(query, (first, text(seconds))).fetchall()
            return found
        for key in keys:
            found += connection.execute(query, key).fetchall()
    except sqlite3.OperationalError as error:
        raise Unavailable(f"SQLite: {error}") from error
    return found


async def patiently(ask: Callable[[], Awaitable[T]], patience_s: float) -> T:
    """Ask again as long as another process is writing. To wait inside SQLite would stop the event loop."""
    waited, pause = 0.0, 0.0005
    while True:
        try:
            return await ask()
        except sqlite3.OperationalError as error:
            if "locked" not in str(error):
                raise Unavailable(f"SQLite: {error}") from error
            if waited >= patience_s:
                raise Busy("SQLite: another process has held the database for too long") from error
        await asyncio.sleep(pause)
        waited, pause = waited + pause, min(pause * 2, 0.02)


class SqliteReader:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    async def rows(self, name: str, *values: Any) -> Sequence[Row]:
        return fetch(self._connection, name, values)

    async def each(self, name: str, keys: Sequence[Row]) -> Sequence[Row]:
        return fetch_each(self._connection, name, keys)


class SqliteSnapshot(SqliteReader):
    def __init__(self, connection: sqlite3.Connection) -> None:
        super().__init__(connection)
        self.streamed = False

    async def stream(self, name: str, *values: Any) -> AsyncIterator[Sequence[Row]]:
        self.streamed = True
        try:
            cursor = self._connection.execute(QUERIES[name], [plain(value) for value in values])
            while page := cursor.fetchmany(_PAGE):
                yield page
                # A long look must not stop whoever else runs on this event loop.
                await asyncio.sleep(0)
        except sqlite3.OperationalError as error:
            raise Unavailable(f"SQLite: {error}") from error


class SqliteTransaction:
    """One writing transaction. At its end it calls `free`."""

    def __init__(
        self, connection: sqlite3.Connection, commits: CommitThread, free: Callable[[], None]
    ) -> None:
        self._connection = connection
        self._commits = commits
        self._free = free
        self._open = True

    async def begin(self) -> None:
        """Begin, as soon as no other process writes."""
        await patiently(self._begin, BUSY_S)

    async def _begin(self) -> None:
        self._connection.execute("BEGIN IMMEDIATE")

    async def rows(self, name: str, *values: Any) -> Sequence[Row]:
        self._assert_open()
        return fetch(self._connection, name, values)

    async def each(self, name: str, keys: Sequence[Row]) -> Sequence[Row]:
        self._assert_open()
        return fetch_each(self._connection, name, keys)

    async def run(self, name: str, *values: Any) -> None:
        await self.rows(name, *values)

    async def many(self, name: str, rows: Sequence[Row]) -> int:
        self._assert_open()
        try:
            return self._connection.executemany(QUERIES[name], rows).rowcount
        except sqlite3.OperationalError as error:
            raise Unavailable(f"SQLite: {error}") from error

    async def finish(self, batch: BatchStatement) -> bool:
        raise AssertionError("SQLite writes no batch as one statement")

    async def commit(self) -> None:
        self._assert_open()
        try:
            await self._commits.run(self._connection, "COMMIT")
        except sqlite3.OperationalError as error:
            # A full disk or a lock: SQLite has not committed, and says so.
            await self.rollback()
            raise Unavailable(f"SQLite: {error}") from error
        self._end()

    async def rollback(self) -> None:
        # After some errors, such as a full disk, SQLite has rolled back by itself.
        try:
            if self._open and self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
        finally:
            self._end()

    def _assert_open(self) -> None:
        """Assert that this is not over: a statement would commit by itself, or with the next transaction."""
        assert self._open, "the transaction is over"

    def _end(self) -> None:
        if self._open:
            self._open = False
            self._free()


def _by_first(keys: Iterable[Row]) -> dict[Any, list[Any]]:
    """Return the second values of pairs by the first."""
    found: dict[Any, list[Any]] = {}
    for first, second in keys:
        found.setdefault(first, []).append(second)
    return found
