"""Processes that kill themselves with SIGKILL at one step of the writing transaction.

`python -m tests.engine.crasher` reads one task (JSON) per line, and forks a process for each, which is much
quicker than starting one. That process opens the database, books and cancels in one transaction, and says
each step that it takes. At the end comes "ended" with how it ended.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Awaitable
from typing import Any

from fairhold import Fairhold, granted
from fairhold.store.sqlite.transaction import SqliteTransaction
from tests.database import SECRET

PARTIES = ("Ann", "Bea")


class Fate:
    """Counts the steps, says their names, and strikes before or after one of them."""

    def __init__(self, step: int, when: str) -> None:
        self._strike_at = (step, when)
        self._step = 0

    async def step(self, name: str, call: Awaitable[Any]) -> Any:
        self._step += 1
        print(f"step {name}", flush=True)
        self._strike("before")
        found = await call
        self._strike("after")
        return found

    def _strike(self, when: str) -> None:
        if self._strike_at == (self._step, when):
            os.kill(os.getpid(), signal.SIGKILL)


class DoomedTransaction:
    """A transaction whose every statement is a step."""

    def __init__(self, tx: Any, fate: Fate) -> None:
        self._tx, self._fate = tx, fate

    def __getattr__(self, method: str) -> Any:
        call = getattr(self._tx, method)

        async def step(*args: Any) -> Any:
            named = f"{method} {args[0]}" if args and isinstance(args[0], str) else method
            return await self._fate.step(named, call(*args))

        return step


async def begin_nothing(*_: Any) -> None:
    """As if there were no transactions: every statement commits by itself."""


async def book_and_cancel(url: str, pool: str, olga: str, step: int, when: str, together: bool) -> None:
    async with Fairhold.open(url, secret=SECRET, ticker=False) as hf:
        # Known from here on, so that both commands come to the queue at once.
        granted(await hf.booking(olga))
        granted(await hf.pool(pool))
        if not together:
            SqliteTransaction._begin = begin_nothing  # type: ignore[method-assign]
        begin = make_doomed(hf, Fate(step, when))
        await asyncio.gather(
            hf.book(pool, "Zoe", idempotency_key=f"{pool} book"),
            hf.cancel(olga, idempotency_key=f"{pool} cancel"),
        )
        print("answered", flush=True)
        hf.store.begin = begin  # type: ignore[method-assign]


async def hold_ahead(url: str, pool: str, step: int, when: str) -> None:
    """Two holds of one transaction that is decided without a lock."""
    async with Fairhold.open(url, secret=SECRET, ticker=False) as hf:
        granted(await hf.book(pool, "Olga"))
        ahead = hf.engine.batches_ahead
        if when == "within":
            _strike_within(hf.store, step)
        else:
            make_doomed(hf, Fate(step, when))
        await asyncio.gather(*(hf.book(pool, party, idempotency_key=f"{pool} {party}") for party in PARTIES))
        assert hf.engine.batches_ahead == ahead + 1
        print("answered", flush=True)


def make_doomed(hf: Fairhold, fate: Fate) -> Any:
    """Make a step of everything that transactions do; return how they began before."""
    begin = hf.store.begin

    async def begin_doomed(**how: Any) -> Any:
        return DoomedTransaction(await fate.step("begin", begin(**how)), fate)

    hf.store.begin = begin_doomed  # type: ignore[method-assign]
    return begin


def _strike_within(store: Any, operations: int) -> None:
    """Strike after so many operations of the machine inside SQLite that writes."""
    left = operations

    def count() -> int:
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return 0

    store._writer.set_progress_handler(count, 1)


def main() -> None:
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            task = json.loads(line)
            asyncio.run(book_and_cancel(**task) if "olga" in task else hold_ahead(**task))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        print(f"ended {os.waitstatus_to_exitcode(status)}", flush=True)


if __name__ == "__main__":
    main()
