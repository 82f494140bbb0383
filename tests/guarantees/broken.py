"""The real service, in which things can be broken and protections taken away while it runs.

`python -m tests.guarantees.broken serve …` is `fairhold serve …`. In the folder that BROKEN names, a file for
each thing that is broken now says so by being there, and by what it says how much.
"""

from __future__ import annotations

import asyncio
import re
from typing import Any

from fairhold import clock as clocks
from fairhold import door, local_times
from fairhold.cli.main import main
from fairhold.console import site
from fairhold.console import wording as console
from fairhold.engine import engine
from fairhold.engine.limits import Limits
from fairhold.engine.ticker import Ticker
from fairhold.errors import CommandFailed
from fairhold.http import endpoint
from fairhold.keeping import table
from fairhold.outbox import fate
from fairhold.pages import wording as pages
from fairhold.store.postgres import connections
from fairhold.store.postgres import store as postgres
from fairhold.store.postgres.readers import PostgresReader, PostgresSnapshot
from fairhold.store.postgres.store import PostgresStore, PostgresTransaction
from fairhold.store.sqlite import transaction as sqlite
from fairhold.store.sqlite.store import SqliteStore
from fairhold.store.sqlite.transaction import SqliteTransaction
from fairhold.verify.replay import Replay
from tests.guarantees.kill_points import kill_points
from tests.guarantees.switches import PLACE, PROGRAM, broken, instead, on
from tests.guarantees.unguarded import UNGUARDED

__all__ = ["PROGRAM", "broken"]

# Faults.


def set_clock() -> None:
    """The machine's clock is off by as many seconds as the file says."""
    steady = clocks._steady

    def off(wall: Any) -> int:
        return int(wall() + int((PLACE / "clock").read_text() or 0) * 1_000)

    instead(clocks, "_wall", "clock", off)
    clocks.SystemClock.__init__.__defaults__ = (clocks._wall, steady)  # type: ignore[attr-defined]


def full_disk() -> None:
    """SQLite finds no more room than it has."""
    begin = SqliteStore.begin

    async def begin_full(self: SqliteStore, **how: bool) -> SqliteTransaction:
        tx, writer = await begin(self, **how), self._writer
        assert writer is not None
        room = writer.execute("PRAGMA page_count").fetchone()[0] if on("full disk") else 1 << 30
        writer.execute(f"PRAGMA max_page_count = {room}")
        return tx

    SqliteStore.begin = begin_full  # type: ignore[method-assign]


def short_deadline() -> None:
    """A silent PostgreSQL is given up after a second."""
    make = PostgresTransaction.__init__

    def impatient(self: PostgresTransaction, *args: Any) -> None:
        connections.ANSWER_S = 1.0 if on("short deadline") else 10.0  # type: ignore[misc]
        make(self, *args)

    PostgresTransaction.__init__ = impatient  # type: ignore[method-assign]


def no_timers() -> None:
    async def nothing(*_: Any) -> dict[int, Any]:
        # Whoever looks again at once would keep all others from their turn.
        await asyncio.sleep(0.02)
        return {}

    instead(Ticker, "_start_ticks", "no timers", nothing)


# Protections.


def durable_commits() -> None:
    """Without it a commit is as durable as the server's default has it. Looked at when one connects."""
    if on("no durable commits"):
        postgres.QUERIES["durable_commits"] = "SELECT 1"  # type: ignore[index]


def one_transaction() -> None:
    """Without it every write commits by itself."""

    async def alone(many: Any, self: Any, name: str, rows: Any) -> int:
        written: int = await many(self, name, rows)
        for statement in ("COMMIT", "BEGIN"):
            done = self._connection.execute(statement)
            if isinstance(self, PostgresTransaction):
                await done
        return written

    for kind in (PostgresTransaction, SqliteTransaction):
        instead(kind, "many", "no one transaction", alone)
    # Not one statement either, which cannot be torn apart.
    instead(PostgresStore, "batch_statement", "no one transaction", lambda *_: None)


def scope() -> None:
    """Without it a query finds what it is asked for, whosever it is."""

    def anybodys(fetch: Any, connection: Any, name: str, values: Any) -> Any:
        query = re.sub(r"\b(\w+\.)?org = (\?\d)", r"\2 = \2", sqlite.QUERIES[name])
        return connection.execute(query, [sqlite.plain(value) for value in values]).fetchall()

    def unscoped(name: str) -> str:
        return re.sub(r"\b(\w+\.)?org = (\$\d)", r"\2::text = \2::text", postgres.QUERIES[name])

    async def anybodys_elsewhere(_: Any, self: PostgresReader, name: str, *values: Any) -> Any:
        async with self._pool.acquire() as connection:
            return await connection.fetch(unscoped(name), *values)

    async def anybodys_at_one_moment(_: Any, self: PostgresSnapshot, name: str, *values: Any) -> Any:
        return await self._connection.fetch(unscoped(name), *values)

    instead(sqlite, "fetch", "no scope", anybodys)
    instead(PostgresReader, "rows", "no scope", anybodys_elsewhere)
    instead(PostgresSnapshot, "rows", "no scope", anybodys_at_one_moment)


def origin() -> None:
    """Without it nobody asks where a form comes from, nor for the session's token."""
    for place in (endpoint, site):
        instead(place, "must_be_from_here", "no origin", lambda *_: None)
    instead(endpoint.cookies, "must_say", "no origin", lambda *_: None)


def escaping() -> None:
    def raw(usual: Any, language: str) -> Any:
        env = usual.__wrapped__(language)
        env.autoescape = False
        return env

    for wording in (pages, console):
        instead(wording, "environment", "no escaping", raw)


def prefix() -> None:
    instead(table, "cell", "no prefix", lambda _, value: "" if value is None else str(value))


def fingerprint() -> None:
    instead(door, "digest_of", "no fingerprint", lambda *_: b"the same")


def look_at_local_times() -> None:
    instead(local_times, "problem", "no look at local times", lambda *_: None)
    instead(local_times, "exists", "no look at local times", lambda *_: True)


def trying_again() -> None:
    at_once = "no trying again", lambda _, state, __: "dead" if state == "pending" else state
    instead(fate, "_given_up_at_last", *at_once)


def limits() -> None:
    instead(Limits, "refusal", "no limits", lambda *_: None)


def chain() -> None:
    instead(Replay, "_chain", "no chain", lambda *_: None)
    instead(Replay, "_check_end", "no chain", lambda *_: None)


def trying_alone() -> None:
    """Without it all that is in a batch has failed if the batch has."""

    async def together(_: Any, self: engine.Engine, jobs: Any) -> None:
        made = self._batch(jobs)
        try:
            await made.carry_out()
        except Exception as bug:  # noqa: BLE001
            self._fail(jobs, CommandFailed(str(bug)))
        else:
            self._answer(made)

    instead(engine.Engine, "_carry_out_under_lock", "no trying alone", together)


FAULTS = (set_clock, full_disk, short_deadline, no_timers)
PROTECTIONS = (durable_commits, one_transaction, scope, origin, escaping, prefix, fingerprint)
PROTECTIONS += (look_at_local_times, trying_again, limits, chain, trying_alone)

if __name__ == "__main__":
    # Last what strikes after a step, however that is done.
    for way in (*FAULTS, *PROTECTIONS, *UNGUARDED, kill_points):
        way()
    main()
