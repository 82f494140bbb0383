"""The thread that waits for the disk, so that the event loop need not."""

from __future__ import annotations

import asyncio
import sqlite3
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Event
from typing import Any, Final

from fairhold.errors import Unavailable

# Python's threads take turns, and a busy event loop gives up its turn late. So it waits until the other
# thread has come to SQLite, which needs no turn.
_STARTED_S: Final = 0.01


class CommitThread:
    """Runs statements that wait for the disk, one after the other."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "fairhold-commit")

    def start(self) -> None:
        """Start the thread now: one that cannot start must not be given a COMMIT. Raise Unavailable."""
        try:
            self._thread.submit(int).result()
        except RuntimeError as error:
            raise Unavailable(f"SQLite: {error}") from error

    def close(self) -> None:
        """Finish what was begun."""
        self._thread.shutdown()

    async def run(self, connection: sqlite3.Connection, statement: str) -> Any:
        """Run one statement and return its first row. It is over when this ends, even by being cancelled."""
        started = Event()

        def work() -> Any:
            started.set()
            return connection.execute(statement).fetchone()

        done: Future[Any] = self._thread.submit(work)
        started.wait(_STARTED_S)
        try:
            return await asyncio.shield(asyncio.wrap_future(done))
        except (asyncio.CancelledError, KeyboardInterrupt):
            # The caller goes away, the disk goes on: nobody may begin before it is done.
            done.exception()
            raise
