"""Reads and writing transactions of SQLite, on connections that the store opens.

Statements run on the event loop's own thread, for they take microseconds. What waits for the disk runs in
another: COMMIT, and a whole batch that is written at once.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, Final, NamedTuple, TypeVar

from fairhold.errors import Busy, Unavailable
from fairhold.store.base import Row, Seen, Together, Write, still_so
from fairhold.store.rows import text
from fairhold.store.sqlite.bulk import QUERIES, inserting
from fairhold.store.sqlite.scribe import Scribe, Sheet
from fairhold.store.sqlite.together import OVERTAKEN, by_first

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
            for first, seconds in by_first(keys).items():
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


def writing(connection: sqlite3.Connection, statement: str, values: Sequence[Any]) -> Callable[[], None]:
    """The work of writing something; nothing is left of it when it is done."""

    def write() -> None:
        connection.execute(statement, values)

    return write


class LinedUp(NamedTuple):
    """A batch that the scribe goes on with once the one before is written."""

    whole: Together
    sheet: Sheet

    @property
    def has_begun(self) -> bool:
        return self.sheet.has_started


class SqliteTransaction:
    """One writing transaction. What waits for the disk is the scribe's; at its end it calls `free`.

    If it was lined up behind the one before, the scribe has begun with it already.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        scribe: Scribe,
        free: Callable[[], None],
        lined_up: LinedUp | None = None,
    ) -> None:
        self._connection = connection
        self._scribe = scribe
        self._free = free
        self._lined_up = lined_up
        # What it is finished with, and the sheet that is for this.
        self._whole: Together | None = None
        self._sheet: Sheet | None = None
        self._open = True
        self._begun = False

    async def begin(self) -> None:
        """Begin, if that was not done: what is finished at once needs no beginning."""
        assert self._open
        if not self._begun:
            await patiently(self._begin, BUSY_S)
            self._begun = True

    async def _begin(self) -> None:
        self._connection.execute("BEGIN IMMEDIATE")

    async def rows(self, name: str, *values: Any) -> Sequence[Row]:
        await self.begin()
        return fetch(self._connection, name, values)

    async def each(self, name: str, keys: Sequence[Row]) -> Sequence[Row]:
        await self.begin()
        return fetch_each(self._connection, name, keys)

    async def run(self, name: str, *values: Any) -> None:
        await self.rows(name, *values)

    async def many(self, name: str, rows: Sequence[Row]) -> int:
        await self.begin()
        try:
            if (insert := inserting(name)) is not None:
                for statement, values in insert.chunks(rows):
                    self._connection.execute(statement, values)
                return len(rows)
            return self._connection.executemany(QUERIES[name], rows).rowcount
        except sqlite3.OperationalError as error:
            raise Unavailable(f"SQLite: {error}") from error

    async def finish(self, whole: Together) -> bool:
        assert self._open
        assert not self._begun
        if self._lined_up is not None and self._lined_up.whole is not whole:
            # Nobody may use the connection before the scribe is done with it.
            await asyncio.wait([self._lined_up.sheet.done])
            raise RuntimeError("another batch was lined up than the one that is finished")
        if not whole.writes:
            so = await still_so(self, whole.seen)
            await self.rollback()
            return so
        if not whole.statement:
            # There is no core for the thread.
            return await self._finish_here(whole.seen, whole.writes)
        self._whole = whole
        try:
            await patiently(lambda: self._elsewhere(whole.statement, whole.values), BUSY_S)
        except sqlite3.IntegrityError as error:
            if str(error) == OVERTAKEN:
                return False
            raise
        self._end()
        return True

    async def _finish_here(self, seen: Seen, writes: Sequence[Write]) -> bool:
        if not await still_so(self, seen):
            return False
        for name, rows, exact in writes:
            if await self.many(name, rows) != len(rows) and exact:
                return False
        await self.commit()
        return True

    async def commit(self) -> None:
        try:
            if self._begun:
                await self._elsewhere("COMMIT")
        except sqlite3.OperationalError as error:
            # A full disk or a lock: SQLite has not committed, and says so.
            await self.rollback()
            raise Unavailable(f"SQLite: {error}") from error
        self._end()

    def line_up(self, whole: Together, behind: Together) -> LinedUp | None:
        """Have this written straight behind that, if it is just that which is being written here."""
        if self._sheet is None or self._whole is not behind:
            return None
        sheet = self._scribe.line_up(
            writing(self._connection, whole.statement, whole.values), behind=self._sheet
        )
        return None if sheet is None else LinedUp(whole, sheet)

    async def _elsewhere(self, statement: str, values: Sequence[Any] = ()) -> None:
        lined_up, self._lined_up = self._lined_up, None
        if lined_up is not None:
            self._sheet = lined_up.sheet
        else:
            self._sheet = self._scribe.hand_over(writing(self._connection, statement, values))
        try:
            await self._sheet.done
        except (asyncio.CancelledError, KeyboardInterrupt):
            # The caller goes away, the disk goes on: nobody may begin before it is done.
            self._sheet.wait()
            raise

    async def rollback(self) -> None:
        # After some errors, such as a full disk, SQLite has rolled back by itself.
        try:
            if self._open and self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
        finally:
            self._end()

    def _end(self) -> None:
        if self._open:
            self._open = False
            self._free()
