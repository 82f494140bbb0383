"""A batch on its way into the database."""

from __future__ import annotations

import asyncio
from typing import Final

from holdfast.batch import Batch

# So long, in seconds, those who come may be taken along with the one that follows.
_YOUNG_S: Final = 1.0


class Flight:
    """A batch that was decided ahead, on its way into the database; and the one to follow it."""

    def __init__(self, batch: Batch) -> None:
        self.batch = batch
        self.task: asyncio.Task[bool]
        self.next: Batch | None = None
        self.following: Flight | None = None
        self._old_at = asyncio.get_running_loop().time() + _YOUNG_S

    def is_young(self) -> bool:
        """Whether it goes on, has nobody following yet, and may well end soon: nobody else shall wait for a
        database that is stuck."""
        goes_on = self.following is None and not self.task.done()
        return goes_on and asyncio.get_running_loop().time() < self._old_at
