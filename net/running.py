"""Both trees side by side on databases of one kind: the same history in each, and what differs."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Final

from net import comparing, playing
from net.drive_fairhold import FairholdDriver
from net.drive_fairhold import opened as fairhold_opened
from net.histories import LOOK, History, Json, Step, pool_id
from net.playing import FOREIGN, Carrier
from testbed.postgres import fresh_database, memory, shared_server

HISTORY_S: Final = 60.0

NewDatabase = Callable[[], str]


@contextmanager
def databases(kind: str) -> Iterator[NewDatabase]:
    """Hands out empty databases of a kind, which go in the end."""
    with ExitStack() as stack:
        if kind == "sqlite":
            place = stack.enter_context(tempfile.TemporaryDirectory(prefix="fairhold-net-", dir=memory()))
            numbers = iter(range(1_000_000))
            yield lambda: f"sqlite:///{Path(place) / f'{next(numbers)}.db'}"
        else:
            server = stack.enter_context(shared_server())
            yield lambda: stack.enter_context(fresh_database(server))


class Pair:
    """The reference, and the tree once for each way, each on a database of its own."""

    def __init__(self, reference: Carrier, trees: dict[str, tuple[FairholdDriver, Carrier | None]]) -> None:
        self._reference = reference
        self._trees = trees
        self._copies = 0

    async def compare(self, history: History) -> None:
        """Carry out a history in both trees, every way. Raises Difference."""
        async with asyncio.timeout(HISTORY_S):
            expected, *found = await asyncio.gather(
                playing.one_by_one(self._reference, history),
                *(playing.play(tree, history, way, other) for way, (tree, other) in self._trees.items()),
            )
        for way, actual in zip(self._trees, found, strict=True):
            comparing.compare(history, expected, actual, way)

    async def differs(self, history: History) -> comparing.Difference | None:
        """Return how the trees differ on a copy of a history, with pools of its own."""
        self._copies += 1
        copy: History = {**history, "org": f"{history['org']}-{self._copies}"}
        copy["pools"] = [pool_id(-self._copies, index) for index in range(len(history["pools"]))]
        copy["steps"] = [self._from_elsewhere(step) for step in history["steps"]]
        try:
            await self.compare(copy)
        except comparing.Difference as difference:
            return difference
        return None

    def _from_elsewhere(self, step: Step) -> Step:
        """Return a step with a source of its own: live holds of one source count over all pools."""
        if "source" not in step:
            return step
        address, *limits = step["source"]
        return {**step, "source": [f"{address} {self._copies}", *limits]}

    async def smaller(self, history: History) -> tuple[History, comparing.Difference | None]:
        """Return as short a history as still differs, by leaving out its tail, and then single steps."""
        steps = history["steps"]
        low, high = 0, len(steps)
        while low < high:
            middle = (low + high) // 2
            if await self.differs(_looking(history, steps[:middle])):
                high = middle
            else:
                low = middle + 1
        steps = steps[:high]
        for at in range(len(steps) - 1, -1, -1):
            without = steps[:at] + steps[at + 1 :]
            if await self.differs(_looking(history, without)):
                steps = without
        small = _looking(history, steps)
        return small, await self.differs(small)

    def told(self) -> str:
        """Return how many batches each way has written, and how many of them as decided ahead."""
        lines = []
        for way, (tree, _) in self._trees.items():
            pipeline = tree.pipeline
            ahead, written = pipeline.decided_ahead, pipeline.written_ahead
            told = f"{ahead} decided ahead, {pipeline.decided_in_flight} of them behind one in flight"
            lines.append(f"  {way:<8}{pipeline.batches:>8} batches; {told}; {ahead - written} decided anew")
        return "\n".join(lines)

    async def verified(self) -> list[str]:
        """Return what the tree's own verification finds wrong."""
        return [line for tree, _ in self._trees.values() for line in await tree.verified()]


def _looking(history: History, steps: Sequence[Json]) -> History:
    """Return a history of these steps, with a look at its end."""
    at = steps[-1]["at"] if steps else 0
    return {**history, "steps": [*steps, {"at": at, "pool": 0, "do": LOOK, "say": {}}]}


@asynccontextmanager
async def paired(new_database: NewDatabase, ways: Sequence[str]) -> AsyncIterator[Pair]:
    """Both trees, open. The reference must be in this clone."""
    from net import drive_reference  # it brings the reference out of git

    async with AsyncExitStack() as stack:
        reference = await stack.enter_async_context(drive_reference.opened(new_database()))
        trees: dict[str, tuple[FairholdDriver, Carrier | None]] = {}
        for way in ways:
            url = new_database()
            tree = await stack.enter_async_context(fairhold_opened(url))
            other = await stack.enter_async_context(fairhold_opened(url)) if way == FOREIGN else None
            trees[way] = tree, other
        yield Pair(reference, trees)
