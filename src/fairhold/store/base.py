"""The seam between the engine and a database: connections, transactions and named queries, nothing more.

What is loaded and written is decided in `loader`, `writer` and `blocks`, which are shared; a dialect has its
queries, its connections and its migrations, and no rules.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Literal, NamedTuple, Protocol

Row = Sequence[Any]
News = Literal["due", "messages"]


class Write(NamedTuple):
    """A bulk statement and its rows; `exact` says that it must change as many as it is given."""

    name: str
    rows: Sequence[Row]
    exact: bool = False


# The hashes that the logs of some pools end with: what decisions were made on.
LogHeads = Mapping[int, bytes]


class BatchStatement(NamedTuple):
    """A whole batch as one statement, which checks the heads of the logs and is its own transaction."""

    statement: str
    values: Sequence[Any]


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

    async def finish(self, batch: BatchStatement) -> bool:
        """Write and commit a batch, all at once; False, and nothing has changed, if a log ends otherwise.

        It comes instead of everything else. It may raise OutcomeUnknown, as `commit` may.
        """
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

    async def begin(self, *, beside: bool = False) -> Transaction:
        """Begin a writing transaction, `beside` the engine's if it locks no pool. Raise Unavailable, Busy."""
        ...

    def batch_statement(self, heads: LogHeads, writes: Sequence[Write]) -> BatchStatement | None:
        """Put a batch into one statement, if this store can write it so. Ask nothing of the database."""
        ...

    def reader(self) -> Reader:
        """For reads of what is committed."""
        ...

    def scout(self) -> Reader:
        """For the engine's own reads of what is committed, while a batch is being written."""
        ...

    def snapshot(self, *, long: bool = False) -> AbstractAsyncContextManager[Snapshot]:
        """For many reads that must agree with each other: soon done, or `long`. Raises Unavailable."""
        ...

    async def wipe(self) -> None:
        """Overwrite what was there before, as far as the database is ours to tidy."""
        ...

    async def migrate(self, now: int) -> list[str]:
        """Bring an empty or older schema up to date; return the names of the migrations applied."""
        ...

    async def pending(self) -> list[str]:
        """The migrations that are missing. Raises SchemaUnknown."""
        ...

    async def listen(self, woken: Callable[[], None], about: News | None = None) -> None:
        """Call `woken`, too, when another process may have changed the next due time or left messages.

        Where it is told which, only for news about this.
        """
        ...


async def check_heads(tx: Transaction, heads: LogHeads) -> bool:
    """Lock these pools. True if their logs still end as the decisions took for granted."""
    return {row[0]: bytes(row[12]) for row in await tx.rows("lock_pools", sorted(heads))} == heads


@asynccontextmanager
async def writing(store: Store) -> AsyncIterator[Transaction]:
    """A writing transaction beside the engine's: what is not committed in it never happened."""
    tx = await store.begin(beside=True)
    try:
        yield tx
    finally:
        await tx.rollback()
