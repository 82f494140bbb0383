"""A node: one Fairhold over the shared database, with a clock of its own. It can be killed at any moment."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from contextlib import suppress
from typing import Any

from fairhold.clock import TestClock
from fairhold.config import make_store
from fairhold.errors import FairholdError
from fairhold.library import Fairhold
from fairhold.outbox import MessageSettings, Outbox
from fairhold.store.sqlite.store import SqliteStore
from sim.faults import Carrier, Faults, FaultyStore
from sim.loop import OWNER, AtOnce

SECRET = "a secret of the simulation"
_SETTINGS = MessageSettings(base_url="https://seats.example.org", mail_from="seats@example.org")


class SkewedClock(TestClock):
    """The simulation's time, as one node's clock has it."""

    def __init__(self, true: TestClock) -> None:
        super().__init__(true.now())
        self._true = true
        self.off = 0

    def now(self) -> int:
        # As with a machine's clock in one process: it never runs back.
        self._now = max(self._now, self._true.now() + self.off)
        return self._now


class Node:
    def __init__(self, name: str, url: str, clock: TestClock, faults: Faults, carrier: Carrier) -> None:
        self.name = name
        self._url = url
        self._true_clock = clock
        self._faults = faults
        self._carrier = carrier
        self._tasks: set[asyncio.Task[Any]] = set()
        self.store: FaultyStore | None = None
        self.hf: Fairhold | None = None
        self.clock = SkewedClock(clock)
        self.died = asyncio.Event()

    @property
    def up(self) -> bool:
        return self.hf is not None

    async def start(self) -> None:
        inner = make_store(self._url)
        if isinstance(inner, SqliteStore):
            inner._commits = AtOnce()
        await inner.open()
        await inner.migrate(self.clock.now())
        self.store = FaultyStore(inner, self._faults)
        self.died = asyncio.Event()
        self.clock = SkewedClock(self._true_clock)
        mine = OWNER.set(self._tasks)
        try:
            self.hf = Fairhold(self.store, self.clock, SECRET, "default")
            self.hf.engine.start()
            notifiers = {"email": self._carrier, "log": self._carrier}
            self.outbox = Outbox(self.hf, _SETTINGS, notifiers, dice=self._faults.dice.random)
            self.outbox.attach()
        finally:
            OWNER.reset(mine)

    async def ask(self, work: Awaitable[Any], patience_s: float) -> Any:
        """The node's answer. Raises TimeoutError if it dies or takes too long, as a client sees it."""
        asked, died = asyncio.ensure_future(work), asyncio.ensure_future(self.died.wait())
        try:
            await asyncio.wait({asked, died}, timeout=patience_s, return_when=asyncio.FIRST_COMPLETED)
            if not asked.done():
                raise TimeoutError
            return asked.result()
        finally:
            for task in (asked, died):
                task.cancel()
            await asyncio.gather(asked, died, return_exceptions=True)

    async def send_due(self) -> None:
        """Send messages as the node's own work, which dies with it."""
        mine = OWNER.set(self._tasks)
        try:
            task = asyncio.create_task(self.outbox.send_due())
        finally:
            OWNER.reset(mine)
        with suppress(FairholdError, TimeoutError, asyncio.CancelledError):
            await self.ask(asyncio.shield(task), 600)

    async def kill(self) -> None:
        """Everything stops where it is; what was not committed never happened."""
        assert self.store is not None
        self.store.dead = True
        self.hf = None
        self.died.set()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._tasks.clear()
        with suppress(Exception):
            await self.store.inner.close()

    async def stop(self) -> None:
        """An orderly end."""
        assert self.hf is not None
        assert self.store is not None
        await self.outbox.close()
        await self.hf.engine.close()
        await self.store.inner.close()
        self.hf = None
