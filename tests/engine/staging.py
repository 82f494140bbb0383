"""How a race is staged, and how each protection is taken away to see what it was good for."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager, closing, contextmanager, suppress
from typing import Any, TypeVar

import pytest

from fairhold import Fairhold, Refusal
from fairhold.engine.batch import Batch
from fairhold.engine.engine import Engine
from fairhold.store.postgres import bulk
from fairhold.store.postgres import store as postgres
from fairhold.store.sqlite import transaction as sqlite
from tests.database import SECRET, START, ask, dialect_of, sqlite_file
from tests.patience import PATIENCE_S

T = TypeVar("T")
QUERIES = {"sqlite": sqlite.QUERIES, "postgres": bulk.QUERIES}


def outcome(answer: Any) -> str:
    """A yes by its state, a no by its code."""
    return answer.code if isinstance(answer, Refusal) else answer.state


def at_once(calls: Sequence[Callable[[], T]]) -> list[T]:
    """What each of these says, called by as many threads at the same moment."""
    barrier = threading.Barrier(len(calls))

    def go(call: Callable[[], T]) -> T:
        barrier.wait()
        return call()

    with ThreadPoolExecutor(len(calls)) as threads:
        return list(threads.map(go, calls))


@asynccontextmanager
async def nodes(url: str, count: int = 2, **options: Any) -> AsyncIterator[list[Fairhold]]:
    """Several Fairholds on one database, as on several machines."""
    async with AsyncExitStack() as stack:
        options = {"secret": SECRET, "ticker": False, **options}
        yield [await stack.enter_async_context(Fairhold.open(url, **options)) for _ in range(count)]


class HandClock:
    """A clock that is moved by hand while the ticker runs."""

    def __init__(self, at: int = START) -> None:
        self.at = at

    def now(self) -> int:
        return self.at

    def move(self, seconds: float) -> None:
        self.at += round(seconds * 1_000)


@contextmanager
def file_locked_outside(url: str) -> Iterator[None]:
    """Another program writes to the SQLite file, and takes its time."""
    with closing(sqlite3.connect(sqlite_file(url), isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


def meet_before_writing(patch: pytest.MonkeyPatch, count: int = 2, *, for_sure: bool = False) -> None:
    """Let batches wait for each other after they have been decided and before they are written.

    Batches that are decided without a lock meet for sure. Under the lock they cannot where it keeps the
    others out, so nobody waits for longer than a moment; where nothing keeps them out they meet for sure.
    """
    append, append_to, came, all_there = Batch.append, Batch.append_to, 0, asyncio.Event()

    async def meet(patience_s: float) -> None:
        nonlocal came
        came += 1
        if came >= count:
            all_there.set()
        with suppress(TimeoutError):
            await asyncio.wait_for(all_there.wait(), patience_s)

    async def meet_and_append(self: Batch) -> None:
        await meet(PATIENCE_S)
        await append(self)

    async def meet_and_append_to(self: Batch, tx: Any) -> None:
        if self.changed and not all_there.is_set():
            await meet(PATIENCE_S if for_sure else 0.2)
        await append_to(self, tx)

    patch.setattr(Batch, "append", meet_and_append)
    patch.setattr(Batch, "append_to", meet_and_append_to)


def always_under_lock(patch: pytest.MonkeyPatch) -> None:
    """Let the engine decide nothing without a lock."""

    async def decide_nothing(*_: Any) -> None: ...

    patch.setattr(Engine, "_decide", decide_nothing)


def without_lock(patch: pytest.MonkeyPatch, url: str) -> None:
    """Let nobody lock a pool, nor look whether its log still ends as it was decided on.

    SQLite, which cannot read in the past, locks only to write.
    """

    async def find_nothing_changed(*_: Any) -> bool:
        return True

    patch.setattr("fairhold.engine.batch.check_heads", find_nothing_changed)
    if dialect_of(url) == "postgres":
        _rewrite(patch, "postgres", "lock_pools", "FOR UPDATE SKIP LOCKED", "")
        _write_whatever_the_heads_are(patch)
        return
    begin, append_to = sqlite.SqliteTransaction._begin, Batch.append_to

    async def begin_nothing(self: Any) -> None:
        """What is read now may be old when it is written."""

    async def lock_and_append_to(self: Batch, tx: Any) -> None:
        # Another may come in between now.
        await asyncio.sleep(0)
        await sqlite.patiently(lambda: begin(tx), sqlite.BUSY_S)
        await append_to(self, tx)

    patch.setattr(sqlite.SqliteTransaction, "_begin", begin_nothing)
    patch.setattr(Batch, "append_to", lock_and_append_to)


def _write_whatever_the_heads_are(patch: pytest.MonkeyPatch) -> None:
    """Let the statement that writes a batch neither lock its pools nor compare how their logs end."""
    parts = bulk._parts_in

    def unlocked(schema: str | None) -> dict[str, str]:
        found = parts(schema)
        for protection in ("FOR UPDATE SKIP LOCKED", " AND seen.hash = log_hash"):
            assert protection in found["batch"], "the statement has changed: teach this control anew"
        batch = found["batch"].replace("FOR UPDATE SKIP LOCKED", "").replace(" AND seen.hash = log_hash", "")
        return found | {"batch": batch}

    patch.setattr(bulk, "_parts_in", unlocked)
    _forget_statements(patch)


def _forget_statements(patch: pytest.MonkeyPatch) -> None:
    """Let statements for batches be made of the queries as they are now, and kept by nobody."""
    patch.setattr(postgres, "batch_text", bulk.batch_text.__wrapped__)


def without_conditions(patch: pytest.MonkeyPatch, url: str) -> None:
    """Writes do not ask whether a booking and an offer are still as the decision has seen them."""
    if dialect_of(url) == "postgres":
        condition = " AND fairhold_bookings.state = v3 AND fairhold_bookings.offer_seq = v4"
        _rewrite(patch, "postgres", "update_bookings", condition, "")
        _rewrite(patch, "postgres", "answer_offers", " AND fairhold_offers.outcome IS NULL", "")
        _rewrite(patch, "postgres", "update_pools", " AND fairhold_pools.log_hash = v14", "")
    else:
        _rewrite(patch, "sqlite", "update_bookings", " AND state = ?3 AND offer_seq = ?4", "")
        _rewrite(patch, "sqlite", "answer_offers", " AND outcome IS NULL", "")
        _rewrite(patch, "sqlite", "update_pools", " AND log_hash = ?14", " AND ?14 IS NOT NULL")


def without_windows(patch: pytest.MonkeyPatch, url: str) -> None:
    """Writes do not ask whether an offer that is claimed is still within its window."""
    if dialect_of(url) == "postgres":
        _rewrite(
            patch,
            "postgres",
            "answer_offers",
            "(v4 IS NULL OR v4 <> 'claimed' OR fairhold_offers.expires_at > v5)",
            "true",
        )
    else:
        window = "(?4 IS NULL OR ?4 <> 'claimed' OR expires_at > ?5)"
        _rewrite(patch, "sqlite", "answer_offers", window, "true")


async def without_keys(url: str) -> None:
    """Nothing keeps two rows from having the same key."""
    keys = {
        "fairhold_bookings": "fairhold_bookings_pkey",
        "fairhold_log": "fairhold_log_pkey",
        "fairhold_outbox": "fairhold_told_once",
    }
    if dialect_of(url) == "postgres":
        for index in ("fairhold_one_place_in_line", "fairhold_line_order"):
            await ask(url, f"DROP INDEX {index}")
        for table, key in keys.items():
            await ask(url, f"ALTER TABLE {table} DROP CONSTRAINT {key}")
        return
    for table in keys:
        where = f"type = 'index' AND tbl_name = '{table}' AND sql IS NOT NULL"
        indexes = await ask(url, f"SELECT replace(sql, 'UNIQUE', '') FROM sqlite_schema WHERE {where}")
        await ask(url, f"CREATE TABLE free_{table} AS SELECT * FROM {table}")
        await ask(url, f"DROP TABLE {table}")
        await ask(url, f"ALTER TABLE free_{table} RENAME TO {table}")
        for (index,) in indexes:
            await ask(url, index)


def _rewrite(patch: pytest.MonkeyPatch, dialect: str, name: str, old: str, new: str) -> None:
    query = QUERIES[dialect][name]
    assert old in query, f"{name} has changed: teach this control anew"
    patch.setitem(QUERIES[dialect], name, query.replace(old, new))
    _forget_statements(patch)
