"""Those who wait for the same: a bell that rings for all of them, and one look for all who ask at a time.

Ten thousand who watch one event wake together and ask the same. While a look is under way the next askers
gather: so each sees at least what was committed when it asked, and there are as few looks as can be.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Any, Final, TypeVar

T = TypeVar("T")

_AT_ONCE: Final = 100


class Bell:
    """Rings once. Take it before looking, so that nothing comes in between."""

    __slots__ = ("_waiting", "rung")

    def __init__(self) -> None:
        self.rung = False
        self._waiting: set[asyncio.Future[bool]] = set()

    def ring(self) -> None:
        self.rung = True
        self._wake(self._waiting)

    def beat(self) -> None:
        """Let all who wait say that they are still here."""
        waiting, self._waiting = self._waiting, set()
        self._wake(waiting)

    def _wake(self, waiting: set[asyncio.Future[bool]]) -> None:
        """In each turn of the event loop some: whoever asks for something is answered in between."""
        for _ in range(min(_AT_ONCE, len(waiting))):
            future = waiting.pop()
            if not future.done():
                future.set_result(self.rung)
        if waiting:
            asyncio.get_running_loop().call_soon(self._wake, waiting)

    async def wait(self) -> bool:
        """Whether it has rung; else it was a beat."""
        if self.rung:
            return True
        future: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiting.add(future)
        try:
            return await future
        finally:
            self._waiting.discard(future)


class Together:
    """Answers who ask the same with one look."""

    def __init__(self) -> None:
        self._asked: dict[Hashable, list[asyncio.Future[Any]]] = {}
        self._tasks: dict[Hashable, asyncio.Task[None]] = {}

    async def ask(self, what: Hashable, look: Callable[[], Awaitable[T]]) -> T:
        """What a look finds that began after this was asked. Whose `look` it is does not matter."""
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._asked.setdefault(what, []).append(future)
        if what not in self._tasks:
            self._tasks[what] = asyncio.create_task(self._answer(what, look), name="fairhold-together")
        return await future

    async def _answer(self, what: Hashable, look: Callable[[], Awaitable[T]]) -> None:
        try:
            while asked := self._asked.pop(what, None):
                try:
                    found = await look()
                except BaseException as error:
                    for future in asked:
                        if not future.done():
                            future.set_exception(error)
                    if not isinstance(error, Exception):
                        raise
                    continue
                for future in asked:
                    if not future.done():
                        future.set_result(found)
        finally:
            del self._tasks[what]
