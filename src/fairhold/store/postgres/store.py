"""PostgreSQL through asyncpg: a connection for the lane's writing, one for what is written beside it, a few
for reads, one that listens.

A deadline shuts the socket and never sends a cancel: a cancel that arrives while a commit waits for its
standby is answered with success, and that must not be believed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Final

import asyncpg

from fairhold.errors import Closing, OutcomeUnknown, Unavailable
from fairhold.store.base import BatchStatement, LogHeads, News, Row, Write
from fairhold.store.migrations import Migration, is_set_up, load_migrations, missing, must_be_empty
from fairhold.store.postgres.bulk import QUERIES, batch_text, batch_values, columns, queries_in
from fairhold.store.postgres.connections import (
    LOST,
    Prepared,
    connect,
    cut_off_later,
    deadline,
    describe,
    leave,
    lost,
    without_rows,
)
from fairhold.store.postgres.listening import Listening
from fairhold.store.postgres.readers import READERS_MAX, PostgresReader, PostgresSnapshot, Readers

# The lane's and the one beside it, the scout's, the one that listens, and those for reads.
CONNECTIONS_MAX: Final = 4 + READERS_MAX
MIGRATION_LOCK: Final = 0x686F6C64
# How long to try, while others use the tables; and for a second at a time, for everybody who comes after one
# that waits for a table waits, too.
MIGRATION_S: Final = 30.0
_WAIT_A_SECOND: Final = "SET LOCAL lock_timeout = 1000"
_MIGRATION_PAUSE_S: Final = 0.5
# These change rows that another write of the batch changes, too; but one statement changes a row only once.
_SECOND_CHANGES: Final = frozenset({"step_out", "change_details"})
# After two seconds the server gives up a node that is frozen, so that it keeps no pool. Who locks none has
# time until our own deadline: a machine that stands still for a moment shall fail nobody.
_BEGIN_BESIDE: Final = "BEGIN; SET LOCAL idle_in_transaction_session_timeout = 10000"


class PostgresScout:
    """A connection of the lane's own for reading, with statements that stay prepared."""

    def __init__(self, url: str, queries: Mapping[str, str]) -> None:
        self._url = url
        self._queries = queries
        self._connection: asyncpg.Connection | None = None
        self._statements = Prepared()

    async def rows(self, name: str, *values: Any) -> Sequence[Row]:
        if self._connection is None or self._connection.is_closed():
            self._statements.clear()
            self._connection = await connect(self._url, writer=True)
        self._statements.grow_old()
        try:
            with deadline(self._connection):
                statement = await self._statements.on(self._connection, self._queries[name])
                return await statement.fetch(*values)  # type: ignore[no-any-return]
        except Exception as error:
            self._connection.terminate()
            raise Unavailable(f"PostgreSQL: {describe(error)}") from error

    async def each(self, name: str, keys: Sequence[Row]) -> Sequence[Row]:
        return await self.rows(name, *columns(name, keys)) if keys else []

    def close(self) -> None:
        if self._connection is not None:
            self._connection.terminate()


class Writing:
    """A connection for writing, with statements that stay prepared: for one transaction at a time."""

    def __init__(self, url: str, queries: Mapping[str, str]) -> None:
        self._url = url
        self.queries = queries
        self.free = asyncio.Lock()
        self.connection: asyncpg.Connection | None = None
        self.statements = Prepared()

    async def connect_if_lost(self) -> bool:
        """Have a connection; whether it is a new one. Raises Unavailable."""
        new = self.connection is None or self.connection.is_closed()
        if new:
            self.statements.clear()
            self.connection = await connect(self._url, writer=True)
        self.statements.grow_old()
        return new

    def give_up(self) -> None:
        """Connect anew the next time. Who is in a transaction has a deadline, and is left alone."""
        if self.connection is not None and not self.free.locked():
            self.connection.terminate()


class PostgresTransaction:
    def __init__(self, writing: Writing, connection: asyncpg.Connection, beginning: str) -> None:
        self._writing = writing
        self._connection = connection
        self._deadline = cut_off_later(connection)
        self._open = True
        self._begun = False
        self._beginning = beginning

    async def _begin(self) -> None:
        """Begin when the first statement comes: what is finished at once needs no beginning."""
        if self._begun:
            return
        self._begun = True
        try:
            await self._connection.execute(self._beginning)
        except Exception as error:
            self._connection.terminate()
            raise Unavailable(f"PostgreSQL: {describe(error)}") from error

    async def rows(self, name: str, *values: Any) -> Sequence[Row]:
        await self._begin()
        try:
            statement = await self._writing.statements.on(self._connection, self._writing.queries[name])
            return await statement.fetch(*values)  # type: ignore[no-any-return]
        except Exception as error:
            raise self._world(error) from error

    async def each(self, name: str, keys: Sequence[Row]) -> Sequence[Row]:
        return await self.rows(name, *columns(name, keys)) if keys else []

    async def run(self, name: str, *values: Any) -> None:
        await self.rows(name, *values)

    async def many(self, name: str, rows: Sequence[Row]) -> int:
        await self._begin()
        try:
            statement = await self._writing.statements.on(self._connection, self._writing.queries[name])
            await statement.fetch(*columns(name, rows))
            return int(statement.get_statusmsg().rsplit(" ", 1)[-1])
        except Exception as error:
            raise self._world(error) from error

    async def finish(self, batch: BatchStatement) -> bool:
        assert not self._begun
        try:
            statement = await self._writing.statements.on(self._connection, batch.statement)
        except Exception as error:
            raise self._world(error) from error
        try:
            await self._committing(statement.fetch(*batch.values))
        except asyncpg.DivisionByZeroError:
            return False
        return True

    async def commit(self) -> None:
        status = await self._committing(self._connection.execute("COMMIT"))
        if status != "COMMIT":
            raise Unavailable(f"PostgreSQL: the transaction ended with {status}")

    async def _committing(self, statement: Awaitable[Any]) -> Any:
        """Wait for what commits; if the server does not tell, or not for sure, the outcome is unknown."""
        connection, warnings = self._connection, []
        note = lambda _, message: warnings.append(message)  # noqa: E731
        connection.add_log_listener(note)
        try:
            answer = await statement
        except Exception as error:
            if isinstance(error, asyncpg.PostgresError) and not lost(error, connection):
                # It said no: nothing was committed.
                connection.remove_log_listener(note)
                without_rows(error)
                raise
            self._end()
            connection.terminate()
            raise OutcomeUnknown(f"PostgreSQL: lost during a commit: {describe(error)}") from error
        connection.remove_log_listener(note)
        if any(getattr(warning, "sqlstate", "") == "01000" for warning in warnings):
            self._end()
            connection.terminate()
            raise OutcomeUnknown("PostgreSQL: a commit did not wait for its standby")
        self._end()
        return answer

    async def rollback(self) -> None:
        if not self._open:
            return
        try:
            if self._begun:
                await self._connection.execute("ROLLBACK")
        except Exception:  # noqa: BLE001  # a connection that cannot roll back is of no further use
            self._connection.terminate()
        except BaseException:
            self._connection.terminate()
            raise
        finally:
            self._end()

    def _end(self) -> None:
        if self._open:
            self._open = False
            self._deadline.cancel()
            self._writing.free.release()

    def _world(self, error: Exception) -> Exception:
        if isinstance(error, asyncpg.ReadOnlySQLTransactionError):
            # It does not lead, or no longer: who does is found by connecting anew.
            self._connection.terminate()
        if lost(error, self._connection):
            return Unavailable(f"PostgreSQL: {describe(error)}")
        return without_rows(error)


class PostgresStore:
    dialect = "postgres"

    def __init__(self, url: str, schema: str | None = None, *, beside_others: bool = False) -> None:
        self._url = url
        self._schema = schema
        self._beside_others = beside_others
        self._queries = queries_in(schema)
        self._lane = Writing(url, self._queries)
        self._beside = Writing(url, self._queries)
        self._readers = Readers(url, self._queries)
        self._scout = PostgresScout(url, self._queries)
        self._listening = Listening(url, self._queries["channel"])
        self._closed = False

    async def open(self) -> None:
        await self._lane.connect_if_lost()
        await self._readers.open()

    async def close(self) -> None:
        self._closed = True
        await self._listening.close()
        await self._readers.close()
        self._scout.close()
        for writing in (self._lane, self._beside):
            if writing.connection is not None:
                await leave(writing.connection)

    async def begin(self, *, beside: bool = False) -> PostgresTransaction:
        writing = self._beside if beside else self._lane
        await writing.free.acquire()
        try:
            if self._closed:
                raise Closing("Fairhold is closed")
            if await writing.connect_if_lost() and not beside:
                # Whoever lost the writer may be gone, or lead no longer: all else goes where writes go.
                self._beside.give_up()
                self._scout.close()
                await self._readers.expire()
            assert writing.connection is not None
            return PostgresTransaction(writing, writing.connection, _BEGIN_BESIDE if beside else "BEGIN")
        except BaseException:
            writing.free.release()
            raise

    def batch_statement(self, heads: LogHeads, writes: Sequence[Write]) -> BatchStatement | None:
        if any(write.name in _SECOND_CHANGES for write in writes):
            return None
        names = tuple((write.name, write.exact) for write in writes)
        return BatchStatement(batch_text(self._schema, names), batch_values(heads, writes))

    def scout(self) -> PostgresScout:
        return self._scout

    def reader(self) -> PostgresReader:
        return self._readers.reader()

    def snapshot(self, *, long: bool = False) -> AbstractAsyncContextManager[PostgresSnapshot]:
        return self._readers.snapshot(long=long)

    async def pending(self) -> list[str]:
        connection = await connect(self._url)
        try:
            with deadline(connection):
                return [migration.name for migration in await self._needed(connection)]
        except (*LOST, asyncpg.InterfaceError) as error:
            raise Unavailable(f"PostgreSQL: {describe(error)}") from error
        finally:
            await leave(connection)

    async def _needed(self, connection: asyncpg.Connection) -> list[Migration]:
        """Return the migrations that the database needs. Raise SchemaUnknown if it is somebody else's."""
        known = load_migrations(self.dialect, self._schema)
        tables = [row[0] for row in await connection.fetch(self._queries["tables"])]
        if not is_set_up(tables):
            if not self._beside_others:
                must_be_empty(tables)
            return known
        return missing(await connection.fetch(self._queries["migrations_applied"]), known)

    async def wipe(self) -> None:
        """The server does so by itself, in its own time."""

    async def migrate(self, now: int) -> list[str]:
        time = asyncio.get_running_loop().time
        give_up_at = time() + MIGRATION_S
        while await self.pending():
            try:
                return await self._migrate(now)
            except (asyncpg.LockNotAvailableError, asyncpg.DeadlockDetectedError) as error:
                if time() >= give_up_at:
                    raise Unavailable(
                        "PostgreSQL: the tables cannot be changed while another transaction uses them, and "
                        "one has for too long (a backup, maybe); nothing was changed"
                    ) from error
            # Those who asked for the tables meanwhile waited behind us; now it is their turn.
            await asyncio.sleep(_MIGRATION_PAUSE_S)
        return []

    async def _migrate(self, now: int) -> list[str]:
        connection = await connect(self._url)
        try:
            async with connection.transaction():
                # Several nodes may start at once: one migrates, the others wait and find it done.
                await connection.execute(QUERIES["migration_lock"], MIGRATION_LOCK)
                await connection.execute(_WAIT_A_SECOND)
                if self._schema is not None:
                    await connection.execute(f'CREATE SCHEMA IF NOT EXISTS "{self._schema}"')
                needed = await self._needed(connection)
                for migration in needed:
                    await connection.execute(migration.text)
                    await connection.execute(
                        self._queries["insert_migration"], migration.number, migration.digest, now
                    )
        except (*LOST, asyncpg.InterfaceError) as error:
            raise Unavailable(f"PostgreSQL: {describe(error)}") from error
        finally:
            await leave(connection)
        return [migration.name for migration in needed]

    async def listen(self, woken: Callable[[], None], about: News | None = None) -> None:
        self._listening.add(woken, about)
