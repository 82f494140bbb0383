"""The connection that listens: other processes say there that something is due earlier, or messages wait."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from typing import Final

import asyncpg

from fairhold.store.base import News
from fairhold.store.postgres.bulk import QUERIES
from fairhold.store.postgres.connections import connect, deadline

log = logging.getLogger("fairhold")

_CLOSE_S: Final = 2.0
_PAUSE_S: Final = 0.1
_PAUSE_MAX_S: Final = 5.0
# How often the connection is asked whether it is there, and how long it may take to say so.
_PULSE_S: Final = 3.0
_PULSE_DEADLINE_S: Final = 3.0


class Listening:
    """Listens for good, on one connection after the other."""

    def __init__(self, url: str, ask_channel: str) -> None:
        self._url = url
        self._ask_channel = ask_channel
        self._woken: list[tuple[Callable[[], None], News | None]] = []
        self._task: asyncio.Task[None] | None = None
        self._connecting = False
        self._closed = False

    def add(self, woken: Callable[[], None], about: News | None = None) -> None:
        """Call `woken`, too, when something is heard about this, or about anything."""
        self._woken.append((woken, about))
        if self._task is None:
            self._task = asyncio.create_task(self._run(), name="fairhold-listening")

    async def close(self) -> None:
        self._closed = True
        if self._task is None:
            return
        if self._connecting:
            # One that is cut off while it connects leaves an error behind that nobody can fetch.
            await asyncio.wait({self._task}, timeout=_CLOSE_S)
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        pause = _PAUSE_S
        while not self._closed:
            try:
                self._connecting = True
                connection = await connect(self._url)
            except Exception as error:  # noqa: BLE001  # nobody else would hear what other processes commit
                log.debug("nobody listens: %s", error)
                connection = None
            self._connecting = False
            if connection is not None and await self._listen_on(connection):
                pause = _PAUSE_S
            else:
                await asyncio.sleep(pause)
                pause = min(pause * 2, _PAUSE_MAX_S)

    async def _listen_on(self, connection: asyncpg.Connection) -> bool:
        """Listen until the connection is lost; False if one cannot listen there, as on a standby."""
        heard, gone = False, asyncio.Event()
        connection.add_termination_listener(lambda _: gone.set())
        try:
            with deadline(connection, _PULSE_DEADLINE_S):
                channel = await connection.fetchval(self._ask_channel)
                await connection.add_listener(channel, lambda *said: self._wake(said[-1]))
            heard = True
            # What was said while nobody listened is made up for by looking.
            self._wake()
            while not (gone.is_set() or self._closed):
                await _pulse(connection, gone)
        except Exception as error:  # noqa: BLE001  # another connection will do
            log.debug("a connection that listened was lost: %s", error)
        finally:
            connection.terminate()
        return heard

    def _wake(self, said: str | None = None) -> None:
        heard: News = "messages" if said == "messages" else "due"
        for woken, about in self._woken:
            if said is None or about in (None, heard):
                woken()


async def _pulse(connection: asyncpg.Connection, gone: asyncio.Event) -> None:
    """Wait a few seconds, and see whether the connection is still there: one that died may never say so."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_PULSE_S):
            await gone.wait()
            return
    with deadline(connection, _PULSE_DEADLINE_S):
        await connection.execute(QUERIES["pulse"])
