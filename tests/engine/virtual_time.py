"""An event loop whose time passes at once, and the engine in it with batches that only pretend.

Everything between the queue and the batches is the real thing. Whatever can happen to a batch happens at
random, the same for the same seed.
"""

from __future__ import annotations

import asyncio
import random
import selectors
from collections import Counter, defaultdict
from collections.abc import Callable, Coroutine
from types import SimpleNamespace
from typing import Any, TypeVar

from fairhold.core import commands as c
from fairhold.core.model import Party
from fairhold.engine.batch import Flight, Overtaken
from fairhold.engine.engine import Engine
from fairhold.engine.jobs import Job
from fairhold.errors import Busy, Closing, CommandFailed, OutcomeUnknown, Unavailable

T = TypeVar("T")


class _NoWaiting(selectors.SelectSelector):
    time = 0.0

    def select(self, timeout: float | None = None) -> list[Any]:
        assert timeout is not None, "all wait, and nothing will ever happen"
        self.time += max(0.0, timeout)
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """Nothing comes from outside, so whoever waits for a time has it at once."""

    def __init__(self) -> None:
        self._passing = _NoWaiting()
        self.after_each_turn: Callable[[], None] = lambda: None
        super().__init__(self._passing)

    def time(self) -> float:
        return self._passing.time

    def _run_once(self) -> None:
        super()._run_once()  # type: ignore[misc]
        self.after_each_turn()


def in_virtual_time(main: Callable[[VirtualLoop], Coroutine[Any, Any, T]]) -> T:
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        loop = runner.get_loop()
        assert isinstance(loop, VirtualLoop)
        return runner.run(main(loop))


class World:
    """Pools that others hold now and then; and who was served in each, in that order."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.served: defaultdict[int, list[int]] = defaultdict(list)
        self.times: Counter[Job] = Counter()
        self._held_until: dict[int, float] = {}

    def happens(self, share: float) -> bool:
        return self.random.random() < share

    async def pause(self, most: float) -> None:
        if self.happens(0.8):
            await asyncio.sleep(most * self.random.random())

    def is_held(self, pool_id: int) -> bool:
        now = asyncio.get_running_loop().time()
        if self._held_until.get(pool_id, 0.0) > now:
            return True
        if self.happens(0.15):
            most = self.random.choice([0.0005, 0.002, 0.01, 0.05])
            self._held_until[pool_id] = now + most * self.random.random()
            return True
        return False

    def serve(self, job: Job) -> None:
        assert not job.finished, "it was answered already"
        self.times[job] += 1
        self.served[job.pool_id].append(job.number)  # type: ignore[attr-defined]


class Pretended:
    """A batch of which anything may come."""

    world: World

    def __init__(self, jobs: list[Job], *_: object) -> None:
        self.jobs = jobs
        self.replies = SimpleNamespace(answers=[])
        self.requeued: list[Job] = []
        self.parked: list[Job] = []
        self.pools: dict[int, None] = {}
        self.changed: list[None] = []
        self.is_over = False
        self.rows_loaded = 0
        self.next_due_at = None
        # What the log says of a lost commit is noted where the engine asks for it.
        self.writer = SimpleNamespace(tells_of_messages=False, has_messages=False, has_happened=False)

    def forget(self) -> None: ...

    async def decide(self, reader: object, in_flight: Flight | None) -> None:
        self.pools = dict.fromkeys(job.pool_id for job in self.jobs)
        await self.world.pause(0.003)
        if in_flight is not None and self.world.happens(0.1):
            # Something cannot be told from what is being written.
            await in_flight.wait()
            await self.world.pause(0.003)
        if self.world.happens(0.15):
            raise RuntimeError("it cannot be decided without a lock")
        await self._requeue_some(self.jobs, in_flight)

    async def append(self) -> None:
        await self.world.pause(0.005)
        if any(self.world.is_held(pool_id) for pool_id in self.pools):
            raise Overtaken
        if self.world.happens(0.1):
            raise Overtaken
        if self.world.happens(0.02):
            raise RuntimeError("it could not be written")
        await self._commit([job for job in self.jobs if job not in self.requeued])

    async def carry_out(self) -> None:
        await self.world.pause(0.004)
        if len(self.jobs) > 1 and self.world.happens(0.2):
            raise RuntimeError("one of them spoils it for all")
        if self.world.happens(0.01):
            raise self.world.random.choice([Busy, Unavailable])("not now")
        held = {pool_id: self.world.is_held(pool_id) for pool_id in {job.pool_id for job in self.jobs}}
        self.parked = [job for job in self.jobs if held[job.pool_id]]
        free = [job for job in self.jobs if not held[job.pool_id]]
        self.pools = dict.fromkeys(job.pool_id for job in free)
        await self._requeue_some(free, None)
        await self._commit([job for job in free if job not in self.requeued])

    async def _requeue_some(self, jobs: list[Job], in_flight: Flight | None) -> None:
        """Find that too much is due in some pools. What is due is read only once the pool is written."""
        more_due = {pool_id for pool_id in self.pools if self.world.happens(0.05)}
        if in_flight is not None and any(pool_id in in_flight.pools for pool_id in more_due):
            await self._wait_for(in_flight)
        self.requeued = [job for job in jobs if job.pool_id in more_due]

    async def _wait_for(self, in_flight: Flight) -> None:
        await in_flight.wait()

    def take_requeued(self) -> list[Job]:
        requeued, self.requeued = self.requeued, []
        self.jobs = [job for job in self.jobs if job not in requeued]
        return requeued

    async def _commit(self, jobs: list[Job]) -> None:
        is_lost = self.world.happens(0.02)
        if is_lost:
            self.writer.has_happened = self.world.random.choice([True, False, None])
        if not is_lost or self.writer.has_happened:
            for job in jobs:
                self.world.serve(job)
                self.replies.answers.append((job, "done"))
        self.is_over = True
        await self.world.pause(0.003)
        if is_lost:
            raise OutcomeUnknown("the connection was lost")


async def tell_outcome(_: object, writer: Any) -> bool | None:
    """Tell what has come of a lost commit, after a while."""
    await asyncio.sleep(0.4 * Pretended.world.random.random())
    happened: bool | None = writer.has_happened
    return happened


async def play(loop: VirtualLoop, world: World) -> list[Job]:
    """Callers ask for a while, of one hot pool and of others; all whom the engine has taken are answered."""
    choose = world.random.choice
    pools, patience_s, alone = choose([1, 2, 3, 6]), choose([0.02, 0.1, 10]), choose([0, 0.02, 0.2])
    store: Any = SimpleNamespace(scout=lambda: None)
    clock: Any = None
    engine = Engine(store, clock, "", lambda due_at: None)
    jobs: list[Job] = []

    def look() -> None:
        queue = engine.queue
        assert all(queue._queues.values())
        assert not queue._queues.keys() & queue._parked.keys()

    async def ask() -> None:
        pool_id = 0 if world.happens(0.5) else world.random.randrange(pools)
        command, future = c.Book(Party(str(len(jobs)))), loop.create_future()
        job = _NumberedJob(pool_id, command, future, give_up_at=loop.time() + patience_s)
        job.dry_run, job.number = world.happens(alone), len(jobs)
        engine.queue.submit(job)
        jobs.append(job)
        try:
            async with asyncio.timeout(0.01 * world.random.random() if world.happens(0.05) else None):
                await future
        except (Busy, Unavailable, CommandFailed, OutcomeUnknown, TimeoutError):
            pass

    async def keep_asking(times: int) -> None:
        try:
            for _ in range(times):
                await ask()
                if world.happens(0.3):
                    await asyncio.sleep(0.02 * world.random.random())
        except Closing:
            pass

    loop.after_each_turn = look
    engine.start()
    async with asyncio.TaskGroup() as callers:
        for _ in range(choose([1, 5, 40, 120])):
            callers.create_task(keep_asking(world.random.randrange(5, 40)))
        await asyncio.sleep(choose([0.1, 0.3, 3.0]))
        await engine.close()
    assert engine.queue.accepted == 0
    return jobs


class _NumberedJob(Job):
    number: int
