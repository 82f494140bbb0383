"""SQLite: WAL, synchronous=FULL, one writer.

Reads use a connection of their own: the writer's sees uncommitted rows. What runs in which thread is said in
`transaction`.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Final

from fairhold.errors import Closing, SettingsWrong, Unavailable
from fairhold.store.base import BatchStatement, LogHeads, News, Write
from fairhold.store.migrations import Migration, is_set_up, load_migrations, missing, must_be_empty
from fairhold.store.sqlite.committing import CommitThread
from fairhold.store.sqlite.transaction import (
    BUSY_S,
    QUERIES,
    SqliteReader,
    SqliteSnapshot,
    SqliteTransaction,
    patiently,
)

log = logging.getLogger("fairhold")

_MIGRATING_S: Final = 600.0  # whole tables may be written anew
_LOOK_S: Final = 0.2
# To connect takes a thousand times as long as to look.
_SNAPSHOTS_KEPT: Final = 4
# Each connection keeps pages of its own until it has so many KiB of them, on top of what the system keeps.
_WRITER_CACHE: Final = 16_384
_READER_CACHE: Final = 4_096


class SqliteStore:
    dialect = "sqlite"

    def __init__(self, path: str, *, beside_others: bool = False) -> None:
        self._path = path
        self._beside_others = beside_others
        self._commits = CommitThread()
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
        self._commits.start()

    def _look_first(self) -> None:
        """Refuse somebody else's file before the switch to WAL, which would change it."""
        try:
            with closing(sqlite3.connect(self._path, timeout=BUSY_S)) as connection:
                _needed(connection, beside_others=self._beside_others)
        except sqlite3.Error as error:
            raise Unavailable(f"SQLite cannot open {self._path}: {error}") from error

    async def _first_connect(self) -> sqlite3.Connection:
        """Connect, again if need be: of processes that start at once, one switches a new file to WAL."""
        waited = 0.0
        while True:
            try:
                return self._connect()
            except Unavailable as error:
                if "locked" not in str(error) or waited >= BUSY_S:
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
                timeout=BUSY_S,
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
        self._commits.close()
        for connection in (*self._snapshots, self._reader, self._writer):
            if connection is not None:
                connection.close()

    async def begin(self, *, beside: bool = False) -> SqliteTransaction:
        assert self._writer is not None
        await self.writer_free.acquire()
        if self._closed:
            self.writer_free.release()
            raise Closing("Fairhold is closed")
        tx = SqliteTransaction(self._writer, self._commits, self.writer_free.release)
        try:
            await tx.begin()
        except BaseException:
            await tx.rollback()
            raise
        return tx

    def batch_statement(self, heads: LogHeads, writes: Sequence[Write]) -> BatchStatement | None:
        # Here statements take microseconds, and there is nobody to send them to.
        return None

    async def wipe(self) -> None:
        """Copy the log ahead of the file into it, and empty it: it has what every page was before."""
        waited = 0.0
        while waited < BUSY_S:
            async with self.writer_free:
                if await self._emptied():
                    return
            # Somebody is still reading what was there before.
            await asyncio.sleep(0.02)
            waited += 0.02
        log.warning("what was forgotten stays in SQLite's log until the database is closed")

    async def _emptied(self) -> bool:
        assert self._writer is not None
        try:
            busy, *_ = await self._commits.run(self._writer, "PRAGMA wal_checkpoint(TRUNCATE)")
        except sqlite3.Error as error:
            # It is forgotten all the same, and the next time it may be possible.
            log.warning("SQLite's log could not be emptied: %s", error)
            return True
        return not busy

    def scout(self) -> SqliteReader:
        return self.reader()

    def reader(self) -> SqliteReader:
        if self._closed:
            raise Closing("Fairhold is closed")
        assert self._reader is not None
        return SqliteReader(self._reader)

    @asynccontextmanager
    async def snapshot(self, *, long: bool = False) -> AsyncIterator[SqliteSnapshot]:
        if self._closed:
            raise Closing("Fairhold is closed")
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
        needed = _needed(self._reader, beside_others=self._beside_others)
        return [migration.name for migration in needed]

    async def migrate(self, now: int) -> list[str]:
        assert self._writer is not None
        if not await self.pending():
            return []
        # Several processes may start at once: one migrates, the others wait and find it done. It is all one
        # transaction, so that whoever is killed in the middle leaves what was there.
        await patiently(self._begin_to_migrate, _MIGRATING_S)
        try:
            needed = _needed(self._writer, beside_others=self._beside_others)
            for migration in needed:
                for statement in _statements(migration.text):
                    self._writer.execute(statement)
                self._writer.execute(QUERIES["insert_migration"], (migration.number, migration.digest, now))
            self._writer.execute("COMMIT")
        except sqlite3.OperationalError as error:  # a full disk, most likely
            raise Unavailable(f"SQLite: {error}") from error
        finally:
            if self._writer.in_transaction:
                self._writer.execute("ROLLBACK")
        return [migration.name for migration in needed]

    async def _begin_to_migrate(self) -> None:
        assert self._writer is not None
        self._writer.execute("BEGIN IMMEDIATE")

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


def _needed(connection: sqlite3.Connection, *, beside_others: bool) -> list[Migration]:
    """Return the migrations that a database needs. Raise SchemaUnknown if it is somebody else's."""
    known = load_migrations("sqlite")
    if not has_tables_of_ours(connection):
        if not beside_others:
            must_be_empty(_tables(connection))
        return known
    return missing(connection.execute(QUERIES["migrations_applied"]).fetchall(), known)


def has_tables_of_ours(connection: sqlite3.Connection) -> bool:
    """True if a Fairhold has set this database up."""
    return is_set_up(_tables(connection))


def _tables(connection: sqlite3.Connection) -> list[str]:
    return [row[0] for row in connection.execute(QUERIES["tables"])]


def path_of(url: str) -> str:
    """The file of a `sqlite:///file.db` address. Raises SettingsWrong."""
    name = url.removeprefix("sqlite:///")
    path = str(Path(name))
    if not name or path == ":memory:" or path.startswith("file:"):
        raise SettingsWrong(
            "SQLite needs a file here, for it is opened more than once: sqlite:///file.db, or for a test "
            "a file in a temporary folder, such as sqlite:////tmp/test.db"
        )
    if "?" in name:
        raise SettingsWrong("an address of SQLite has no options behind a ?: sqlite:///file.db")
    return path
