"""One transaction's worth of commands: loaded, decided one after the other, and written together.

A batch is carried out under the lock of its pools: lock, load, decide, write, commit. Or, when the last batch
left everything that it needs, it is decided ahead, while that one is still being written, and then written
under the lock if nothing has come between.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Final

from fairhold.answers import Answer, answer_of, for_stranger, outcome_of
from fairhold.clock import Clock
from fairhold.core import commands as c
from fairhold.core.decide import decide
from fairhold.core.model import Instant
from fairhold.core.refusals import Refusal, unknown
from fairhold.core.view import Need, View
from fairhold.errors import CommandFailed
from fairhold.hoarding import Hoarding
from fairhold.lane import Job
from fairhold.replies import Replies
from fairhold.shapes import Sight
from fairhold.store.ahead import Ahead, load_ahead, may_go_ahead
from fairhold.store.base import Store, Together, Transaction, still_so
from fairhold.store.blocks import entered_with
from fairhold.store.loaded import Loaded, Memory, entered_unless_looked_at
from fairhold.store.loader import Loader
from fairhold.store.writer import GENESIS, Writer

log = logging.getLogger("fairhold")

NEEDS_MAX: Final = 10_000
_BREATH: Final = 16


class Overtaken(Exception):
    """Somebody has changed a pool since a batch was decided ahead."""


class Batch:
    """The jobs of one transaction, and what has come of each."""

    def __init__(self, jobs: list[Job], store: Store, memory: Memory, clock: Clock, secret: str) -> None:
        self.jobs = jobs
        self.put_back: list[Job] = []
        self.set_aside: list[Job] = []
        self.pools: dict[int, Loaded] = {}
        self.rows_loaded = 0
        # How long it took to write and commit.
        self.commit_s = 0.0
        self.writer = Writer()
        self._replies = Replies(secret)
        self._store = store
        self._memory = memory
        self._clock = clock
        self._hoarding = Hoarding(0)
        self._ahead = Ahead()
        self._ready: Together | None = None

    # Under the lock ---------------------------------------------------------------------------------

    async def carry_out(self) -> None:
        """Lock, load, decide, write and commit."""
        time = asyncio.get_running_loop().time
        tx = await self._store.begin()
        try:
            await self._decide_all(tx)
            began = time()
            await self._write(tx)
            self.commit_s = time() - began
        except BaseException:
            await tx.rollback()
            raise
        for loaded in self.changed:
            self._memory.keep(loaded, entered_unless_looked_at(loaded))

    async def _decide_all(self, tx: Transaction) -> None:
        existing = _commands(self.jobs)
        loader = Loader(tx, self._memory, self._clock)
        self.pools = await loader.load(existing) if existing else {}
        self.writer.now = loader.now
        self._hoarding = Hoarding(loader.now)
        self.writer.sources = self._hoarding.sources
        await self._hoarding.count(tx, self.jobs)
        await self._replies.look_up(tx, self.jobs)
        missing = [pool_id for pool_id in existing if pool_id not in self.pools]
        there = {row[0] for row in await tx.rows("pool_configs", missing)} if missing else set()
        ticked: set[int] = set()
        for job in self.jobs:
            if isinstance(job.command, c.CreatePool):
                await self._create(tx, job)
            elif job.pool_id in self.pools:
                await self._decide_one(loader, self.pools[job.pool_id], job, ticked)
            elif job.pool_id in there:
                self.set_aside.append(job)
            else:
                self._replies.add(job, unknown("pool", job.pool_id))
        self._put_into_words()
        self.rows_loaded = loader.count

    async def _create(self, tx: Transaction, job: Job) -> None:
        assert isinstance(job.command, c.CreatePool)
        if self._replies.answered_before(job):
            return
        pool, now = job.command.pool, self.writer.now
        made = [
            loaded
            for loaded in self.pools.values()
            if (loaded.view.pool.org, loaded.view.pool.key) == (pool.org, pool.key)
        ]
        if made or await tx.rows("find_pool", pool.org, pool.key):
            # No lock keeps another process from making it just now; if so, it did under this very key, maybe.
            await self._replies.look_up(tx, self.jobs)
            if not self._replies.answered_before(job):
                self._replies.keep(job, Refusal("exists", f"There is a pool {pool.key!r} already.", "key"))
            return
        loaded = Loaded(pool.id, View(), log_hash=GENESIS, now=now)
        decision = decide(loaded.view, job.command, now)
        if job.dry_run and not isinstance(decision.answer, Refusal):
            self._replies.add(job, outcome_of(loaded.view, decision))
            return
        answer = answer_of(loaded.view, job.command, decision, now)
        if not isinstance(decision.answer, Refusal):
            self.writer.record(loaded, decision)
            self.pools[pool.id] = loaded
        self._replies.keep(job, answer)

    async def _decide_one(self, loader: Loader, loaded: Loaded, job: Job, ticked: set[int]) -> None:
        if loaded.more_due:
            # Too much is due for one transaction: a tick goes first, and the others wait for the next.
            if loaded.pool_id in ticked:
                self.put_back.append(job)
                return
            ticked.add(loaded.pool_id)
            if not isinstance(job.command, c.Tick):
                failed = await self._decide(loader, loaded, c.Tick())
                if isinstance(failed, Exception):
                    # It would fail the next time too, and the command would come back for ever.
                    self._replies.add(job, failed)
                else:
                    self.put_back.append(job)
                return
        if self._replies.answered_before(job):
            return
        if full := self._hoarding.refusal(job):
            # Not under its key: asked again later, it may well be granted.
            self._replies.add(job, full)
            return
        answer = await self._decide(
            loader, loaded, job.command, dry_run=job.dry_run, to_stranger=job.source is not None
        )
        if isinstance(answer, Exception):
            self._replies.add(job, answer)
        else:
            self._hoarding.note(job, answer)
            self._replies.keep(job, answer)

    async def _decide(
        self,
        loader: Loader,
        loaded: Loaded,
        command: c.Command,
        *,
        dry_run: bool = False,
        to_stranger: bool = False,
    ) -> Answer | Sight | Exception:
        """Decide, and load whatever the decision turns out to need."""
        for _ in range(NEEDS_MAX):
            try:
                return self._decided(loaded, command, dry_run, to_stranger)
            except Need as need:
                await loader.load_more(loaded, need)
            except Exception as error:
                log.exception("a command failed and changed nothing")
                return CommandFailed(f"{type(error).__name__}: {error}")
        return CommandFailed("the decision needed more rows than there can be")

    def _decided(
        self, loaded: Loaded, command: c.Command, dry_run: bool, to_stranger: bool = False
    ) -> Answer | Sight:
        """The answer to a command. The view has changed accordingly, or not at all if this raises."""
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
            answer = answer_of(view, command, decision, loaded.now)
        except BaseException:
            view.rollback()
            raise
        self.writer.record(loaded, decision)
        return answer

    # Ahead ------------------------------------------------------------------------------------------

    async def decide_ahead(self, before: Batch | None, *, look_up: bool) -> bool:
        """Decide on what `before`, which is being written, leaves behind; False if that cannot be done.

        Keys and parties are taken to be new ones, unless they are to be looked up.
        """
        jobs, self.jobs = self.jobs, []
        left = await self._decide_more(jobs, before, look_up)
        if not left:
            self._leave_standing()
        return not left

    async def take_along(self, jobs: list[Job], before: Batch, *, look_up: bool) -> list[Job]:
        """Decide these ahead, too; what is left are those from the first on of which that cannot be done."""
        left = await self._decide_more(jobs, before, look_up)
        if len(left) < len(jobs):
            self._leave_standing()
        return left

    async def _decide_more(self, jobs: list[Job], before: Batch | None, look_up: bool) -> list[Job]:
        for job in jobs:
            if job.dry_run or job.source:
                return jobs
        if not may_go_ahead([job.command for job in jobs]):
            return jobs
        scout, now = self._store.scout(), self._clock.now()
        in_hand: Mapping[int, Loaded] = before.pools if before else {}
        if not await load_ahead(
            self._ahead, scout, self._memory, _commands(jobs), in_hand, now, read_parties=look_up
        ):
            return jobs
        self.pools, self.writer.now = self._ahead.pools, now
        if look_up:
            await self._replies.look_up(scout, jobs)
        if before:
            self._replies.follow(before._replies)
        return await self._decide_each(jobs, breathing=before is not None)

    async def _decide_each(self, jobs: list[Job], *, breathing: bool) -> list[Job]:
        """Decide one after the other, up to the first that needs more than is known; it and the rest."""
        for number, job in enumerate(jobs):
            if not self._replies.answered_before(job):
                try:
                    answer = self._decided(self.pools[job.pool_id], job.command, dry_run=False)
                except Need:
                    return jobs[number:]
                self._replies.keep(job, answer)
            self.jobs.append(job)
            if breathing and len(self.jobs) % _BREATH == 0:
                # What is being written waits for this thread now and then.
                await asyncio.sleep(0)
        return []

    def _leave_standing(self) -> None:
        """The next batch is decided on what this one leaves behind."""
        self._put_into_words()
        changed = self.changed
        plain = self.writer.is_plain(changed)
        for loaded in changed:
            newcomers = len(loaded.view.added)
            entered = entered_with(loaded.entered, newcomers) if plain else entered_unless_looked_at(loaded)
            self._memory.keep(loaded, entered)

    def make_ready(self) -> None:
        """Put together what is to be written, if it is one statement. Nobody may go along any more."""
        changed = self.changed
        if self.writer.is_plain(changed):
            self.writer.requests = self._replies.requests()
            self._ready = self._store.put_together(self._ahead.seen(), self.writer.writes_in_one(changed))

    def line_up(self, before: Batch) -> None:
        """Make it ready, and have it written straight behind the one before, where a store can do that."""
        self.make_ready()
        if self._ready is not None and before._ready is not None:
            self._store.line_up(self._ready, behind=before._ready)

    async def write_ahead(self) -> None:
        """Write what was decided ahead. Raises Overtaken, and has changed nothing."""
        time = asyncio.get_running_loop().time
        began = time()
        if self._ready is None:
            self.make_ready()
        tx = await self._store.begin(to_finish=self._ready is not None)
        try:
            if self._ready is not None:
                if not await tx.finish(self._ready):
                    raise Overtaken
            else:
                await self._write_if_still_so(tx)
        except BaseException:
            await tx.rollback()
            raise
        self.commit_s = time() - began

    async def _write_if_still_so(self, tx: Transaction) -> None:
        if not await still_so(tx, self._ahead.seen()):
            raise Overtaken
        await self._write(tx)

    def forget(self) -> None:
        """What was decided here has not come to be, so nothing may be decided on it."""
        for pool_id in self.pools:
            self._memory.forget(pool_id)

    def _put_into_words(self) -> None:
        """What was decided goes into the log, and what was answered gets its form."""
        self.writer.chain()
        self._replies.put_into_words()

    # Writing ----------------------------------------------------------------------------------------

    @property
    def answers(self) -> list[tuple[Job, Answer | Exception]]:
        """What has come of each job."""
        return self._replies.answers

    @property
    def next_due_at(self) -> Instant | None:
        """The earliest due time that is new by this batch."""
        pools = self.pools.values()
        times = [loaded.view.due_at for loaded in pools if loaded.view.due_at != loaded.due_at]
        return min((due_at for due_at in times if due_at is not None), default=None)

    @property
    def changed(self) -> list[Loaded]:
        """The pools that this batch has changed."""
        return [loaded for loaded in self.pools.values() if loaded.changed]

    async def _write(self, tx: Transaction) -> None:
        changed = self.changed
        self.writer.requests = self._replies.requests()
        if changed or self.writer.requests:
            await self.writer.write(tx, changed)
            await tx.commit()
        else:
            await tx.rollback()


def _commands(jobs: Sequence[Job]) -> dict[int, list[c.Command]]:
    """What is asked of each pool that there is."""
    commands: dict[int, list[c.Command]] = {}
    for job in jobs:
        if type(job.command) is not c.CreatePool:
            commands.setdefault(job.pool_id, []).append(job.command)
    return commands
