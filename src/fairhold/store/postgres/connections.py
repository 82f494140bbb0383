"""How Fairhold connects to PostgreSQL, and how it tells the world's failures from its own bugs."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Iterator
from typing import Any, Final

import asyncpg

from fairhold.addresses import unreadable
from fairhold.errors import Unavailable
from fairhold.store.postgres.bulk import QUERIES
from fairhold.store.postgres.hosts import WHAT, addresses, first_to_answer, is_overtaken

CONNECT_S: Final = 5.0
# How long any answer of the server may take.
ANSWER_S: Final = 10.0
CLOSE_S: Final = 2.0

# A host that is gone without a word is noticed in half a minute, also where nobody is waiting for it.
_KEEPALIVE: Final = {"TCP_KEEPIDLE": 10, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 4, "TCP_USER_TIMEOUT": 30_000}

# Plans are made once, maybe on empty tables, and kept: these make them use the indexes all the same.
PLANS: Final = {
    "enable_seqscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "enable_bitmapscan": "off",
    "enable_sort": "off",
    "jit": "off",
    # Planning the statement that writes a batch takes longer than the batch of somebody who comes alone.
    "plan_cache_mode": "force_generic_plan",
}

_WRITER: Final = {
    **PLANS,
    # A node that freezes in a transaction must not keep a pool locked: the server ends it after two seconds.
    "idle_in_transaction_session_timeout": "2000",
    # What is locked is looked at as it is then; in more isolation, a pool that has just changed is an error.
    "default_transaction_isolation": "read committed",
}

# Errors that mean that the database is not to be had.
LOST: Final = (
    OSError,
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,
    asyncpg.InsufficientResourcesError,
    asyncpg.ReadOnlySQLTransactionError,
    asyncpg.IdleInTransactionSessionTimeoutError,
    asyncpg.InvalidAuthorizationSpecificationError,
    asyncpg.InvalidCatalogNameError,
    asyncpg.TargetServerAttributeNotMatched,
    # The server has just said that it ends the connection, and we were about to ask something.
    asyncpg.InternalClientError,
)


class Connection(asyncpg.Connection):  # type: ignore[misc]
    """One that shuts its socket where the driver would send a cancel, whoever goes away in the middle.

    A cancel needs a connection of its own, which may outlive everybody, and may end a commit's wait.
    """

    __slots__ = ()

    def _cancel_current_command(self, *_: Any) -> None:
        # Not at once: the driver is about to note down that it has asked.
        self._loop.call_soon(self.terminate)


async def connect(url: str, *, writer: bool = False) -> asyncpg.Connection:
    """A connection. Raises Unavailable."""
    settings = {"application_name": "fairhold", **(_WRITER if writer else {"jit": "off"})}
    try:
        connection = await open_connection(
            url, server_settings=settings, statement_cache_size=0 if not writer else 256
        )
        if writer:
            with deadline(connection, CONNECT_S):
                await connection.execute(QUERIES["durable_commits"])
        return connection
    except (*LOST, asyncpg.InterfaceError, TimeoutError) as error:
        raise Unavailable(f"PostgreSQL cannot be reached: {describe(error)}") from error


async def open_connection(url: str, **options: Any) -> asyncpg.Connection:
    """A connection to the address's host, or to one of several that can write.

    Raises as asyncpg does, and SettingsWrong for an address that cannot be read.
    """
    options.setdefault("connection_class", Connection)
    listed = addresses(url)
    if len(listed) == 1:
        connection = await _open(url, options)
    else:
        async with asyncio.timeout(CONNECT_S):
            connection = await first_to_answer(lambda host: _open_leader(url, host, options), listed)
    _keep_alive(connection)
    return connection


async def _open(address: str, options: dict[str, Any]) -> asyncpg.Connection:
    try:
        return await asyncpg.connect(address, timeout=CONNECT_S, **options)
    except asyncpg.InterfaceError:
        raise
    except ValueError:
        # The driver names what it could not read, which may be a part of the password.
        raise unreadable(WHAT) from None


async def _open_leader(url: str, host: str, options: dict[str, Any]) -> asyncpg.Connection:
    """A connection to this host of several, if it leads, and not only believes that it does."""
    options = {**options, "target_session_attrs": "read-write"}
    connection = await _open(host, options)
    try:
        timeline = await _timeline(connection)
        if timeline is not None and is_overtaken(url, timeline, asyncio.get_running_loop().time()):
            raise asyncpg.TargetServerAttributeNotMatched("another host has been promoted meanwhile")
    except BaseException:
        connection.terminate()
        raise
    return connection


async def _timeline(connection: asyncpg.Connection) -> int | None:
    try:
        return int(await connection.fetchval(QUERIES["timeline"]))
    except (asyncpg.InsufficientPrivilegeError, asyncpg.FeatureNotSupportedError):
        # Services that run PostgreSQL for others may not tell; they see to it themselves who leads.
        return None


def _keep_alive(connection: asyncpg.Connection) -> None:
    """Let the system see to it that the other end is there; asyncpg has no word for it."""
    transport = getattr(connection, "_transport", None)
    pipe = transport.get_extra_info("socket") if transport is not None else None
    if pipe is None or pipe.family == socket.AF_UNIX:
        return
    with contextlib.suppress(OSError):
        pipe.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in _KEEPALIVE.items():
            if (option := getattr(socket, name, None)) is not None:
                pipe.setsockopt(socket.IPPROTO_TCP, option, value)


@contextlib.contextmanager
def deadline(connection: asyncpg.Connection, seconds: float | None = None) -> Iterator[None]:
    """Shut the socket if it takes longer; nobody is asked to cancel anything."""
    timer = cut_off_later(connection, seconds)
    try:
        yield
    finally:
        timer.cancel()


def cut_off_later(connection: asyncpg.Connection, seconds: float | None = None) -> asyncio.TimerHandle:
    seconds = ANSWER_S if seconds is None else seconds
    return asyncio.get_running_loop().call_later(seconds, connection.terminate)


def cut_off(connection: asyncpg.Connection) -> None:
    """Shut the socket, if that has not happened; one that was lost is no longer lent, and cannot be asked."""
    with contextlib.suppress(asyncpg.InterfaceError):
        connection.terminate()


async def leave(connection: asyncpg.Connection) -> None:
    """Say goodbye, and do not wait for long: one that has fallen silent must keep nobody."""
    with contextlib.suppress(OSError, asyncpg.PostgresError, asyncpg.InterfaceError, TimeoutError):
        await connection.close(timeout=CLOSE_S)


class Prepared:
    """The statements that a connection keeps prepared.

    They are prepared anew after 8, 16, 32 … uses: a kept plan may be of an empty table.
    """

    def __init__(self) -> None:
        self._statements: dict[str, Any] = {}
        self._uses = 0

    async def on(self, connection: asyncpg.Connection, query: str) -> Any:
        statement = self._statements.get(query)
        if statement is None:
            statement = self._statements[query] = await connection.prepare(query)
        return statement

    def grow_old(self) -> None:
        """Count one use more."""
        self._uses += 1
        if self._uses >= 8 and self._uses & (self._uses - 1) == 0:
            self.clear()

    def clear(self) -> None:
        self._statements = {}


def lost(error: BaseException, connection: Any) -> bool:
    """Whether an error means that the database is not to be had, rather than that we asked wrongly."""
    return isinstance(error, LOST) or connection.is_closed()


def describe(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def without_rows(error: Exception) -> Exception:
    """The same error without the row that it complains of: it is logged, and rows hold what people said."""
    if isinstance(error, asyncpg.PostgresError):
        error.detail = None
    return error
