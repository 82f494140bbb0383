"""The scribe: a thread for what waits for the disk, one sheet after the other.

The event loop hands a sheet over and hears when it is done. While one is being written the next can be lined
up behind it: then the scribe goes on with that by itself, and neither need wake the other in between. It does
so only if the one before was done: what stands on something that never came to be must not be begun.
"""

from __future__ import annotations

import asyncio
import atexit
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any, Final

_STARTED_S: Final = 0.01


class Sheet:
    """Some work for the scribe, and what has come of it."""

    __slots__ = ("_over", "_started", "done", "following", "work")

    def __init__(self, work: Callable[[], Any], done: asyncio.Future[Any]) -> None:
        self.work = work
        self.done = done
        self.following: Sheet | None = None
        # Each is held until it is so.
        self._started, self._over = Lock(), Lock()
        self._started.acquire()
        self._over.acquire()

    @property
    def has_started(self) -> bool:
        return not self._started.locked()

    @property
    def is_over(self) -> bool:
        return not self._over.locked()

    def start(self) -> None:
        self._started.release()

    def end(self) -> None:
        self._over.release()

    def wait_for_start(self, most_s: float) -> None:
        if self._started.acquire(timeout=most_s):
            self._started.release()

    def wait(self) -> None:
        """Return when it is over, and let nobody else do anything before."""
        with self._over:
            pass

    def tell(self, found: Any, failed: BaseException | None) -> None:
        """What came of it; whoever waited for it may have gone away."""
        if not self.done.done():
            if failed is None:
                self.done.set_result(found)
            else:
                self.done.set_exception(failed)


class Scribe:
    """Does what it is handed, in order."""

    def __init__(self) -> None:
        self._sheets: SimpleQueue[Sheet | None] = SimpleQueue()
        self._lining_up = Lock()
        self._thread: Thread | None = None
        self._loop: asyncio.AbstractEventLoop

    def start(self) -> None:
        """Raises RuntimeError if there can be no thread."""
        self._loop = asyncio.get_running_loop()
        thread = Thread(target=self._work, name="fairhold-scribe", daemon=True)
        thread.start()
        self._thread = thread
        # A program that forgets to close us may end all the same, but not in the middle of a sheet.
        atexit.register(self.close)

    def close(self) -> None:
        """Finish what was handed over."""
        if self._thread is not None:
            self._sheets.put(None)
            self._thread.join()
            self._thread = None
            atexit.unregister(self.close)

    def hand_over(self, work: Callable[[], Any]) -> Sheet:
        """Have this done. Raises RuntimeError if nobody is there to do it."""
        if self._thread is None:
            raise RuntimeError("the scribe has gone")
        sheet = Sheet(work, self._loop.create_future())
        self._sheets.put(sheet)
        # Threads take turns by Python's lock, and while this one is busy the other would get it late. So it
        # goes first: soon SQLite is at work, which needs the lock no more.
        sheet.wait_for_start(_STARTED_S)
        return sheet

    def line_up(self, work: Callable[[], Any], behind: Sheet) -> Sheet | None:
        """Have this done straight behind another; None if that is over already."""
        sheet = Sheet(work, self._loop.create_future())
        with self._lining_up:
            if behind.is_over:
                return None
            assert behind.following is None, "two cannot be the next"
            behind.following = sheet
        return sheet

    def _work(self) -> None:
        while (sheet := self._sheets.get()) is not None:
            sheet.start()
            following: Sheet | None = sheet
            while following is not None:
                following = self._do(following)

    def _do(self, sheet: Sheet) -> Sheet | None:
        """Do it, and tell of it; the next one, if it was lined up and may begin."""
        found, failed = None, None
        try:
            found = sheet.work()
        except BaseException as error:  # noqa: BLE001  # whatever it is, it is for who waits
            failed = error
        with self._lining_up:
            following = sheet.following if failed is None else None
            if following is not None:
                # Before anybody hears of this one: by then it is settled what has begun.
                following.start()
            sheet.end()
        # A loop that was closed has nobody who waits.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(sheet.tell, found, failed)
        return following
