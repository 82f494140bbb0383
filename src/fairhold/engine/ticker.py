"""The ticker: sleeps until something is due, then says so to the engine by the same door as everyone.

It is woken when the next due time changes, in this process or another. Any number may run side by side:
a tick that comes second finds nothing due. What fell due while nobody was awake is caught up in order.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from fairhold.alarm import clock_off_s, pools_ahead_s, said
from fairhold.clock import Clock
from fairhold.core.model import Instant
from fairhold.errors import Busy, Closing, Unavailable
from fairhold.store.base import Store

log = logging.getLogger("fairhold")

_POOLS_MAX: Final = 100
_LOOK_S: Final = 30.0
# A pool that takes longer than this, maybe locked from outside, goes on by itself and keeps nobody waiting.
_PATIENCE_S: Final = 0.5
# A pool whose tick fails is left alone for so long, so that it cannot stop the others.
_PAUSE: Final = 500
_POISONED: Final = 5_000

# Idempotency keys and the places of the stream are kept for a day, and looked through every hour.
_KEPT: Final = 24 * 3_600_000
_FORGET: Final = 3_600_000

# How often, at most, the machine's clock is compared with the database's.
_WATCH_S: Final = 1.0

Tick = Callable[[int], Awaitable[object]]
Forget = Callable[[Instant], Awaitable[None]]


class Ticker:
    """Keeps the promise that what is due happens by itself."""

    def __init__(self, store: Store, clock: Clock, tick: Tick, forget: Forget) -> None:
        self._store = store
        self._clock = clock
        self._tick = tick
        self._forget = forget
        self._forget_at: Instant = 0
        self._forgetting: asyncio.Task[None] | None = None
        self._woken = asyncio.Event()
        self._next_at: Instant | None = None
        self._ticking: dict[int, asyncio.Task[None]] = {}
        self._left_alone: dict[int, Instant] = {}
        self._task: asyncio.Task[None] | None = None
        self._leapt = False
        self._stood_still = False
        self._watch_at = 0.0

    async def start(self) -> None:
        await self._store.listen(self.wake, "due")
        self._task = asyncio.create_task(self._run(), name="fairhold-ticker")

    async def close(self) -> None:
        """Stop. Ticks that the engine has accepted it will finish."""
        tasks = [*self._ticking.values(), *([self._task] if self._task is not None else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._forgetting is not None:
            await asyncio.gather(self._forgetting, return_exceptions=True)

    def wake(self) -> None:
        """Something may be due earlier than was thought."""
        self._woken.set()

    def due(self, at: Instant) -> None:
        """Something will be due at this instant."""
        if self._next_at is None or at < self._next_at:
            self._woken.set()

    async def _run(self) -> None:
        while True:
            try:
                await self._sleep_until_due()
                await self._watch_the_clock()
                ticks = await self._start_ticks()
                if ticks:
                    await asyncio.wait(ticks.values(), timeout=_PATIENCE_S)
                self._forget_what_is_old()
            except Closing:
                return
            except Exception as error:  # noqa: BLE001  # without a ticker nothing would expire any more
                log.warning("the ticker waits for the database: %s", error)
                await asyncio.sleep(_PAUSE / 1000)

    async def _watch_the_clock(self) -> None:
        """Raise the alarm once for each leap of the machine's clock, and say when it is over."""
        loop = asyncio.get_running_loop()
        if loop.time() < self._watch_at:
            return
        self._watch_at = loop.time() + _WATCH_S
        ahead = await clock_off_s(self._store, self._clock)
        if ahead and not self._leapt:
            log.warning("the clock is wrong: %s (set it right, and nothing is lost)", said(ahead))
        elif self._leapt and not ahead:
            log.warning("the clock is right again")
        self._leapt = bool(ahead)
        stand_still = await pools_ahead_s(self._store, self._clock)
        if stand_still and not self._stood_still:
            log.warning(
                "pools were changed while a clock was %s seconds ahead; their time stands still until then. "
                "Leave the clock as it is: others would be carried along",
                f"{stand_still:,}",
            )
        self._stood_still = bool(stand_still)

    def _forget_what_is_old(self) -> None:
        """Now and then, beside the ticks: there may be millions, and nobody's deadline waits for them."""
        now = self._clock.now()
        if now >= self._forget_at and (self._forgetting is None or self._forgetting.done()):
            self._forget_at = now + _FORGET
            # Closing stops the ticker, but never a transaction in the middle.
            self._forgetting = asyncio.create_task(self._forget_before(now - _KEPT))

    async def _forget_before(self, before: Instant) -> None:
        try:
            await self._forget(before)
        except Exception as error:  # noqa: BLE001  # they are forgotten the next time
            log.warning("old idempotency keys and changes could not be forgotten: %s", error)

    async def _sleep_until_due(self) -> None:
        self._woken.clear()
        # What is committed while we look may not be seen: until we know the next instant, anything wakes us.
        self._next_at = None
        found = await self._store.reader().rows("next_due")
        self._next_at = found[0][0]
        wait_s = _LOOK_S
        if self._next_at is not None:
            wait_s = min(wait_s, (self._next_at - self._clock.now()) / 1000)
        if self._ticking or self._left_alone:
            wait_s = max(wait_s, _PATIENCE_S)
        if wait_s > 0:
            # Not wait_for, which in Python 3.11 forgets a cancellation that comes just after the bell.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait_s):
                    await self._woken.wait()

    async def tick_due(self) -> set[int]:
        """Tick every pool that has something due now, once, and wait for all; which there were."""
        ticks = await self._start_ticks()
        if ticks:
            await asyncio.wait(ticks.values())
        return set(ticks)

    async def _start_ticks(self) -> dict[int, asyncio.Task[None]]:
        """Start a tick in every pool that has something due, the longest overdue first."""
        now = self._clock.now()
        self._left_alone = {pool: until for pool, until in self._left_alone.items() if until > now}
        known = len(self._left_alone) + len(self._ticking)
        found = await self._store.reader().rows("due_pools", now, _POOLS_MAX + known)
        for (pool_id,) in found:
            if pool_id not in self._ticking and pool_id not in self._left_alone:
                self._ticking[pool_id] = asyncio.create_task(self._tick_one(pool_id))
        return {pool_id: self._ticking[pool_id] for (pool_id,) in found if pool_id in self._ticking}

    async def _tick_one(self, pool_id: int) -> None:
        try:
            await self._tick(pool_id)
        except (Unavailable, Busy, Closing):
            self._left_alone[pool_id] = self._clock.now() + _PAUSE
        except Exception as error:  # noqa: BLE001  # one poisoned pool must not stop the others
            log.error("a tick of pool %s failed: %s", pool_id, error)
            self._left_alone[pool_id] = self._clock.now() + _POISONED
        finally:
            del self._ticking[pool_id]
