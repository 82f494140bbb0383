"""The real service with something taken away or broken, for controls and for faults of the machine.

`python -m tests.guarantees.broken serve …` is `holdfast serve …`, but for what BROKEN names. A fault that
comes and goes is there while the file BROKEN_FILE is; what that file says is how far the clock is off.
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

from holdfast import batch, door, engine, inputs, local_times
from holdfast import clock as clocks
from holdfast.cli.main import main
from holdfast.console import site
from holdfast.console import wording as console
from holdfast.errors import CommandFailed
from holdfast.http import endpoint
from holdfast.keeping import table
from holdfast.outbox import loop
from holdfast.pages import wording as pages
from holdfast.store import sqlite as sqlites
from holdfast.store.postgres import store as postgres_store
from holdfast.store.postgres.store import PostgresTransaction
from holdfast.store.sqlite.store import SqliteStore
from holdfast.ticker import Ticker
from holdfast.verify.replay import Replay

FILE = Path(os.environ.get("BROKEN_FILE", "/nowhere"))


# Faults.


def clock_that_is_set() -> None:
    """The machine's clock is off by as many seconds as the file says."""
    wall, steady = clocks._wall, clocks._steady

    def off() -> int:
        return wall() + (int(FILE.read_text() or 0) * 1_000 if FILE.exists() else 0)

    clocks.SystemClock.__init__.__defaults__ = (off, steady)  # type: ignore[attr-defined]


def full_disk() -> None:
    """SQLite finds no more room than it has, while the file is there."""
    begin = SqliteStore._begin

    async def begin_full(self: SqliteStore, writer: sqlite3.Connection) -> None:
        pages = writer.execute("PRAGMA page_count").fetchone()[0] if FILE.exists() else 1 << 30
        writer.execute(f"PRAGMA max_page_count = {pages}")
        await begin(self, writer)

    SqliteStore._begin = begin_full  # type: ignore[method-assign]


def short_deadline() -> None:
    """A silent PostgreSQL is given up after a second."""
    postgres_store._DEADLINE_S = 1.0  # type: ignore[misc]


def no_timers() -> None:
    async def sleep(self: Ticker) -> None:
        pass

    Ticker.start = sleep  # type: ignore[method-assign]


# Protections.


def one_by_one() -> None:
    """Every write commits by itself."""

    async def many(self: PostgresTransaction, name: str, rows: Any) -> int:
        written = await together(self, name, rows)
        await self._connection.execute("COMMIT")
        await self._connection.execute("BEGIN")
        return written

    together = PostgresTransaction.many
    PostgresTransaction.many = many  # type: ignore[method-assign]
    batch.may_go_ahead = lambda command: False  # type: ignore[assignment]


def no_scope() -> None:
    """A query finds what it is asked for, whosever it is."""
    for name, query in sqlites.bulk.QUERIES.items():
        sqlites.bulk.QUERIES[name] = re.sub(r"\borg = (\?\d)", r"(org = \1 OR \1 = \1)", query)  # type: ignore[index]


def no_origin() -> None:
    """Nobody asks where a form comes from, nor for the session's token."""
    endpoint.must_be_from_here = site.must_be_from_here = lambda *_: None
    endpoint.cookies.must_say = lambda *_: None  # type: ignore[assignment]


def no_escaping() -> None:
    for wording in (pages, console):
        make = wording.environment

        def raw(language: str, make: Any = make) -> Any:
            env = make(language)
            env.autoescape = False
            return env

        wording.environment = raw  # type: ignore[assignment]


def no_prefix() -> None:
    table.cell = lambda value: "" if value is None else str(value)


def no_fingerprint() -> None:
    door.digest_of = lambda *_: b"the same"


def no_second_try() -> None:
    loop.ATTEMPTS_MAX = 1  # type: ignore[misc]


def no_look_at_local_times() -> None:
    local_times.problem = lambda *_: None  # type: ignore[assignment]
    local_times.exists = lambda *_: True  # type: ignore[assignment]
    assert inputs.local_times is local_times


def no_chain() -> None:
    Replay._chain = lambda *_: None  # type: ignore[method-assign,assignment]
    Replay._check_end = lambda *_: None  # type: ignore[method-assign,assignment]


def no_trying_alone() -> None:
    """If a batch fails, all that is in it has failed."""

    async def together(self: engine.Engine, jobs: Any) -> None:
        made = self._batch(jobs)
        try:
            await made.carry_out()
        except Exception as bug:  # noqa: BLE001
            self._fail(jobs, CommandFailed(str(bug)))
        else:
            self._answer(made)

    engine.Engine._carry_out_under_lock = together  # type: ignore[method-assign]


WAYS: dict[str, Callable[[], None]] = {way.__name__: way for way in (
    clock_that_is_set, full_disk, short_deadline, no_timers, one_by_one, no_scope, no_origin, no_escaping,
    no_prefix, no_fingerprint, no_second_try, no_look_at_local_times, no_chain, no_trying_alone,
)}  # fmt: skip

if __name__ == "__main__":
    for name in os.environ["BROKEN"].split():
        WAYS[name]()
    main()
