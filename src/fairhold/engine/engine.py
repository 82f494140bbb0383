"""The engine: the one place that opens a writing transaction for what the rules decide.

    jobs ──► decide ──► write ──► answer
                │          ▲
                └──────────┘  the next batch is decided on top of the one that is being written

At most one batch is being written. While it is, the next one is decided on top of it, and is sent as soon as
the first is written; then the callers of the first are answered. That is all.

A batch is written only if the logs of its pools still end as it was decided on. If another process was
quicker, or anything else goes wrong, its jobs are carried out under the lock of their pools instead. A
command that fails is taken back alone; an error of a whole batch is retried job by job, so that one bad apple
cannot spoil the others. When the connection is lost during a commit, the log is asked whether it happened.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Final

from fairhold.answers import Answer
from fairhold.clock import Clock
from fairhold.core.model import Instant
from fairhold.engine import outcome
from fairhold.engine.batch import Batch, Flight
from fairhold.engine.jobs import BATCH_MAX, Job, JobQueue
from fairhold.errors import Busy, CommandFailed, OutcomeUnknown, Unavailable
from fairhold.observe import Observer
from fairhold.store.base import Store
from fairhold.store.loaded import Memory

log = logging.getLogger("fairhold")

# Two batches share the callers, one being written and one being decided. Fewer jobs than this go into one.
_HALVED_ABOVE: Final = 32
# After another process was quicker, so many batches are decided under the lock: it will be quicker again.
_UNDER_LOCK: Final = 64
_AWAY: Final = "the database has been away for too long; nothing was begun"


class Engine:
    """Takes jobs from the queue and carries them out, one batch after the other."""

    def __init__(self, store: Store, clock: Clock, secret: str, on_due: Callable[[Instant], None]) -> None:
        self.store = store
        self.clock = clock
        self.secret = secret
        self.queue = JobQueue()
        self.memory = Memory()
        self.observer = Observer()
        # Called after each commit that has put messages into the outbox, if somebody here sends them.
        self.on_messages: Callable[[], None] | None = None
        self.rows_loaded = 0
        self.batches = 0
        # Of these, the batches that were decided without a lock.
        self.batches_ahead = 0
        self.loop: asyncio.AbstractEventLoop  # to ask which one runs is a call of the system
        self._on_due = on_due
        self._under_lock = 0
        # True if the database could not be reached the last time.
        self._is_away = False
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to take jobs."""
        self.loop = asyncio.get_running_loop()
        self._task = asyncio.create_task(self._run(), name="fairhold-engine")

    async def close(self) -> None:
        """Finish what was accepted, refuse the rest."""
        self.queue.close()
        if self._task is not None:
            await self._task

    # The pipeline ---------------------------------------------------------------------------------------

    async def _run(self) -> None:
        """Take, decide, write and answer batches, until the queue is closed and empty.

        1. take the jobs that wait, or notice that the batch in flight is written;
        2. decide them, on top of the batch in flight;
        3. once that one is written, send them off: the database need not wait until its callers are answered;
        4. answer its callers; if it was not written, carry its jobs out first;
        5. what could not be decided without a lock is carried out under it. Nothing is in flight then.
        """
        flight: Flight | None = None
        while True:
            jobs = await self.queue.take(self._limit(), flight.written if flight else None)
            if not jobs and flight is None:
                return
            if self._is_away:
                jobs = self._without_late(jobs)
            batch = await self._decide(jobs, flight) if jobs else None
            if flight is not None and not await flight.written and batch is not None:
                # What it was decided on has not come to be.
                batch.forget()
                jobs, batch = batch.jobs, None
            following = self._send(batch) if batch is not None else None
            # One turn of the loop lets it be sent, or lets those just answered ask again and share the next
            # batch.
            await asyncio.sleep(0)
            if flight is not None:
                await self._land(flight)
            if jobs and following is None:
                await self._carry_out(jobs)
            flight = following

    def _limit(self) -> int:
        """Return how many jobs to take: half of all, for the other half is being written, or is next."""
        return min(BATCH_MAX, max(_HALVED_ABOVE, -(-self.queue.accepted // 2)))

    def _without_late(self, jobs: list[Job]) -> list[Job]:
        """Fail the jobs that have waited long enough for the database, and return the others."""
        now = self.loop.time()
        late = [job for job in jobs if job.give_up_at <= now]
        self._fail(late, Unavailable(_AWAY))
        return [job for job in jobs if job.give_up_at > now]

    async def _decide(self, jobs: list[Job], flight: Flight | None) -> Batch | None:
        """Decide jobs without a lock, on top of the batch in flight; None if that cannot be done."""
        if self._under_lock:
            self._under_lock -= 1
            return None
        batch = self._batch(jobs)
        try:
            await batch.decide(self.store.scout(), flight)
        except Exception as error:  # noqa: BLE001  # under the lock it will come again, and be dealt with there
            log.debug("a batch could not be decided without a lock: %s", error)
            batch.forget()
            return None
        # Before others are taken, so that nobody overtakes them.
        self.queue.requeue(batch.take_requeued())
        return batch

    def _send(self, batch: Batch) -> Flight:
        """Begin to write a batch that was decided without a lock."""
        flight = Flight(batch)
        flight.written.add_done_callback(lambda _: self.queue.ring())
        flight.task = asyncio.create_task(self._fly(flight))
        return flight

    async def _fly(self, flight: Flight) -> None:
        written = False
        try:
            written = await self._write(flight.batch)
        finally:
            if not written:
                flight.batch.forget()
            flight.written.set_result(written)

    async def _write(self, batch: Batch) -> bool:
        """Write a batch that was decided without a lock. True if it is in the database."""
        try:
            await batch.append()
        except OutcomeUnknown as unknown_outcome:
            happened = await self._has_happened(batch)
            if happened is None:
                self._fail(batch.jobs, unknown_outcome)
            return bool(happened)
        except Exception as error:  # noqa: BLE001  # under the lock it will come again, and be dealt with there
            log.debug("a batch that was decided without a lock was not written: %s", error)
            self._under_lock = _UNDER_LOCK
            return False
        self.batches_ahead += 1
        return True

    async def _land(self, flight: Flight) -> None:
        """Answer the callers of a batch that was in flight, or carry its jobs out if it was not written."""
        if not flight.written.result():
            await self._carry_out([job for job in flight.batch.jobs if not job.finished])
            return
        try:
            self._answer(flight.batch)
        except Exception as error:
            # It is written, but nobody may wait for ever, nor may the engine end.
            log.exception("a batch could not be answered")
            self._fail(flight.batch.jobs, CommandFailed(f"{type(error).__name__}: {error}"))

    def _batch(self, jobs: list[Job]) -> Batch:
        batch = Batch(jobs, self.store, self.memory, self.clock, self.secret)
        # If nobody here sends messages, whoever does is woken.
        batch.writer.tells_of_messages = self.on_messages is None
        return batch

    # Under the lock -------------------------------------------------------------------------------------

    async def _carry_out(self, jobs: list[Job]) -> None:
        """Carry out jobs under the lock of their pools, whatever happens. Parked pools stay parked."""
        jobs = self.queue.without_parked(jobs)
        try:
            if jobs:
                await self._carry_out_under_lock(jobs)
        except Exception as error:
            log.exception("a batch could not be carried out")
            self._fail(jobs, CommandFailed(f"{type(error).__name__}: {error}"))

    async def _carry_out_under_lock(self, jobs: list[Job]) -> None:
        """Try twice, for a connection may have died in its sleep. What was committed is never tried again."""
        doubtful: Batch | None = None
        error: Exception = Unavailable("the database was lost twice during a commit, and changed nothing")
        for again in (True, False):
            batch = self._batch(jobs)
            try:
                await batch.carry_out()
            except OutcomeUnknown as unknown_outcome:
                happened = await self._has_happened(batch)
                if happened is None:
                    error = unknown_outcome
                    break
                if not happened:
                    doubtful = batch
                    continue
            except Unavailable as away:
                error = away
                continue
            except Busy as busy:
                error = busy
                break
            except Exception as bug:
                # A pool that the lost transaction made after all shows only now, as one that is there.
                if doubtful is not None and await self._has_happened(doubtful):
                    batch = doubtful
                elif len(jobs) > 1:
                    while jobs:
                        await self._carry_out(jobs[:1])
                        # At once, for soon the pool may come back.
                        jobs = self.queue.without_parked(jobs[1:])
                    return
                else:
                    # Another process may have made the same thing at the same moment: look at it once more.
                    error = CommandFailed(f"{type(bug).__name__}: {bug}")
                    if not again:
                        log.exception("a command failed and changed nothing")
                    continue
            self._answer(batch)
            return
        self._fail(jobs, error)

    async def _has_happened(self, batch: Batch) -> bool | None:
        """Ask the log what became of a lost commit. Fail the jobs that give up meanwhile."""
        turning_away = asyncio.create_task(self._turn_away())
        try:
            return await outcome.has_happened(self.store, batch.writer)
        finally:
            turning_away.cancel()

    async def _turn_away(self) -> None:
        while True:
            if late := self.queue.take_late(self.loop.time()):
                self._fail(late, Unavailable(_AWAY))
            await asyncio.sleep(outcome.PAUSE_S)

    # Answering ------------------------------------------------------------------------------------------

    def _answer(self, batch: Batch) -> None:
        """Answer the jobs of a batch that was written, and tell those who wait for its news."""
        self._is_away = False
        self.batches += 1
        self.rows_loaded += batch.rows_loaded
        self._finish(batch.replies.answers)
        self.queue.note_free(batch.pools)
        self.queue.requeue(batch.take_requeued())
        if batch.parked:
            self._park(batch.parked)
        try:
            self._tell_of(batch)
        except Exception:
            # Nobody may hear that it failed: it is committed.
            log.exception("what follows a commit has failed")

    def _tell_of(self, batch: Batch) -> None:
        if (due_at := batch.next_due_at) is not None:
            self._on_due(due_at)
        if batch.writer.has_messages and self.on_messages is not None:
            self.on_messages()
        if batch.changed:
            self.observer.committed(batch.jobs, len(batch.changed), batch.commit_s)

    def _park(self, jobs: list[Job]) -> None:
        now = self.loop.time()
        late = [job for job in jobs if job.give_up_at <= now]
        self._finish([(job, Busy("the pool has been held from outside for too long")) for job in late])
        self.queue.park([job for job in jobs if job.give_up_at > now])

    def _fail(self, jobs: list[Job], error: Exception) -> None:
        self._is_away = isinstance(error, Unavailable)
        # Each caller gets an exception of its own, for raising one writes into it.
        self._finish([(job, type(error)(*error.args)) for job in jobs])

    def _finish(self, answers: Sequence[tuple[Job, Answer | Exception]]) -> None:
        """Answer jobs, each once: a caller may have gone away meanwhile, and it is finished all the same."""
        answers = [answer for answer in answers if not answer[0].finished]
        for job, value in answers:
            job.finished = True
            if not job.future.done():
                if isinstance(value, Exception):
                    job.future.set_exception(value)
                else:
                    job.future.set_result(value)
        self.queue.done(len(answers))
        self.observer.answered(answers)
