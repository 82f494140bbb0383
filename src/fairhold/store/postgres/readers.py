"""The connections for reads: a few, lent to one reader at a time."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final

import asyncpg

from fairhold.errors import Closing, Unavailable
from fairhold.store.base import Row
from fairhold.store.postgres import connections
from fairhold.store.postgres.bulk import columns
from fairhold.store.postgres.connections import (
    CLOSE_S,
    LOST,
    PLANS,
    Connection,
    cut_off,
    deadline,
    describe,
    open_connection,
)

READERS_MAX: Final = 8
# Of these so many may be taken by long looks: whoever has pools verified keeps nobody else from looking.
_LONG_MAX: Final = 4
_PAGE: Final = 1_000
# A long look takes as long as it needs, but no answer of it: a server whose disk hangs never says so.
LONG_ANSWER_S: Final = 300.0

# What shuts the connection if an answer does not come in time.
InTime = Callable[[], AbstractContextManager[None]]


class Readers:
    """Lends connections, and at the end waits for those who have one."""

    def __init__(self, url: str, queries: Mapping[str, str]) -> None:
        self._url = url
        self.queries = queries
        self._pool: asyncpg.Pool | None = None
        self._long_looks = asyncio.Semaphore(_LONG_MAX)
        self._reading = 0
        self._nobody_reads = asyncio.Event()
        self._closed = False

    async def open(self) -> None:
        self._pool = await asyncpg.create_pool(
            self._url,
            min_size=0,
            max_size=READERS_MAX,
            connect=_open_reader,
            connection_class=Connection,
            reset=_keep,
            server_settings={"application_name": "fairhold", **PLANS},
        )

    async def close(self) -> None:
        """Reads that have begun may end; one that does not is cut off."""
        self._closed = True
        if self._pool is None:
            return
        try:
            async with asyncio.timeout(CLOSE_S):
                # The pool itself takes a connection that is just being lent for one that nobody uses.
                if self._reading:
                    await self._nobody_reads.wait()
                await self._pool.close()
        except TimeoutError:
            pass
        finally:
            self._pool.terminate()

    async def expire(self) -> None:
        """Connect anew for every reader to come."""
        if self._pool is not None:
            await self._pool.expire_connections()

    def reader(self) -> PostgresReader:
        if self._closed:
            raise Closing("Fairhold is closed")
        return PostgresReader(self)

    @contextlib.asynccontextmanager
    async def lent(self) -> AsyncIterator[asyncpg.Connection]:
        """A connection, for now. Raises Unavailable, also for what happens to it meanwhile."""
        assert self._pool is not None
        self._reading += 1
        try:
            async with self._pool.acquire(timeout=connections.ANSWER_S) as connection:
                yield connection
        except (*LOST, TimeoutError, asyncpg.InterfaceError) as error:
            raise Unavailable(f"PostgreSQL: {describe(error)}") from error
        finally:
            self._reading -= 1
            if not self._reading and self._closed:
                self._nobody_reads.set()

    @contextlib.asynccontextmanager
    async def snapshot(self, *, long: bool) -> AsyncIterator[PostgresSnapshot]:
        if self._closed:
            raise Closing("Fairhold is closed")
        turn = self._long_look() if long else contextlib.nullcontext()
        async with turn, self.lent() as connection:
            in_time: InTime = contextlib.nullcontext
            if long:
                in_time = lambda: deadline(connection, LONG_ANSWER_S)  # noqa: E731
            with contextlib.nullcontext() if long else deadline(connection):
                look = connection.transaction(isolation="repeatable_read", readonly=True)
                try:
                    with in_time():
                        await look.start()
                    try:
                        yield PostgresSnapshot(connection, self.queries, in_time)
                    except Exception:
                        with contextlib.suppress(asyncpg.InterfaceError), in_time():
                            await look.rollback()
                        raise
                    with in_time():
                        await look.commit()
                except (asyncio.CancelledError, GeneratorExit):
                    # Who looked has gone away, maybe in the middle of an answer.
                    cut_off(connection)
                    raise

    @contextlib.asynccontextmanager
    async def _long_look(self) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(connections.ANSWER_S):
                await self._long_looks.acquire()
        except TimeoutError as error:
            raise Unavailable(f"PostgreSQL: {describe(error)}") from error
        try:
            yield
        finally:
            self._long_looks.release()


class PostgresReader:
    def __init__(self, readers: Readers) -> None:
        self._readers = readers

    async def rows(self, name: str, *values: Any) -> Sequence[Row]:
        async with self._readers.lent() as connection:
            try:
                with deadline(connection):
                    return await connection.fetch(self._readers.queries[name], *values)  # type: ignore[no-any-return]
            except BaseException:
                # It may have been prepared and never asked: then the server has begun a transaction, in
                # which nobody else may find themselves.
                cut_off(connection)
                raise

    async def each(self, name: str, keys: Sequence[Row]) -> Sequence[Row]:
        return await self.rows(name, *columns(name, keys)) if keys else []


class PostgresSnapshot:
    def __init__(self, connection: asyncpg.Connection, queries: Mapping[str, str], in_time: InTime) -> None:
        self._connection = connection
        self._queries = queries
        self._in_time = in_time

    async def rows(self, name: str, *values: Any) -> Sequence[Row]:
        with self._in_time():
            return await self._connection.fetch(self._queries[name], *values)  # type: ignore[no-any-return]

    async def each(self, name: str, keys: Sequence[Row]) -> Sequence[Row]:
        return await self.rows(name, *columns(name, keys)) if keys else []

    async def stream(self, name: str, *values: Any) -> AsyncIterator[Sequence[Row]]:
        with self._in_time():
            cursor = await self._connection.cursor(self._queries[name], *values)
            page = await cursor.fetch(_PAGE)
        while page:
            yield page
            with self._in_time():
                page = await cursor.fetch(_PAGE)


async def _open_reader(url: str, *, loop: Any, **options: Any) -> asyncpg.Connection:
    return await open_connection(url, **options)


async def _keep(connection: asyncpg.Connection) -> None:
    """Reads leave nothing behind on a connection that would have to be reset."""
