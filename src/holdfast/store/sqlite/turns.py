"""Whose turn it is to write: there is one connection for that."""

from __future__ import annotations

import asyncio


class Turns:
    """One after the other; but who has its turn may let others share it, as long as nobody waits."""

    def __init__(self) -> None:
        self._free = asyncio.Lock()
        self._sharing = 0
        self._waiting = 0

    async def take(self) -> None:
        """Wait for a turn of one's own."""
        self._waiting += 1
        try:
            await self._free.acquire()
        finally:
            self._waiting -= 1
        self._sharing = 1

    def share(self) -> bool:
        """Share the turn that somebody has; but not past those who wait: they might wait for ever."""
        if not self._sharing or self._waiting:
            return False
        self._sharing += 1
        return True

    def give_back(self) -> None:
        """It is over when all who share it are done."""
        self._sharing -= 1
        if not self._sharing:
            self._free.release()
