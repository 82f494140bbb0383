"""SQLite: WAL, synchronous=FULL, one writer.

Statements run on the event loop's own thread, for they take microseconds; only COMMIT, which waits for
the disk, runs in another. Reads use a connection of their own: the writer's sees uncommitted rows.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any, Final

from holdfast.errors import Busy, Closing, SchemaUnknown, Unavailable
from holdfast.store.base import News, Row, Seen, Write, still_so
from holdfast.store.queries import load_migrations
from holdfast.store.rows import text
from holdfast.store.sqlite.bulk import QUERIES, inserting

log = logging.getLogger("holdfast")

_BUSY_S: Final = 10.0
_MIGRATING_S: Final = 600.0  # whole tables may be written anew
_LOOK_S: Final = 0.2
_PAGE: Final = 1_000
# To connect takes a thousand times as long as to look.
_SNAPSHOTS_KEPT: Final = 4
# Each connection keeps pages of its own until it has so many KiB of them, on top of what the system keeps.
_WRITER_CACHE: Final = 16_384
_READER_CACHE: Final = 4_096


def _plain(value: Any) -> Any:
    return text(value) if isinstance(value, list | tuple) else value


def _fetch(connection: sqlite3.Connection, name: str, values: Sequence[Any]) -> list[Row]:
    try:
        return connection.execute(QUERIES[name], [_plain(value) for value in values]).fetchall()
    except sqlite3.OperationalError as error:
        raise Unavailable(f"SQLite: {error}") from error


def _fetch_each(connection: sqlite3.Connection, name: str, keys: Sequence[Row]) -> list[Row]:
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


def _by_first(keys: Sequence[Row]) -> dict[Any, list[Any]]:
    found: dict[Any, list[Any]] = {}
    for first, second in keys:
        found.setdefault(first, []).append(second)
    return found


class SqliteReader:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    async def rows(self, name: str, *values: Any) -> Sequence[Row]:
        return _fetch(self._connection, name, values)

    async def each(self, name: str, keys: Sequence[Row]) -> Sequence[Row]:
        return _fetch_each(self._connection, name, keys)


class SqliteSnapshot(SqliteReader):
    def __init__(self, connection: sqlite3.Connection) -> None:
        super().__init__(connection)
        self.streamed = False

    async def stream(self, name: str, *values: Any) -> AsyncIterator[Sequence[Row]]:
        self.streamed = True
        try:
            cursor = self._connection.execute(QUERIES[name], [_plain(value) for value in values])
            while page := cursor.fetchmany(_PAGE):
                yield page
                # A long look must not stop whoever else runs on this event loop.
                await asyncio.sleep(0)
        except sqlite3.OperationalError as error:
            raise Unavailable(f"SQLite: {error}") from error


class SqliteTransaction:
    def __init__(self, store: SqliteStore, connection: sqlite3.Connection) -> None:
        self._store = store
        self._connection = connection
        self._open = True

    async def rows(self, name: str, *values: Any) -> Sequence[Row]:
        return _fetch(self._connection, name, values)

    async def each(self, name: str, keys: Sequence[Row]) -> Sequence[Row]:
        return _fetch_each(self._connection, name, keys)

    async def run(self, name: str, *values: Any) -> None:
        _fetch(self._connection, name, values)

    async def many(self, name: str, rows: Sequence[Row]) -> int:
        try:
            if (insert := inserting(name)) is not None:
                for statement, values in insert.chunks(rows):
                    self._connection.execute(statement, values)
                return len(rows)
            return self._connection.executemany(QUERIES[name], rows).rowcount
        except sqlite3.OperationalError as error:
            raise Unavailable(f"SQLite: {error}") from error

    async def finish(self, seen: Seen, writes: Sequence[Write]) -> bool:
        if not await still_so(self, seen):
            return False
        for name, rows, exact in writes:
            if await self.many(name, rows) != len(rows) and exact:
                return False
        await self.commit()
        return True

    async def commit(self) -> None:
        done = self._store.committer.submit(self._connection.execute, "COMMIT")
        try:
            await asyncio.shield(asyncio.wrap_future(done))
        except asyncio.CancelledError:
            # The caller goes away, the disk goes on: nobody may begin before it is done.
            wait([done])
            raise
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

    def _end(self) -> None:
        if self._open:
            self._open = False
            self._store.writer_free.release()


class SqliteStore:
    dialect = "sqlite"
    is_elsewhere = False

    def __init__(self, path: str) -> None:
        self._path = path
        self.committer = ThreadPoolExecutor(1, thread_name_prefix="holdfast-commit")
        self.writer_free = asyncio.Lock()
        self._writer: sqlite3.Connection | None = None
        self._reader: sqlite3.Connection | None = None
        self._snapshots: list[sqlite3.Connection] = []
        self._woken: list[Callable[[], None]] = []
        self._looking: asyncio.Task[None] | None = None
        self._closed = False

    async def open(self) -> None:
        self._look_first()
        self._writer = await self._first_connect()
        # Waiting for another process inside SQLite would stop the event loop.
        self._writer.execute("PRAGMA busy_timeout = 0")
        self._reader = self._connect_to_read()

    def _look_first(self) -> None:
        """Refuse somebody else's file before the switch to WAL, which would change it."""
        try:
            with closing(sqlite3.connect(self._path, timeout=_BUSY_S)) as connection:
                version_of(connection)
        except sqlite3.Error as error:
            raise Unavailable(f"SQLite cannot open {self._path}: {error}") from error

    async def _first_connect(self) -> sqlite3.Connection:
        """Connect, again if need be: of processes that start at once, one switches a new file to WAL."""
        waited = 0.0
        while True:
            try:
                return self._connect()
            except Unavailable as error:
                if "locked" not in str(error) or waited >= _BUSY_S:
                    raise
            await asyncio.sleep(0.01)
            waited += 0.01

    def _connect(self) -> sqlite3.Connection:
        connection = None
        try:
            connection = sqlite3.connect(
                self._path,
                isolation_level=None,
                check_same_thread=False,
                cached_statements=256,
                timeout=_BUSY_S,
            )
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute(QUERIES["durable_commits"])
            connection.execute(f"PRAGMA cache_size = -{_WRITER_CACHE}")
            # A page that is hot is copied once for each checkpoint: fewer of them save work, and 16 MB of
            # log are still copied in a few hundredths of a second.
            connection.execute("PRAGMA wal_autocheckpoint = 4000")
            connection.execute("PRAGMA foreign_keys = ON")
            # What is forgotten about somebody shall not be found in the file.
            connection.execute("PRAGMA secure_delete = ON")
        except sqlite3.Error as error:
            if connection is not None:
                connection.close()
            raise Unavailable(f"SQLite cannot open {self._path}: {error}") from error
        return connection

    def _connect_to_read(self) -> sqlite3.Connection:
        connection = self._connect()
        connection.execute(f"PRAGMA cache_size = -{_READER_CACHE}")
        connection.execute("PRAGMA query_only = ON")
        return connection

    async def close(self) -> None:
        self._closed = True
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.gather(self._looking, return_exceptions=True)
        self.committer.shutdown(wait=True)
        for connection in (*self._snapshots, self._reader, self._writer):
            if connection is not None:
                connection.close()

    async def begin(self, *, beside: bool = False) -> SqliteTransaction:
        assert self._writer is not None
        await self.writer_free.acquire()
        try:
            if self._closed:
                raise Closing("Holdfast is closed")
            await self._begin(self._writer, _BUSY_S)
        except BaseException:
            self.writer_free.release()
            raise
        return SqliteTransaction(self, self._writer)

    async def _begin(self, writer: sqlite3.Connection, patience_s: float) -> None:
        # Another process may be writing: we ask again.
        waited, pause = 0.0, 0.0005
        while True:
            try:
                writer.execute("BEGIN IMMEDIATE")
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error):
                    raise Unavailable(f"SQLite: {error}") from error
                if waited >= patience_s:
                    raise Busy("SQLite: another process has held the database for too long") from error
            await asyncio.sleep(pause)
            waited, pause = waited + pause, min(pause * 2, 0.02)

    async def wipe(self) -> None:
        """Copy the log ahead of the file into it, and empty it: it has what every page was before."""
        waited = 0.0
        while waited < _BUSY_S:
            async with self.writer_free:
                if await self._emptied():
                    return
            # Somebody is still reading what was there before.
            await asyncio.sleep(0.02)
            waited += 0.02
        log.warning("what was forgotten stays in SQLite's log until the database is closed")

    async def _emptied(self) -> bool:
        assert self._writer is not None
        done = self.committer.submit(self._writer.execute, "PRAGMA wal_checkpoint(TRUNCATE)")
        try:
            found = await asyncio.shield(asyncio.wrap_future(done))
        except sqlite3.Error as error:
            # It is forgotten all the same, and the next time it may be possible.
            log.warning("SQLite's log could not be emptied: %s", error)
            return True
        finally:
            # The caller may go away, the disk goes on: nobody may begin before it is done.
            wait([done])
        return not found.fetchone()[0]

    def scout(self) -> SqliteReader:
        return self.reader()

    def reader(self) -> SqliteReader:
        if self._closed:
            raise Closing("Holdfast is closed")
        assert self._reader is not None
        return SqliteReader(self._reader)

    @asynccontextmanager
    async def snapshot(self, *, long: bool = False) -> AsyncIterator[SqliteSnapshot]:
        if self._closed:
            raise Closing("Holdfast is closed")
        connection, again = self._snapshots.pop() if self._snapshots else self._connect_to_read(), False
        try:
            connection.execute("BEGIN")
            snapshot = SqliteSnapshot(connection)
            yield snapshot
            connection.execute("ROLLBACK")
            # A query that was not read to its end would go on seeing what it saw; a long look fills memory.
            again = not (long or snapshot.streamed or self._closed)
        finally:
            if again and len(self._snapshots) < _SNAPSHOTS_KEPT:
                self._snapshots.append(connection)
            else:
                connection.close()

    async def pending(self) -> list[str]:
        assert self._reader is not None
        done = version_of(self._reader)
        known = load_migrations(self.dialect)
        if done > known[-1][0]:
            raise SchemaUnknown(f"the database has schema {done}; this Holdfast knows up to {known[-1][0]}")
        return [name for number, name, _ in known if number > done]

    async def migrate(self, now: int) -> list[str]:
        assert self._writer is not None
        if not await self.pending():
            return []
        applied = []
        # Several processes may start at once: one migrates, the others wait and find it done. It is all one
        # transaction, so that whoever is killed in the middle leaves what was there.
        await self._begin(self._writer, _MIGRATING_S)
        try:
            done = version_of(self._writer)
            for number, name, migration in load_migrations(self.dialect):
                if number > done:
                    for statement in _statements(migration):
                        self._writer.execute(statement)
                    self._writer.execute(QUERIES["insert_schema"], (number, now))
                    applied.append(name)
            self._writer.execute("COMMIT")
        except sqlite3.OperationalError as error:  # a full disk, most likely
            raise Unavailable(f"SQLite: {error}") from error
        finally:
            if self._writer.in_transaction:
                self._writer.execute("ROLLBACK")
        return applied

    async def listen(self, woken: Callable[[], None], about: News | None = None) -> None:
        """SQLite tells no other process of a change, so we look, often and cheaply, whether there was one."""
        self._woken.append(woken)
        if self._looking is None:
            self._looking = asyncio.create_task(self._look())

    async def _look(self) -> None:
        assert self._reader is not None
        seen = None
        while True:
            try:
                version = self._reader.execute("PRAGMA data_version").fetchone()[0]
            except sqlite3.Error as error:
                log.warning("SQLite: whether another process has changed something cannot be seen: %s", error)
                version = None
            if seen is not None and version != seen:
                for woken in self._woken:
                    woken()
            seen = version
            await asyncio.sleep(_LOOK_S)


def _statements(text: str) -> list[str]:
    """The statements of a migration; SQLite itself says where one is complete."""
    found, current = [], ""
    for line in text.splitlines(keepends=True):
        current += line
        if sqlite3.complete_statement(current):
            found.append(current)
            current = ""
    return found


def version_of(connection: sqlite3.Connection) -> int:
    """Which schema a database has; none if it is empty. Raises SchemaUnknown if it is somebody else's."""
    tables = {row[0] for row in connection.execute(QUERIES["tables"])}
    if "holdfast_schema" not in tables:
        if tables:
            raise SchemaUnknown("the database has tables, but not Holdfast's")
        return 0
    return int(connection.execute(QUERIES["schema_version"]).fetchone()[0])


def path_of(url: str) -> str:
    """The file of a `sqlite:///file.db` address."""
    return str(Path(url.removeprefix("sqlite:///")))
