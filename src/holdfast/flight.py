"""A batch on its way into the database."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

from holdfast.batch import Batch

# So long, in seconds, those who come may be taken along with the one that follows.
_YOUNG_S: Final = 1.0
# So long, in seconds, those whom it answers may wait until the next is decided and sent off.
_SOON_S: Final = 0.02


class Flight:
    """A batch that was decided ahead, on its way into the database; and the one to follow it."""

    def __init__(self, batch: Batch) -> None:
        self.batch = batch
        self.task: asyncio.Task[bool]
        self.next: Batch | None = None
        self.following: Flight | None = None
        self._written = False
        self._decided = asyncio.Event()
        self._decided.set()
        self._old_at = asyncio.get_running_loop().time() + _YOUNG_S

    def is_young(self) -> bool:
        """Whether it is not written yet, and may well be soon: nobody else shall wait for a database that is
        stuck."""
        goes_on = not self._written and not self.task.done()
        return goes_on and asyncio.get_running_loop().time() < self._old_at

    @contextmanager
    def deciding(self) -> Iterator[None]:
        """While this lasts the next is being decided."""
        self._decided.clear()
        try:
            yield
        finally:
            self._decided.set()

    async def written(self) -> None:
        """It is written; returns as soon as the next is not being decided any more, or that takes too long.

        Answered at once, all of this one would ask again before the next is decided. Meanwhile the database
        would have nothing to do; and after that everybody would be in one of two batches, and we would not.
        """
        self._written = True
        if not self._decided.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(_SOON_S):
                    await self._decided.wait()
