"""One transaction's worth of jobs: decided one after the other, and appended together.

A batch is decided on what one connection reads, on top of the batch that is being written, if there is one.
It is appended if the logs of its pools still end as they did then. Under the lock of the pools that is so by
itself. Loading and appending know nothing of queues.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Final

from fairhold.answers import Answer, answer_of, for_stranger, outcome_of
from fairhold.clock import Clock
from fairhold.core import commands as c
from fairhold.core.decide import decide
from fairhold.core.model import Instant
from fairhold.core.refusals import Refusal, unknown
from fairhold.core.view import Need, View
from fairhold.engine.jobs import Job
from fairhold.engine.limits import Limits
from fairhold.engine.replies import Replies
from fairhold.errors import CommandFailed
from fairhold.store.base import BatchStatement, Reader, Store, Transaction, check_heads
from fairhold.store.blocks import entered_with
from fairhold.store.loaded import Loaded, Memory, entered_unless_looked_at
from fairhold.store.loader import InFlight, Loader
from fairhold.store.writer import GENESIS, Writer

log = logging.getLogger("fairhold")

NEEDS_MAX: Final = 10_000
# After so many decisions the event loop does something else: what is being written waits for this thread,
# too.
_PAUSE_EVERY: Final = 16


class Overtaken(Exception):
    """A pool has changed since a batch was decided on it, or what it was decided on has not come to be."""


class Batch:
    """The jobs of one transaction, and what has come of each."""

    def __init__(self, jobs: list[Job], store: Store, memory: Memory, clock: Clock, secret: str) -> None:
        self.jobs = jobs
        # Jobs that this batch has not decided: their pool had too much due, or another process has locked it.
        self.requeued: list[Job] = []
        self.parked: list[Job] = []
        self.pools: dict[int, Loaded] = {}
        self.rows_loaded = 0
        # How long it took to write and commit.
        self.commit_s = 0.0
        self.writer = Writer()
        self.replies = Replies(secret)
        self._store = store
        self._memory = memory
        self._clock = clock
        self._limits = Limits(0)
        self._ticked: set[int] = set()
        self._statement: BatchStatement | None = None

    # Deciding -------------------------------------------------------------------------------------------

    async def decide(self, reader: Reader, in_flight: Flight | None = None) -> None:
        """Decide all jobs without a lock, on top of the batch that is being written."""
        if in_flight is not None:
            if any(_asks_of_all_pools(job) for job in self.jobs):
                await in_flight.wait()
                in_flight = None
            else:
                self.replies.follow(in_flight.replies)
        loader = Loader(reader, self._memory, self._clock, in_flight)
        self.pools = await loader.load(_commands(self.jobs))
        await self._decide_all(reader, loader, locked=frozenset())
        self._statement = self._as_statement()

    async def decide_under_lock(self, tx: Transaction) -> None:
        """Lock the pools of all jobs, and decide them on what is there."""
        loader, commands = Loader(tx, self._memory, self._clock), _commands(self.jobs)
        self.pools = await loader.lock(commands) if commands else {}
        missing = [pool_id for pool_id in commands if pool_id not in self.pools]
        there = await tx.rows("pool_configs", missing) if missing else ()
        await self._decide_all(tx, loader, locked=frozenset(row[0] for row in there))

    async def _decide_all(self, reader: Reader, loader: Loader, locked: frozenset[int]) -> None:
        self.writer.now = loader.now
        self._limits = Limits(loader.now)
        self.writer.sources = self._limits.sources
        await self._limits.count(reader, self.jobs)
        await self.replies.look_up(reader, self.jobs)
        for number, job in enumerate(self.jobs, 1):
            if isinstance(job.command, c.CreatePool):
                await self._create(reader, job)
            elif job.pool_id in self.pools:
                await self._decide_job(loader, self.pools[job.pool_id], job)
            elif job.pool_id in locked:
                self.parked.append(job)
            else:
                self.replies.add(job, unknown("pool", job.pool_id))
            if number % _PAUSE_EVERY == 0:
                await asyncio.sleep(0)
        self.rows_loaded = loader.count
        self.writer.requests = self.replies.requests()
        # The next batch begins with the pools as this one leaves them.
        changed = self.changed
        plain = self.writer.is_plain(changed)
        for loaded in changed:
            newcomers = len(loaded.view.added)
            entered = entered_with(loaded.entered, newcomers) if plain else entered_unless_looked_at(loaded)
            self._memory.keep(loaded, entered)

    async def _create(self, reader: Reader, job: Job) -> None:
        assert isinstance(job.command, c.CreatePool)
        if self.replies.answered_before(job):
            return
        pool, now = job.command.pool, self.writer.now
        made = any((it.view.pool.org, it.view.pool.key) == (pool.org, pool.key) for it in self.pools.values())
        if made or await reader.rows("find_pool", pool.org, pool.key):
            # No lock keeps another process from making it just now; if so, it did under this very key, maybe.
            await self.replies.look_up(reader, self.jobs)
            if not self.replies.answered_before(job):
                self.replies.keep(job, Refusal("exists", f"There is a pool {pool.key!r} already.", "key"))
            return
        loaded = Loaded(pool.id, View(), log_hash=GENESIS, now=now, entered=0)
        decision = decide(loaded.view, job.command, now)
        if job.dry_run and not isinstance(decision.answer, Refusal):
            self.replies.add(job, outcome_of(loaded.view, decision))
            return
        answer = answer_of(loaded.view, job.command, decision, now, self.replies.secret)
        if not isinstance(decision.answer, Refusal):
            self.writer.record(loaded, decision)
            self.pools[pool.id] = loaded
        self.replies.keep(job, answer)

    async def _decide_job(self, loader: Loader, loaded: Loaded, job: Job) -> None:
        if loaded.more_due:
            # Too much is due for one batch: a tick goes first, and the others wait for the next.
            if loaded.pool_id in self._ticked:
                self.requeued.append(job)
                return
            self._ticked.add(loaded.pool_id)
            if not isinstance(job.command, c.Tick):
                await self._tick_before(loader, loaded, job)
                return
        if self.replies.answered_before(job):
            return
        if too_many := self._limits.refusal(job):
            # Not under its key: asked again later, it may well be granted.
            self.replies.add(job, too_many)
            return
        answer = await self._decide(
            loader, loaded, job.command, dry_run=job.dry_run, to_stranger=job.source is not None
        )
        if isinstance(answer, Exception):
            self.replies.add(job, answer)
        else:
            self._limits.note(job, answer)
            self.replies.keep(job, answer)

    async def _tick_before(self, loader: Loader, loaded: Loaded, job: Job) -> None:
        failed = await self._decide(loader, loaded, c.Tick())
        if isinstance(failed, Exception):
            # It would fail the next time too, and the job would come back for ever.
            self.replies.add(job, failed)
        else:
            self.requeued.append(job)

    async def _decide(
        self,
        loader: Loader,
        loaded: Loaded,
        command: c.Command,
        *,
        dry_run: bool = False,
        to_stranger: bool = False,
    ) -> Answer | Exception:
        """Decide one command, and load whatever the decision turns out to need."""
        for _ in range(NEEDS_MAX):
            try:
                return self._decided(loaded, command, dry_run, to_stranger)
            except Need as need:
                await loader.load_more(loaded, need)
            except Exception as error:
                log.exception("a command failed and changed nothing")
                return CommandFailed(f"{type(error).__name__}: {error}")
        return CommandFailed("the decision needed more rows than there can be")

    def _decided(self, loaded: Loaded, command: c.Command, dry_run: bool, to_stranger: bool) -> Answer:
        """Return the answer to a command. The view has changed accordingly, or not at all if this raises."""
        view = loaded.view
        view.savepoint()
        try:
            decision = decide(view, command, loaded.now)
            if to_stranger:
                decision = for_stranger(decision)
            if dry_run:
                outcome = outcome_of(view, decision)
                view.rollback()
                return outcome
            answer = answer_of(view, command, decision, loaded.now, self.replies.secret)
        except BaseException:
            view.rollback()
            raise
        self.writer.record(loaded, decision)
        return answer

    def _as_statement(self) -> BatchStatement | None:
        """Put the batch into one statement, if the store has one and nothing must be read to write it."""
        heads, changed = self._heads, self.changed
        if not heads or not self.writer.is_plain(changed):
            return None
        return self._store.batch_statement(heads, self.writer.plain_writes(changed))

    # Appending ------------------------------------------------------------------------------------------

    async def append(self) -> None:
        """Write the batch in a transaction of its own. Raise Overtaken, and nothing has changed."""
        time = asyncio.get_running_loop().time
        began = time()
        tx = await self._store.begin()
        try:
            if self._statement is not None:
                if not await tx.finish(self._statement):
                    raise Overtaken
            else:
                if not await check_heads(tx, self._heads):
                    raise Overtaken
                await self.append_to(tx)
                await tx.commit()
        except BaseException:
            await tx.rollback()
            raise
        self.commit_s = time() - began

    async def carry_out(self) -> None:
        """Lock the pools, decide and write, in one transaction."""
        time = asyncio.get_running_loop().time
        tx = await self._store.begin()
        try:
            await self.decide_under_lock(tx)
            began = time()
            await self.append_to(tx)
            await tx.commit()
            self.commit_s = time() - began
        except BaseException:
            await tx.rollback()
            self.forget()
            raise

    async def append_to(self, tx: Transaction) -> None:
        """Write the batch into a transaction that has its pools locked, as they were when it was decided."""
        changed = self.changed
        if changed or self.writer.requests:
            await self.writer.write(tx, changed)

    def take_requeued(self) -> list[Job]:
        """Return the jobs that wait for another batch; they are not of this one any more."""
        requeued, self.requeued = self.requeued, []
        if requeued:
            self.jobs = [job for job in self.jobs if job not in requeued]
        return requeued

    def forget(self) -> None:
        """Forget the pools as this batch leaves them: it was not written, so nothing may be decided on it."""
        for pool_id in self.pools:
            self._memory.forget(pool_id)

    @property
    def _heads(self) -> dict[int, bytes]:
        """How the logs of the pools ended that this was decided on."""
        return {
            pool_id: loaded.seen_hash
            for pool_id, loaded in sorted(self.pools.items())
            if loaded.config_version
        }

    @property
    def changed(self) -> list[Loaded]:
        """The pools that this batch has changed."""
        return [loaded for loaded in self.pools.values() if loaded.changed]

    @property
    def next_due_at(self) -> Instant | None:
        """The earliest due time that is new by this batch."""
        pools = self.pools.values()
        times = [loaded.view.due_at for loaded in pools if loaded.view.due_at != loaded.due_at]
        return min((due_at for due_at in times if due_at is not None), default=None)


class Flight(InFlight):
    """A batch on its way into the database, for the one that is decided on top of it."""

    def __init__(self, batch: Batch) -> None:
        self.batch = batch
        self.pools = batch.pools
        self.replies = batch.replies
        self.task: asyncio.Task[None]
        # True once it is written, False if it never will be.
        self.written: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

    async def wait(self) -> None:
        if not await asyncio.shield(self.written):
            raise Overtaken


def _asks_of_all_pools(job: Job) -> bool:
    """True if a job is decided on what is committed in other pools, too: limits, and names of pools."""
    return job.source is not None or isinstance(job.command, c.CreatePool)


def _commands(jobs: Sequence[Job]) -> dict[int, list[c.Command]]:
    """Return what is asked of each pool that there is."""
    commands: dict[int, list[c.Command]] = {}
    for job in jobs:
        if type(job.command) is not c.CreatePool:
            commands.setdefault(job.pool_id, []).append(job.command)
    return commands
