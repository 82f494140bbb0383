"""A batch on its way into the database."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

from fairhold.batch import Batch

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
        """Whether it is still to be written, and may well be soon: nobody waits for a stuck database."""
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

    async def wait_for_next(self) -> None:
        """It is written: if the next is being decided, wait until it is, unless that takes long.

        Answered at once, all of this one would ask again before the next is decided, while the database has
        nothing to do. After that, all would be in the two batches, and this thread would have nothing to do.
        """
        self._written = True
        if not self._decided.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(_SOON_S):
                    await self._decided.wait()
