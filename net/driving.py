"""The driver that both trees share: a tree that is open on a database, and carries out steps."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Protocol

from net.building import Builder
from net.histories import ERASE, LOOK, HandClock, History, Json, Step
from net.mapping import TreeNames
from net.neutral import Neutral
from net.tables import Rows, Tables


class Calls(Protocol):
    """The few places at which a tree is touched. Each tree has its own."""

    async def submit(self, org: str, pool_id: int, command: Any, step: Step) -> Any:
        """Hand a command to the engine, before anything is awaited, and return its answer."""
        ...

    async def erase(self, org: str, said: Json) -> Any:
        """Forget a person."""
        ...

    async def views(self, org: str, pool: str) -> dict[str, Any]:
        """Return what reads show of a pool."""
        ...


class Driver:
    """A tree on a database, as histories see it."""

    def __init__(self, calls: Calls, builder: Builder, names: TreeNames, clock: HandClock, ask: Rows) -> None:
        self.clock = clock
        self._calls = calls
        self._builder = builder
        self._neutral = Neutral(names)
        self._tables = Tables(ask, names)

    async def carry_out(self, history: History, step: Step) -> Json:
        """Carry out one step alone; the answer in neutral JSON."""
        if step["do"] == LOOK:
            return await self.look(history)
        if step["do"] == ERASE:
            return self._neutral.answer(await _caught(self._calls.erase(history["org"], step["say"])))
        (answer,) = await asyncio.gather(*self.submit(history, [step]))
        return answer

    def submit(self, history: History, steps: Sequence[Step]) -> list[asyncio.Task[Json]]:
        """Ask for these commands all at once, so that they go into one batch where they may."""
        return [asyncio.create_task(self._command(history, step)) for step in steps]

    async def _command(self, history: History, step: Step) -> Json:
        command = self._builder.command(history, step)
        if not isinstance(command, self._builder.kinds):
            return self._neutral.answer(command)
        pool_id = history["pools"][step["pool"]]
        asked = self._calls.submit(history["org"], pool_id, command, step)
        return self._neutral.answer(await _caught(asked))

    async def look(self, history: History) -> Json:
        """Return all rows of a history's pools, and what reads show of them."""
        found = []
        for index, pool_id in enumerate(history["pools"]):
            views = await self._calls.views(history["org"], f"pool-{index}")
            shown = {name: self._neutral.view(view) for name, view in views.items()}
            found.append({**await self._tables.of_pool(pool_id), "shown": shown})
        return {"look": found}


async def _caught(asked: Any) -> Any:
    """Return what was answered; what was raised, too, is an answer."""
    try:
        return await asked
    except Exception as error:  # noqa: BLE001  # the other tree must raise the same
        return error
