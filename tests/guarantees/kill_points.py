"""A service that dies by SIGKILL at one step of its writing transaction: the file "kill" says at which."""

from __future__ import annotations

import os
import signal
from contextvars import ContextVar
from typing import Any

from fairhold.core import commands as c
from fairhold.engine.batch import Batch
from fairhold.store.postgres.store import PostgresStore, PostgresTransaction
from fairhold.store.sqlite.store import SqliteStore
from fairhold.store.sqlite.transaction import SqliteTransaction
from tests.guarantees.switches import PLACE, on

# Whether this is about what somebody asked for: timers and messages are written beside it.
ASKED_FOR: ContextVar[bool] = ContextVar("asked for", default=False)


def kill_points() -> None:
    """A step is "before" or "after", and then what is done: "begin", "many insert_log" or "commit"."""
    for store in (PostgresStore, SqliteStore):
        _make_step(store, "begin", named=False)
    for transaction in (PostgresTransaction, SqliteTransaction):
        for method in ("rows", "many"):
            _make_step(transaction, method, named=True)
        for method in ("finish", "commit"):
            _make_step(transaction, method, named=False)
    for method in ("carry_out", "append"):
        _note_what_is_asked_for(method)


def _make_step(owner: Any, method: str, *, named: bool) -> None:
    usual = getattr(owner, method)

    async def step(self: Any, *args: Any, **options: Any) -> Any:
        name = f"{method} {args[0]}" if named else method
        _strike(f"before {name}")
        found = await usual(self, *args, **options)
        _strike(f"after {name}")
        return found

    setattr(owner, method, step)


def _strike(moment: str) -> None:
    if on("kill") and ASKED_FOR.get() and (PLACE / "kill").read_text() == moment:
        os.kill(os.getpid(), signal.SIGKILL)


def _note_what_is_asked_for(method: str) -> None:
    usual = getattr(Batch, method)

    async def noted(self: Batch) -> None:
        token = ASKED_FOR.set(any(not isinstance(job.command, c.Tick) for job in self.jobs))
        try:
            await usual(self)
        finally:
            ASKED_FOR.reset(token)

    setattr(Batch, method, noted)
