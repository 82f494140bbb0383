"""An event loop whose time is made up: when nothing is left to do, it leaps to the next thing that is due.

So an hour takes no time, and the same seed does the same things in the same order.
"""

from __future__ import annotations

import asyncio
import contextvars
import selectors
import sqlite3
from collections.abc import Coroutine
from typing import Any

from fairhold.store.sqlite.committing import CommitThread


class StuckError(Exception):
    """Everybody waits and nothing is due: somebody was forgotten."""


class _Leaping(selectors.DefaultSelector):
    """Never waits: hands the time that would have been waited to the loop."""

    loop: VirtualLoop

    def select(self, timeout: float | None = None) -> Any:
        found = super().select(0)
        if not found:
            if timeout is None:
                raise StuckError("everybody waits, and nothing is due")
            self.loop.leap(timeout)
        return found


class VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._virtual = 0.0
        selector = _Leaping()
        selector.loop = self
        super().__init__(selector)

    def time(self) -> float:
        return self._virtual

    def leap(self, seconds: float) -> None:
        # A little more than asked, or rounding could make it ask for ever.
        self._virtual += max(seconds, 0.0) + 1e-9


class AtOnce(CommitThread):
    """Does in place what a thread would do: threads come in another order each time."""

    def start(self) -> None:
        pass

    async def run(self, connection: sqlite3.Connection, statement: str) -> Any:
        return connection.execute(statement).fetchone()


OWNER: contextvars.ContextVar[set[asyncio.Task[Any]] | None] = contextvars.ContextVar("owner", default=None)


def owned_tasks(
    loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, Any], **options: Any
) -> asyncio.Task[Any]:
    """Makes tasks as usual, and notes whose they are: a node that is killed takes all of its own along."""
    task: asyncio.Task[Any] = asyncio.Task(work, loop=loop, **options)
    if (owner := OWNER.get()) is not None:
        owner.add(task)
        task.add_done_callback(owner.discard)
    return task
