"""The lane: commands wait here, and each transaction takes all that have gathered.

While one transaction is in flight, new commands gather; the next one takes them all. Pools take turns,
so that a pool on fire does not keep the others waiting. Nobody lingers for more to come. A pool that is held
from outside is set aside for a moment, with all who wait for it, so that nobody overtakes them.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final

from fairhold.core import commands as c
from fairhold.errors import Closing, Crowded
from fairhold.hoarding import Source

BATCH_MAX: Final = 512
SHARE: Final = 32
# After so long, in seconds, a pool that is held from outside is looked at again: soon at first, for another
# node may be done with it in a moment, then later and later, for each look takes time from the other pools.
_SOON_S: Final = 0.001
_LATER: Final = 1.04
ASIDE_S: Final = 0.005
_RETRY_MAX_S: Final = 300

# These look at rows that other commands of the same batch may change, or change rules under their feet.
_ALONE: Final = frozenset(
    {c.ChangePool, c.AddUnits, c.CloseUnit, c.Move, c.PutBack, c.Resolve, c.GiveOffer, c.Fill}
)


@dataclass(slots=True, eq=False)
class Job:
    """A command on its way, and the future that its caller waits for."""

    pool_id: int
    command: c.Command
    future: asyncio.Future[Any]
    org: str = ""
    key: str | None = None
    digest: bytes = b""
    dry_run: bool = False
    source: Source | None = None
    give_up_at: float = 0.0
    # The observer's own.
    note: Any = None
    finished: bool = False

    @property
    def alone(self) -> bool:
        return self.dry_run or type(self.command) in _ALONE


@dataclass(slots=True)
class _Aside:
    """A pool that is set aside: those who were in a batch already, and those who wait behind them."""

    before: deque[Job] = field(default_factory=deque)
    behind: deque[Job] = field(default_factory=deque)
    long_enough: bool = False


class Lane:
    """Queues by pool, and a bell that rings when there is work."""

    def __init__(self) -> None:
        # Of those pools that are not set aside.
        self._queues: dict[int, deque[Job]] = {}
        self._aside: dict[int, _Aside] = {}
        # How long those are set aside the next time that were not free the last time.
        self._pauses: dict[int, float] = {}
        self._bell = asyncio.Event()
        # How many wait in the queues, and how many of them it takes to ring the bell.
        self._waiting = 0
        self._enough = 1
        self._closing = False
        self.accepted = 0
        # How many may wait, and how many of them for one pool: nobody is kept who cannot be served in time.
        # Without a bound, as many as their callers like.
        self.most: int | None = None
        self.most_of_pool: int | None = None
        self.pace = _Pace()

    def submit(self, job: Job) -> None:
        """Accept a job; from here on it will be answered. Raises Closing or Crowded."""
        if self._closing:
            raise Closing("Fairhold is being closed and takes nothing more")
        if self.most is not None and type(job.command) is not c.Tick:
            self._must_have_room(job.pool_id)
        self.accepted += 1
        self._put(job)

    def _must_have_room(self, pool_id: int) -> None:
        if self.most is not None and self.accepted >= self.most:
            raise Crowded(self.pace.seconds(self.accepted))
        aside, queue = self._aside.get(pool_id), self._queues.get(pool_id, ())
        waiting = len(queue) if aside is None else len(aside.before) + len(aside.behind)
        if self.most_of_pool is not None and waiting >= self.most_of_pool:
            raise Crowded(self.pace.seconds(waiting))

    def _put(self, job: Job) -> None:
        queue = self._queues.get(job.pool_id)
        if queue is None:
            if (aside := self._aside.get(job.pool_id)) is not None:
                aside.behind.append(job)
                return
            queue = self._queues[job.pool_id] = deque()
        queue.append(job)
        self._waiting += 1
        # Just now there are enough; if there are more, it has rung.
        if self._waiting == self._enough:
            self._bell.set()

    def put_back(self, jobs: list[Job]) -> None:
        """Put those who were taken last back in front of their queues, in their order."""
        for job in reversed(jobs):
            if (aside := self._aside.get(job.pool_id)) is not None:
                aside.behind.appendleft(job)
            else:
                self._queues.setdefault(job.pool_id, deque()).appendleft(job)
                self._waiting += 1
        self._bell.set()

    def set_aside(self, jobs: list[Job], *, for_now: bool = False) -> None:
        """Keep these until their pools may be free, and all who come for these pools behind them.

        Only for now: until the next batch is taken, so that those of one that was taken already go behind.
        """
        for job in jobs:
            aside = self._aside.get(job.pool_id)
            if aside is None:
                aside = _Aside(behind=self._queues.pop(job.pool_id, deque()))
                self._waiting -= len(aside.behind)
                self._aside[job.pool_id] = aside
                if for_now:
                    self._look_again(aside)
                else:
                    pause = self._pauses.get(job.pool_id, _SOON_S)
                    self._pauses[job.pool_id] = min(ASIDE_S, _LATER * pause)
                    asyncio.get_running_loop().call_later(pause, self._look_again, aside)
            aside.before.append(job)

    def were_free(self, pool_ids: Iterable[int]) -> None:
        """These were not held from outside: if they are the next time, that may be over in a moment."""
        if self._pauses:
            for pool_id in pool_ids:
                self._pauses.pop(pool_id, None)

    def not_aside(self, jobs: list[Job]) -> list[Job]:
        """Those of a batch whose pools are not set aside; the others go to those who came before them."""
        if not self._aside:
            return jobs
        self.set_aside([job for job in jobs if job.pool_id in self._aside])
        return [job for job in jobs if job.pool_id not in self._aside]

    def _look_again(self, aside: _Aside) -> None:
        aside.long_enough = True
        self._bell.set()

    def _bring_back(self) -> None:
        for pool_id, aside in list(self._aside.items()):
            if aside.long_enough:
                del self._aside[pool_id]
                if queue := aside.before + aside.behind:
                    self._queues[pool_id] = queue
                    self._waiting += len(queue)

    def ring(self) -> None:
        """Let whoever waits for jobs look again."""
        self._bell.set()

    async def take(self, most: int = BATCH_MAX) -> list[Job]:
        """The next batch, as soon as there is one; empty when the lane is closed and all is done.

        Only here pools come back that were set aside: who had a batch in hand has asked `not_aside` by now.
        """
        self._bring_back()
        while not self._queues:
            if self._closing and not self.accepted:
                return []
            self._bell.clear()
            await self._bell.wait()
            self._bring_back()
        return self.take_waiting(most)

    async def gather(self, enough: int) -> None:
        """Return when so many wait, or somebody rings."""
        if self._waiting >= enough:
            return
        self._enough = enough
        self._bell.clear()
        try:
            await self._bell.wait()
        finally:
            self._enough = 1

    def take_waiting(self, most: int) -> list[Job]:
        """Those who wait, as many as go into one batch."""
        share = SHARE if len(self._queues) > 1 else BATCH_MAX
        taken: list[Job] = []
        shut: set[int] = set()
        # Below nothing, too: with fewer callers than there were, a batch may have more than its half already.
        while len(taken) < most and (open_queues := [it for it in self._queues if it not in shut]):
            for pool_id in open_queues:
                # Taken out and put in again at the end: next time another pool is first.
                queue = self._queues.pop(pool_id)
                first = queue[0]
                room = min(share, most - len(taken))
                taken += [queue.popleft() for _ in range(_together(queue, room))]
                if queue:
                    self._queues[pool_id] = queue
                if first.alone or (queue and queue[0].alone):
                    shut.add(pool_id)
                if len(taken) >= most:
                    break
        self._waiting -= len(taken)
        return taken

    def take_late(self, now: float) -> list[Job]:
        """Those who would give up by now, out of their queues."""
        late: list[Job] = []
        for pool_id, queue in list(self._queues.items()):
            late += _take_late(queue, now)
            if not queue:
                del self._queues[pool_id]
        self._waiting -= len(late)
        for aside in self._aside.values():
            late += _take_late(aside.before, now) + _take_late(aside.behind, now)
        return late

    def done(self, count: int) -> None:
        """So many jobs that were accepted have been answered."""
        self.accepted -= count
        self.pace.count += count
        if self._closing and not self.accepted:
            self._bell.set()

    def close(self) -> None:
        """Accept nothing more; what was accepted is still to be finished."""
        self._closing = True
        self._bell.set()


def _together(queue: deque[Job], room: int) -> int:
    """How many of the first go into one batch: those before the first who must be alone, or only that one."""
    for number, job in enumerate(islice(queue, room)):
        if job.dry_run or type(job.command) in _ALONE:
            return number or 1
    return min(room, len(queue))


def _take_late(queue: deque[Job], now: float) -> list[Job]:
    late = [job for job in queue if job.give_up_at <= now]
    if late:
        left = [job for job in queue if job.give_up_at > now]
        queue.clear()
        queue.extend(left)
    return late


class _Pace:
    """When those who are turned away may come again: each when there will be room, at the pace of late.

    If all were told the same moment they would all come at that moment, and most of them in vain.
    """

    def __init__(self) -> None:
        self.count = 0
        self.time: Callable[[], float] = lambda: asyncio.get_running_loop().time()
        self._since = 0.0
        self._per_s = 1_000.0
        self._free_at = 0.0

    def seconds(self, waiting: int) -> int:
        """After how long there is room for one more, behind those who wait and those turned away before."""
        now = self.time()
        passed = now - self._since
        if passed >= 1:
            if passed < 5:
                self._per_s = max(1.0, self.count / passed)
            self.count, self._since = 0, now
        self._free_at = max(self._free_at, now + waiting / self._per_s) + 1 / self._per_s
        return min(_RETRY_MAX_S, max(1, math.ceil(self._free_at - now)))
