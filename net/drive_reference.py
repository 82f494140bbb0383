"""Drives the reference: the only file of the net, but `drawing`, that knows its modules."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from net import reference
from net.building import Builder
from net.driving import Driver
from net.histories import SECRET, HandClock, Json, Step
from net.mapping import REFERENCE_CHANGED, TreeNames
from net.tables import connected

reference.bring()

# The reference is on the path only now.
from holdfast import Holdfast  # noqa: E402
from holdfast.core import commands, model, policy  # noqa: E402
from holdfast.hoarding import Source  # noqa: E402


class Calls:
    """The calls into the reference."""

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
    """Return what makes the reference's commands."""
    return Builder(names, commands=commands, model=model, policies=policy)


@asynccontextmanager
async def opened(url: str, names: TreeNames | None = None) -> AsyncIterator[Driver]:
    """The reference on a database of its own."""
    names, clock = names or TreeNames(REFERENCE_CHANGED), HandClock()
    async with (
        Holdfast.open(url, clock=clock, secret=SECRET, ticker=False) as hf,
        connected(url) as ask,
    ):
        yield Driver(Calls(hf), builder(names), names, clock, ask)
