"""Looks at the database: those who ask for a booking at the same time are answered by one.

A hot event has thousands who look where they stand. While one look is under way the next askers gather; each
sees at least what was committed when it asked, and all of a look see the same moment.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final

from holdfast.shapes import Booking

Key = tuple[int, int]
Look = Callable[[Sequence[Key]], Awaitable[Mapping[Key, Booking]]]

_MOST: Final = 256


class Looks:
    """Gathers who asks. One look at a time: it takes a millisecond or two, or the database is ill."""

    def __init__(self, look: Look) -> None:
        self._look = look
        self._asked: list[tuple[Key, asyncio.Future[Booking | None]]] = []
        self._task: asyncio.Task[None] | None = None

    async def ask(self, key: Key) -> Booking | None:
        """A booking by its pool and number; None where there is none. Raises Unavailable or Closing."""
        future: asyncio.Future[Booking | None] = asyncio.get_running_loop().create_future()
        self._asked.append((key, future))
        if self._task is None:
            self._task = asyncio.create_task(self._answer_all(), name="holdfast-looks")
        return await future

    async def _answer_all(self) -> None:
        try:
            while self._asked:
                asked, self._asked = self._asked[:_MOST], self._asked[_MOST:]
                await self._answer([it for it in asked if not it[1].done()])
        finally:
            self._task = None

    async def _answer(self, asked: Sequence[tuple[Key, asyncio.Future[Booking | None]]]) -> None:
        try:
            found = await self._look(list(dict.fromkeys(key for key, _ in asked)))
        except BaseException as error:
            for _, future in asked:
                if not future.done():
                    future.set_exception(error)
            if not isinstance(error, Exception):
                raise
            return
        for key, future in asked:
            if not future.done():
                future.set_result(found.get(key))
