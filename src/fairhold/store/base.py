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


class Seen(NamedTuple):
    """What decisions took for granted: the hashes that the pools' logs end with, and how many bookings some
    parties have that are still to be decided."""

    hashes: Mapping[int, bytes]
    parties: Sequence[tuple[int, str]] = ()
    live: int = 0


class Together(NamedTuple):
    """A whole batch, and the statement that writes it at once, where the store has one for it."""

    seen: Seen
    writes: Sequence[Write]
    statement: str = ""
    values: Sequence[Any] = ()


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

    async def finish(self, whole: Together) -> bool:
        """If it is all as it was seen, write and commit, all at once; else change nothing.

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
    is_beside: bool
    """Whether it writes while we work: elsewhere, or on a core of its own."""

    async def open(self) -> None:
        """Connect. Raises Unavailable."""
        ...

    async def close(self) -> None: ...

    async def begin(self, *, beside: bool = False, to_finish: bool = False) -> Transaction:
        """Begin a writing transaction; `beside` the lane's, if it locks no pool. Raises Unavailable, Busy.

        With `to_finish` it may begin as late as it is finished: nothing else is asked of it.
        """
        ...

    def put_together(self, seen: Seen, writes: Sequence[Write]) -> Together:
        """Put a batch together for a transaction to finish with. Nothing is asked of the database."""
        ...

    def line_up(self, whole: Together, behind: Together) -> None:
        """Allow this to be written straight behind another that is being finished, if that is written.

        It is the next to be finished then: a store need not wait until it is told so.
        """
        ...

    def reader(self) -> Reader:
        """For reads of what is committed."""
        ...

    def scout(self) -> Reader:
        """For the lane's own reads of what is committed, while a transaction is being written."""
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


async def still_so(tx: Transaction, seen: Seen) -> bool:
    """Lock the pools, and look whether it is all as it was seen."""
    locked = {row[0]: row[12] for row in await tx.rows("lock_pools", sorted(seen.hashes))}
    if locked != seen.hashes:
        return False
    if not seen.parties:
        return True
    live: int = sum(row[0] for row in await tx.each("live_of_parties", seen.parties))
    return live == seen.live


@asynccontextmanager
async def writing(store: Store) -> AsyncIterator[Transaction]:
    """A writing transaction beside the lane: what is not committed in it never happened."""
    tx = await store.begin(beside=True)
    try:
        yield tx
    finally:
        await tx.rollback()
