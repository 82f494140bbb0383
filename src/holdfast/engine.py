"""The engine: the one place that opens a writing transaction.

For each batch: lock the pools in the order of their ids, load just what the decisions need, decide each
command in turn, write everything in a few bulk statements, commit once, and only then answer.

One command that fails is taken back alone. An error of the whole batch is retried command by command,
so that one bad apple cannot spoil the others. When the connection is lost during a commit, the log is
asked whether it happened; the outcome is never guessed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from holdfast.answers import Answer, answer_of, decode_answer, encode_answer, handed_over, outcome_of
from holdfast.clock import Clock
from holdfast.core import commands as c
from holdfast.core.decide import decide
from holdfast.core.model import Instant
from holdfast.core.refusals import Refusal, idempotency_mismatch, unknown
from holdfast.core.view import Need, View
from holdfast.errors import Busy, CommandFailed, OutcomeUnknown, Unavailable
from holdfast.lane import Job, Lane
from holdfast.observe import Observer
from holdfast.store.base import Store, Transaction
from holdfast.store.loaded import Loaded, Memory
from holdfast.store.loader import Loader
from holdfast.store.writer import GENESIS, Request, Writer

log = logging.getLogger("holdfast")

NEEDS_MAX: Final = 10_000
_ASIDE_S: Final = 0.005
FORGET_MAX: Final = 1_000
_SETTLE_S: Final = 15.0
_SETTLE_PAUSE_S: Final = 0.1


class Engine:
    """Takes batches from the lane and carries them out, one transaction at a time."""

    def __init__(self, store: Store, clock: Clock, secret: str, on_due: Callable[[Instant], None]) -> None:
        self.store = store
        self.clock = clock
        self.lane = Lane()
        self.rows_loaded = 0
        self.batches = 0
        self._secret = secret
        self._on_due = on_due
        self.memory = Memory()
        self.observer = Observer()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.create_task(self._run(), name="holdfast-lane")

    async def close(self) -> None:
        """Finish what was accepted, refuse the rest."""
        self.lane.close()
        if self._task is not None:
            await self._task

    async def _run(self) -> None:
        while batch := await self.lane.take():
            try:
                await self._carry_out(batch)
            except Exception as error:
                log.exception("a batch could not be carried out")
                self._fail(batch, CommandFailed(f"{type(error).__name__}: {error}"))
            # One turn of the loop lets those just answered ask again, so that they share the next batch.
            await asyncio.sleep(0)

    async def _carry_out(self, batch: list[Job]) -> None:
        """Try twice, for a connection may have died in its sleep. What was committed is never tried again."""
        doubtful: _Batch | None = None
        error: Exception = Unavailable("the database was lost twice during a commit, and changed nothing")
        for again in (True, False):
            run = _Batch(self, batch)
            try:
                await run.carry_out()
            except OutcomeUnknown as unknown_outcome:
                happened = await self._settle(run)
                if happened is None:
                    error = unknown_outcome
                    break
                if not happened:
                    doubtful = run
                    continue
            except Unavailable as away:
                error = away
                continue
            except Busy as busy:
                error = busy
                break
            except Exception as bug:
                # A pool that the lost transaction made after all shows only now, as one that is there.
                if doubtful is not None and await self._settle(doubtful):
                    run = doubtful
                elif len(batch) > 1:
                    for job in batch:
                        await self._carry_out([job])
                    return
                else:
                    # Another process may have made the same thing at the same moment: look at it once more.
                    error = CommandFailed(f"{type(bug).__name__}: {bug}")
                    if not again:
                        log.exception("a command failed and changed nothing")
                    continue
            self._answer(run)
            return
        self._fail(batch, error)

    async def _settle(self, run: _Batch) -> bool | None:
        """Whether a commit whose outcome is unknown has happened; None if nobody comes back to tell."""
        entry = run.writer.last_entry
        if entry is None:
            return False
        pool_id, seq, hash_ = entry
        loop = asyncio.get_running_loop()
        give_up_at = loop.time() + _SETTLE_S
        while loop.time() < give_up_at:
            try:
                tx = await self.store.begin()
                try:
                    # Waits until the lost transaction is over, one way or the other.
                    await tx.rows("wait_for_pools", [pool_id])
                    found = await tx.rows("log_hash_at", pool_id, seq)
                    # A commit waits for the standby, and so for all that was committed before it.
                    await tx.commit()
                finally:
                    await tx.rollback()
                return bool(found) and bytes(found[0][0]) == hash_
            except Exception:  # noqa: BLE001  # whatever it is, it does not tell the outcome
                await asyncio.sleep(_SETTLE_PAUSE_S)
        log.error("the outcome of a commit stays unknown: the database does not come back to tell")
        return None

    async def forget_requests(self, before: Instant) -> None:
        """Forget the idempotency keys of before an instant, a few at a time, so that nobody waits long."""
        forgotten = FORGET_MAX
        while forgotten == FORGET_MAX:
            tx = await self.store.begin()
            try:
                forgotten = len(await tx.rows("forget_requests", before, FORGET_MAX))
                await tx.commit()
            finally:
                await tx.rollback()
            await asyncio.sleep(0)

    def _answer(self, run: _Batch) -> None:
        self.batches += 1
        self.rows_loaded += run.rows_loaded
        for job, value in run.answers:
            self._finish(job, value)
        if run.put_back:
            self.lane.put_back(run.put_back)
        for job in run.set_aside:
            self._set_aside(job)
        if run.next_due_at is not None:
            self._on_due(run.next_due_at)
        for loaded in run.changed:
            self.memory.keep(loaded)
        if run.changed:
            self.observer.committed(len(run.jobs), len(run.changed), run.commit_s)

    def _set_aside(self, job: Job) -> None:
        loop = asyncio.get_running_loop()
        if loop.time() >= job.give_up_at:
            self._finish(job, Busy("the pool has been held from outside for too long"))
        else:
            loop.call_later(_ASIDE_S, self.lane.put, job)

    def _fail(self, batch: list[Job], error: Exception) -> None:
        for job in batch:
            # Each caller gets an exception of its own, for raising one writes into it.
            self._finish(job, type(error)(*error.args))

    def _finish(self, job: Job, value: Answer | Exception) -> None:
        """Answer a job, once: its caller may have gone away meanwhile, and it is finished all the same."""
        if not job.finished:
            job.finished = True
            self.observer.answered(job.command, value)
            job.fail(value) if isinstance(value, Exception) else job.answer(value)
            self.lane.done(job)

    @property
    def secret(self) -> str:
        return self._secret


class _Batch:
    """One transaction: its jobs, and what has come of each."""

    def __init__(self, engine: Engine, jobs: list[Job]) -> None:
        self._engine = engine
        self.jobs = jobs
        self.answers: list[tuple[Job, Answer | Exception]] = []
        self.put_back: list[Job] = []
        self.set_aside: list[Job] = []
        self.next_due_at: Instant | None = None
        self.changed: list[Loaded] = []
        self.rows_loaded = 0
        self.commit_s = 0.0
        self.writer = Writer()
        self._remembered: dict[tuple[str, str], tuple[bytes, str]] = {}

    async def carry_out(self) -> None:
        tx = await self._engine.store.begin()
        try:
            pools = await self._decide_all(tx)
            self.changed = [loaded for loaded in pools if loaded.changed]
            if self.changed or self.writer.requests:
                await self.writer.write(tx, self.changed)
                await self._announce(tx, self.changed)
                began = asyncio.get_running_loop().time()
                await tx.commit()
                self.commit_s = asyncio.get_running_loop().time() - began
            else:
                await tx.rollback()
        except BaseException:
            await tx.rollback()
            raise

    async def _decide_all(self, tx: Transaction) -> list[Loaded]:
        existing: dict[int, list[c.Command]] = {}
        for job in self.jobs:
            if not isinstance(job.command, c.CreatePool):
                existing.setdefault(job.pool_id, []).append(job.command)
        loader = Loader(tx, self._engine.memory, self._engine.clock)
        pools = await loader.load(existing) if existing else {}
        self.writer.now = loader.now
        await self._remember_requests(tx)
        missing = [pool_id for pool_id in existing if pool_id not in pools]
        there = {row[0] for row in await tx.rows("pool_configs", missing)} if missing else set()
        ticked: set[int] = set()
        for job in self.jobs:
            if isinstance(job.command, c.CreatePool):
                await self._create(tx, job, pools)
            elif job.pool_id in pools:
                await self._decide_one(loader, pools[job.pool_id], job, ticked)
            elif job.pool_id in there:
                self.set_aside.append(job)
            else:
                self.answers.append((job, unknown("pool", job.pool_id)))
        self.rows_loaded = loader.count
        return list(pools.values())

    async def _remember_requests(self, tx: Transaction) -> None:
        keys = dict.fromkeys((job.org, job.key) for job in self.jobs if job.key is not None)
        if keys:
            for org, key, digest, answer in await tx.each("requests_by_key", list(keys)):
                self._remembered[org, key] = (bytes(digest), answer)

    async def _create(self, tx: Transaction, job: Job, pools: dict[int, Loaded]) -> None:
        assert isinstance(job.command, c.CreatePool)
        if self._answered_before(job):
            return
        pool = job.command.pool
        made = [
            loaded
            for loaded in pools.values()
            if (loaded.view.pool.org, loaded.view.pool.key) == (pool.org, pool.key)
        ]
        if made or await tx.rows("find_pool", pool.org, pool.key):
            # No lock keeps another process from making it just now; if so, it did under this very key, maybe.
            await self._remember_requests(tx)
            if not self._answered_before(job):
                self._keep(job, Refusal("exists", f"There is a pool {pool.key!r} already.", "key"))
            return
        loaded = Loaded(pool.id, View(), log_hash=GENESIS)
        decision = decide(loaded.view, job.command, self.writer.now)
        if job.dry_run and not isinstance(decision.answer, Refusal):
            self.answers.append((job, outcome_of(loaded.view, decision)))
            return
        answer = answer_of(loaded.view, job.command, decision, self.writer.now)
        if not isinstance(decision.answer, Refusal):
            self.writer.record(loaded, decision)
            pools[pool.id] = loaded
        self._keep(job, answer)

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
                    self.answers.append((job, failed))
                else:
                    self.put_back.append(job)
                return
        if self._answered_before(job):
            return
        answer = await self._decide(loader, loaded, job.command, dry_run=job.dry_run)
        if isinstance(answer, Exception):
            self.answers.append((job, answer))
        else:
            self._keep(job, answer)

    async def _decide(
        self, loader: Loader, loaded: Loaded, command: c.Command, *, dry_run: bool = False
    ) -> Answer | Exception:
        view, now = loaded.view, self.writer.now
        for _ in range(NEEDS_MAX):
            view.savepoint()
            try:
                decision = decide(view, command, now)
                if dry_run:
                    answer: Answer = outcome_of(view, decision)
                    view.rollback()
                    return answer
                answer = answer_of(view, command, decision, now)
            except Need as need:
                view.rollback()
                await loader.load_more(loaded, need)
                continue
            except Exception as error:
                view.rollback()
                log.exception("a command failed and changed nothing")
                return CommandFailed(f"{type(error).__name__}: {error}")
            self.writer.record(loaded, decision)
            return answer
        return CommandFailed("the decision needed more rows than there can be")

    def _answered_before(self, job: Job) -> bool:
        if job.key is None or (job.org, job.key) not in self._remembered:
            return False
        digest, answer = self._remembered[job.org, job.key]
        if digest == job.digest:
            self.answers.append((job, handed_over(decode_answer(answer), job.command, self._engine.secret)))
        else:
            self.answers.append((job, idempotency_mismatch()))
        return True

    def _keep(self, job: Job, answer: Answer) -> None:
        """Answer a job once the batch is committed, and remember the answer under its key."""
        self.answers.append((job, handed_over(answer, job.command, self._engine.secret)))
        if job.key is not None and not job.dry_run:
            text = encode_answer(answer)
            self._remembered[job.org, job.key] = (job.digest, text)
            self.writer.requests.append(Request(job.org, job.key, job.digest, text))

    async def _announce(self, tx: Transaction, pools: list[Loaded]) -> None:
        """Note the earliest due time that this batch has brought forward, and tell other processes."""
        for loaded in pools:
            due_at = loaded.view.due_at
            if due_at is not None and (loaded.due_at is None or due_at != loaded.due_at):
                self.next_due_at = min(due_at, self.next_due_at or due_at)
                if loaded.due_at is None or due_at < loaded.due_at:
                    await tx.run("notify", str(due_at))
