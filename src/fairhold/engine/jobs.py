"""Jobs wait here for their batch: a queue for each pool, and a bell that rings when there is work.

While one batch is being written, new jobs gather; the next batch takes them all. Pools take turns, so that a
pool on fire does not keep the others waiting. Nobody lingers for more to come. A pool that another process
has locked is parked for a moment, with all jobs that come for it, so that nobody overtakes them.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final

from fairhold.core import commands as c
from fairhold.engine.limits import Source
from fairhold.engine.pace import Pace
from fairhold.errors import Closing, Crowded

# The most jobs of one batch: longer ones gain nothing, and keep their callers waiting.
BATCH_MAX: Final = 512
# The most that one pool has in a batch while others wait, too.
SHARE: Final = 32
# A parked pool is tried again after a millisecond, for the other process may be done with it; then later and
# later, for each try takes time from the other pools.
_PARK_FIRST_S: Final = 0.001
_PARK_FACTOR: Final = 1.04
PARK_MAX_S: Final = 0.005

# These look at rows that other jobs of the same batch may change, or change rules under their feet.
_EXCLUSIVE: Final = frozenset(
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
    # A note of the observer's own.
    note: Any = None
    finished: bool = False

    @property
    def is_exclusive(self) -> bool:
        """True if no other job of its pool may be in the same batch."""
        return self.dry_run or type(self.command) in _EXCLUSIVE


@dataclass(slots=True)
class _Parked:
    """A parked pool: the jobs that were in a batch already, and those that came behind them."""

    first: deque[Job] = field(default_factory=deque)
    behind: deque[Job] = field(default_factory=deque)
    is_over: bool = False


class JobQueue:
    """The jobs of one process that no batch has taken yet."""

    def __init__(self) -> None:
        # By pool, of those pools that are not parked. The first is next to be taken from.
        self._queues: dict[int, deque[Job]] = {}
        self._parked: dict[int, _Parked] = {}
        # For how long a pool is parked the next time, if it was locked the last time.
        self._pauses: dict[int, float] = {}
        self._bell = asyncio.Event()
        self._closing = False
        # How many jobs were accepted and are not answered yet.
        self.accepted = 0
        # How many jobs may wait in all, and for one pool; None is without a bound.
        self.most: int | None = None
        self.most_of_pool: int | None = None
        self.pace = Pace()

    def submit(self, job: Job) -> None:
        """Accept a job: from here on it will be answered. Raise Closing, or Crowded if too many wait."""
        if self._closing:
            raise Closing("Fairhold is being closed and takes nothing more")
        if self.most is not None and type(job.command) is not c.Tick:
            self._must_have_room(job.pool_id)
        self.accepted += 1
        self._append(job)

    def _must_have_room(self, pool_id: int) -> None:
        if self.most is not None and self.accepted >= self.most:
            raise Crowded(self.pace.seconds(self.accepted))
        parked, queue = self._parked.get(pool_id), self._queues.get(pool_id, ())
        waiting = len(queue) if parked is None else len(parked.first) + len(parked.behind)
        if self.most_of_pool is not None and waiting >= self.most_of_pool:
            raise Crowded(self.pace.seconds(waiting))

    def _append(self, job: Job) -> None:
        queue = self._queues.get(job.pool_id)
        if queue is None:
            if (parked := self._parked.get(job.pool_id)) is not None:
                parked.behind.append(job)
                return
            queue = self._queues[job.pool_id] = deque()
        queue.append(job)
        self._bell.set()

    # Taking ---------------------------------------------------------------------------------------------

    async def take(self, limit: int = BATCH_MAX, until: asyncio.Future[Any] | None = None) -> list[Job]:
        """Wait for jobs, and take up to `limit` for the next batch.

        Return nothing if `until` is done first, or once the queue is closed and every job was answered.
        Only here a parked pool comes back: who still had its jobs in hand has asked `without_parked` by now.
        """
        self._unpark()
        while not self._queues:
            if (until is not None and until.done()) or (self._closing and not self.accepted):
                return []
            self._bell.clear()
            await self._bell.wait()
            self._unpark()
        return self._take_waiting(limit)

    def _take_waiting(self, limit: int) -> list[Job]:
        """Take up to `limit` jobs, pool by pool in turn.

        A pool has at most `SHARE` jobs in a batch while others wait. A job that must be alone (see
        `Job.is_exclusive`) ends the share of its pool.
        """
        share = SHARE if len(self._queues) > 1 else BATCH_MAX
        batch: list[Job] = []
        finished: set[int] = set()
        while len(batch) < limit:
            pools = [pool_id for pool_id in self._queues if pool_id not in finished]
            if not pools:
                break
            for pool_id in pools:
                # Taken out and put in again at the end: the next batch begins with another pool.
                queue = self._queues.pop(pool_id)
                first = queue[0]
                count = _count_together(queue, min(share, limit - len(batch)))
                batch += [queue.popleft() for _ in range(count)]
                if queue:
                    self._queues[pool_id] = queue
                if first.is_exclusive or (queue and queue[0].is_exclusive):
                    finished.add(pool_id)
                if len(batch) >= limit:
                    break
        return batch

    def take_late(self, now: float) -> list[Job]:
        """Take the jobs whose callers give up by now, wherever they wait."""
        late: list[Job] = []
        for pool_id, queue in list(self._queues.items()):
            late += _take_late(queue, now)
            if not queue:
                del self._queues[pool_id]
        for parked in self._parked.values():
            late += _take_late(parked.first, now) + _take_late(parked.behind, now)
        return late

    # Parking --------------------------------------------------------------------------------------------

    def park(self, jobs: list[Job]) -> None:
        """Park the jobs of pools that another process has locked. Later jobs of a pool wait behind them."""
        for job in jobs:
            parked = self._parked.get(job.pool_id)
            if parked is None:
                parked = self._park_pool(job.pool_id)
                pause = self._pauses.get(job.pool_id, _PARK_FIRST_S)
                self._pauses[job.pool_id] = min(PARK_MAX_S, _PARK_FACTOR * pause)
                asyncio.get_running_loop().call_later(pause, self._end_parking, parked)
            parked.first.append(job)

    def requeue(self, jobs: list[Job]) -> None:
        """Have these jobs in the batch after the next one, in their order and before all others of their
        pools.

        After the next, for that one may have been taken already, and what it has of these pools goes behind.
        """
        for job in jobs:
            parked = self._parked.get(job.pool_id)
            if parked is None:
                parked = self._park_pool(job.pool_id)
                self._end_parking(parked)
            parked.first.append(job)

    def without_parked(self, jobs: list[Job]) -> list[Job]:
        """Return the jobs of a batch whose pools are not parked; park the others behind who came before."""
        if not self._parked:
            return jobs
        self.park([job for job in jobs if job.pool_id in self._parked])
        return [job for job in jobs if job.pool_id not in self._parked]

    def note_free(self, pool_ids: Iterable[int]) -> None:
        """Note that these pools were not locked: the next time they are, that may be over in a moment."""
        if self._pauses:
            for pool_id in pool_ids:
                self._pauses.pop(pool_id, None)

    def _park_pool(self, pool_id: int) -> _Parked:
        parked = self._parked[pool_id] = _Parked(behind=self._queues.pop(pool_id, deque()))
        return parked

    def _end_parking(self, parked: _Parked) -> None:
        parked.is_over = True
        self._bell.set()

    def _unpark(self) -> None:
        for pool_id, parked in list(self._parked.items()):
            if parked.is_over:
                del self._parked[pool_id]
                if queue := parked.first + parked.behind:
                    self._queues[pool_id] = queue

    # Ending ---------------------------------------------------------------------------------------------

    def ring(self) -> None:
        """Let whoever waits for jobs look again."""
        self._bell.set()

    def done(self, count: int) -> None:
        """Note that so many accepted jobs were answered."""
        self.accepted -= count
        self.pace.count += count
        if self._closing and not self.accepted:
            self._bell.set()

    def close(self) -> None:
        """Accept nothing more. What was accepted will be answered."""
        self._closing = True
        self._bell.set()


def _count_together(queue: deque[Job], limit: int) -> int:
    """Return how many of the first jobs go into one batch: those before an exclusive one, or it alone."""
    for number, job in enumerate(islice(queue, limit)):
        if job.is_exclusive:
            return number or 1
    return min(limit, len(queue))


def _take_late(queue: deque[Job], now: float) -> list[Job]:
    late = [job for job in queue if job.give_up_at <= now]
    if late:
        remaining = [job for job in queue if job.give_up_at > now]
        queue.clear()
        queue.extend(remaining)
    return late
