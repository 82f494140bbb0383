"""How Holdfast connects to PostgreSQL, and how it tells the world's failures from its own bugs."""

from __future__ import annotations

import random
from typing import Any, Final
from urllib.parse import urlsplit, urlunsplit

import asyncpg

from holdfast.errors import Unavailable
from holdfast.store.postgres.bulk import QUERIES

CONNECT_S: Final = 5.0

# Plans are made once, maybe on empty tables, and kept: these make them use the indexes all the same.
PLANS: Final = {
    "enable_seqscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "enable_bitmapscan": "off",
    "enable_sort": "off",
    "jit": "off",
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
)


async def connect(url: str, *, writer: bool = False) -> asyncpg.Connection:
    """A connection. Raises Unavailable."""
    settings = {"application_name": "holdfast", **(_WRITER if writer else {"jit": "off"})}
    try:
        connection = await asyncpg.connect(
            shuffled(url),
            timeout=CONNECT_S,
            server_settings=settings,
            statement_cache_size=0 if not writer else 256,
            target_session_attrs="read-write" if "," in url else None,
        )
        if writer:
            await connection.execute(QUERIES["durable_commits"])
        return connection
    except (*LOST, asyncpg.InterfaceError, TimeoutError) as error:
        raise Unavailable(f"PostgreSQL cannot be reached: {describe(error)}") from error


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


def shuffled(url: str) -> str:
    """The address with its hosts in random order, so that nodes do not all knock at the same door first."""
    parts = urlsplit(url)
    user, at, hosts = parts.netloc.rpartition("@")
    if "," not in hosts:
        return url
    listed = hosts.split(",")
    random.shuffle(listed)
    return urlunsplit(parts._replace(netloc=f"{user}{at}{','.join(listed)}"))


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
