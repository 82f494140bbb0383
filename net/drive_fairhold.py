"""Drives the tree as it is: the only file of the net that knows its modules."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

from fairhold import Fairhold
from fairhold.core import commands, model, policy
from fairhold.hoarding import Source
from fairhold.verify import verify
from net.building import Builder
from net.driving import Driver
from net.histories import SECRET, HandClock, Json, Step
from net.mapping import FAIRHOLD_CHANGED, FAIRHOLD_EXTRA_COLUMNS, TreeNames
from net.tables import connected


class Calls:
    """The calls into the tree."""

    def __init__(self, hf: Any) -> None:
        self._hf = hf

    async def submit(self, org: str, pool_id: int, command: Any, step: Step) -> Any:
        """Hand a command to the engine, before anything is awaited, and return its answer."""
        source = Source(*step["source"]) if "source" in step else None
        return await self._hf.for_org(org).submit(
            pool_id, command, step.get("key"), dry_run=step.get("dry", False), source=source
        )

    async def erase(self, org: str, said: Json) -> Any:
        """Forget a person."""
        return await self._hf.for_org(org).erase_person(**said)

    async def views(self, org: str, pool: str) -> dict[str, Any]:
        """Return what reads show of a pool."""
        hf = self._hf.for_org(org)
        return {"pool": await hf.pool(pool), "line": await hf.line(pool, limit=200)}


def builder(names: TreeNames) -> Builder:
    """Return what makes the tree's commands."""
    return Builder(names, commands=commands, model=model, policies=policy)


class Pipeline:
    """The points at which the engine is held and watched: all that the net knows of how it works inside.

    While it is closed, a writing transaction waits before it begins, until it is let through. So what comes
    behind is really decided ahead of it.
    """

    def __init__(self, hf: Any) -> None:
        self._engine = hf.engine
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._somebody = asyncio.Event()
        self._decisions = 0
        self._seen = 0
        self._is_ahead = False
        self.is_closed = False
        self.decided_ahead = 0
        # Of those: while another was in flight.
        self.decided_in_flight = 0
        self._begin = hf.store.begin
        self._line_up = hf.store.line_up
        hf.store.begin = self._begin_when_let_through
        hf.store.line_up = self._line_up_unless_closed
        self._decide_ahead = hf.engine._decide_ahead
        hf.engine._decide_ahead = self._watched
        # What is written straight behind another cannot be held back: only where it may be.
        self.lines_up = True

    @property
    def written_ahead(self) -> int:
        """The number of batches that were written as they had been decided ahead."""
        return int(self._engine.batches_ahead)

    @property
    def batches(self) -> int:
        """The number of batches that were written."""
        return int(self._engine.batches)

    def forgive(self, *, look_up: bool) -> None:
        """Let the engine decide ahead again, though somebody else was quicker.

        `look_up` has it read who of those that book is known, instead of finding out when it writes.
        """
        self._engine._wary = 0
        self._engine._look_up = 64 if look_up else 0

    async def decided(self, tasks: Sequence[asyncio.Task[Any]]) -> None:
        """Return when these have been decided, or wait for the batch before them, or are answered."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_PATIENCE_S):
                while self._decisions == self._seen and not all(task.done() for task in tasks):
                    if self._waiting and not self._is_ahead:
                        # The one before is carried out under the lock: nothing goes on beside it.
                        return
                    await asyncio.sleep(0)
        self._seen = self._decisions
        for _ in range(_TURNS):
            await asyncio.sleep(0)

    async def written(self, tasks: Sequence[asyncio.Task[Any]]) -> None:
        """Let transactions through, one after the other, until these are answered."""
        left = {task for task in tasks if not task.done()}
        while left:
            if not self._waiting:
                self._somebody.clear()
                bell = asyncio.create_task(self._somebody.wait())
                await asyncio.wait({*left, bell}, return_when=asyncio.FIRST_COMPLETED)
                bell.cancel()
            for _ in range(_TURNS):
                # Those that are written already are answered in a moment; who waits then is the next batch.
                await asyncio.sleep(0)
            left = {task for task in left if not task.done()}
            if left and self._waiting:
                self._waiting.popleft().set_result(None)
                for _ in range(2):
                    await asyncio.sleep(0)
                left = {task for task in left if not task.done()}

    def open(self) -> None:
        """Let everybody through."""
        self.is_closed = False
        while self._waiting:
            self._waiting.popleft().set_result(None)

    async def _begin_when_let_through(self, **how: Any) -> Any:
        if self.is_closed:
            turn = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            self._somebody.set()
            await turn
        return await self._begin(**how)

    def _line_up_unless_closed(self, *values: Any, **more: Any) -> None:
        if self.lines_up:
            self._line_up(*values, **more)

    async def _watched(self, jobs: Any, flight: Any) -> Any:
        ready = await self._decide_ahead(jobs, flight)
        self._is_ahead = ready is not None
        self.decided_ahead += self._is_ahead
        self.decided_in_flight += self._is_ahead and flight is not None
        self._decisions += 1
        return ready


_PATIENCE_S: Final = 1.0
_TURNS: Final = 15


class FairholdDriver(Driver):
    """The tree on a database, with its pipeline in hand."""

    pipeline: Pipeline
    hf: Fairhold

    async def verified(self) -> list[str]:
        """Return what `verify` finds wrong in the database."""
        report = await verify(self.hf.store)
        return [str(finding) for finding in report.findings]


@asynccontextmanager
async def opened(url: str, names: TreeNames | None = None) -> AsyncIterator[FairholdDriver]:
    """The tree on a database, which other processes may use, too."""
    names, clock = names or TreeNames(FAIRHOLD_CHANGED, FAIRHOLD_EXTRA_COLUMNS), HandClock()
    async with (
        Fairhold.open(url, clock=clock, secret=SECRET, ticker=False) as hf,
        connected(url) as ask,
    ):
        driver = FairholdDriver(Calls(hf), builder(names), names, clock, ask)
        driver.pipeline, driver.hf = Pipeline(hf), hf
        try:
            yield driver
        finally:
            driver.pipeline.open()
