"""Looks at the database: those who ask for a booking at the same time are answered by one.

A hot event has thousands who look where they stand. While one look is under way the next askers gather; each
sees at least what was committed when it asked, and all of a look see the same moment.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final

from fairhold.errors import FairholdError
from fairhold.shapes import Booking

Key = tuple[int, int]
Asked = tuple[Key, asyncio.Future[Booking | None]]
Look = Callable[[Sequence[Key]], Awaitable[Mapping[Key, Booking]]]

_MOST: Final = 256


class Looks:
    """Gathers who asks. One look at a time: it takes a millisecond or two, or the database is ill."""

    def __init__(self, look: Look) -> None:
        self._look = look
        self._asked: list[Asked] = []
        self._task: asyncio.Task[None] | None = None

    async def ask(self, key: Key) -> Booking | None:
        """A booking by its pool and number; None where there is none. Raises Unavailable or Closing."""
        future: asyncio.Future[Booking | None] = asyncio.get_running_loop().create_future()
        self._asked.append((key, future))
        if self._task is None:
            self._task = asyncio.create_task(self._answer_all(), name="fairhold-looks")
        return await future

    async def _answer_all(self) -> None:
        try:
            while self._asked:
                asked, self._asked = self._asked[:_MOST], self._asked[_MOST:]
                await self._answer([it for it in asked if not it[1].done()])
        finally:
            self._task = None

    async def _answer(self, asked: Sequence[Asked]) -> None:
        try:
            found = await self._look(list(dict.fromkeys(key for key, _ in asked)))
        except Exception as error:  # noqa: BLE001  # who asked is told
            if isinstance(error, FairholdError):
                # It takes its time to fail. Who has gathered meanwhile would wait for the next to fail, too.
                asked, self._asked = [*asked, *self._asked], []
            elif len(asked) > 1:
                # One that cannot be shown must not keep the others from theirs.
                await self._answer(asked[: len(asked) // 2])
                await self._answer(asked[len(asked) // 2 :])
                return
            _fail(asked, error)
        except BaseException as error:
            asked, self._asked = [*asked, *self._asked], []
            _fail(asked, error)
            raise
        else:
            for key, future in asked:
                if not future.done():
                    future.set_result(found.get(key))


def _fail(asked: Sequence[Asked], error: BaseException) -> None:
    for _, future in asked:
        if not future.done():
            future.set_exception(error)
