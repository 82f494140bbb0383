"""The seam between the engine and a database: connections, transactions and named queries, nothing more.

What is loaded and written is decided in `loader`, `writer` and `blocks`, which are shared; a dialect has its
queries, its connections and its migrations, and no rules.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

Row = Sequence[Any]


class Reader(Protocol):
    """Runs named queries that change nothing."""

    async def rows(self, name: str, *values: Any) -> Sequence[Row]:
        """All rows of a named query. Lists are passed as lists."""
        ...

    async def each(self, name: str, keys: Sequence[Row]) -> Sequence[Row]:
        """All rows of a query that looks up many keys at once."""
        ...


class Snapshot(Reader, Protocol):
    """Reads of one committed state, however long they take."""

    def stream(self, name: str, *values: Any) -> AsyncIterator[Sequence[Row]]:
        """The rows of a named query, page by page."""
        ...


class Transaction(Reader, Protocol):
    """One writing transaction. It is committed, or it never happened."""

    async def run(self, name: str, *values: Any) -> None:
        """Run a statement once."""
        ...

    async def many(self, name: str, rows: Sequence[Row]) -> int:
        """Run a bulk statement for all rows; how many rows of the database it changed."""
        ...

    async def commit(self) -> None:
        """Make it durable. An `OutcomeUnknown` says that the connection was lost meanwhile."""
        ...

    async def rollback(self) -> None: ...


class Store(Protocol):
    """A database."""

    dialect: str

    async def open(self) -> None:
        """Connect. Raises Unavailable."""
        ...

    async def close(self) -> None: ...

    async def begin(self) -> Transaction:
        """Begin a writing transaction. Raises Unavailable or Busy."""
        ...

    def reader(self) -> Reader:
        """For reads of what is committed."""
        ...

    def snapshot(self) -> AbstractAsyncContextManager[Snapshot]:
        """For many reads that must agree with each other. Raises Unavailable."""
        ...

    async def migrate(self, now: int) -> list[str]:
        """Bring an empty or older schema up to date; the names of the migrations applied."""
        ...

    async def pending(self) -> list[str]:
        """The migrations that are missing. Raises SchemaUnknown."""
        ...

    async def listen(self, woken: Callable[[], None]) -> None:
        """Call `woken`, too, when another process may have changed the next due time or left messages."""
        ...
