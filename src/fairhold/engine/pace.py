"""When callers that are turned away may come again."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from typing import Final

_RETRY_MAX_S: Final = 300


class Pace:
    """The pace at which jobs were answered of late, and the promises that were made by it.

    Each caller that is turned away is told a moment of its own. If all were told the same one they would all
    come then, and most of them in vain.
    """

    def __init__(self) -> None:
        # Jobs answered since the pace was last looked at.
        self.count = 0
        self.time: Callable[[], float] = lambda: asyncio.get_running_loop().time()
        self._since = 0.0
        self._per_s = 1_000.0
        self._free_at = 0.0

    def seconds(self, waiting: int) -> int:
        """Return after how long there is room for one more, behind those who wait or were turned away."""
        now = self.time()
        passed = now - self._since
        if passed >= 1:
            if passed < 5:
                self._per_s = max(1.0, self.count / passed)
            self.count, self._since = 0, now
        self._free_at = max(self._free_at, now + waiting / self._per_s) + 1 / self._per_s
        return min(_RETRY_MAX_S, max(1, math.ceil(self._free_at - now)))
