"""The engine: the one place that opens a writing transaction.

For each batch: lock the pools in the order of their ids, load just what the decisions need, decide each
command in turn, write everything in a few bulk statements, commit once, and only then answer.

While one batch is being written, the next is decided ahead on what that one leaves behind, where this can be
told. It is written only if the pools' logs, read under the lock, end as the decisions took for granted;
otherwise it is thrown away and carried out from the start.

One command that fails is taken back alone. An error of the whole batch is retried command by command,
so that one bad apple cannot spoil the others. When the connection is lost during a commit, the log is
asked whether it happened; the outcome is never guessed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Final

from fairhold.answers import Answer
from fairhold.batch import Batch, Overtaken
from fairhold.clock import Clock
from fairhold.core.model import Instant
from fairhold.errors import Busy, CommandFailed, OutcomeUnknown, Unavailable
from fairhold.flight import Flight
from fairhold.lane import BATCH_MAX, Job, Lane
from fairhold.observe import Observer
from fairhold.store.base import Store
from fairhold.store.loaded import Memory

log = logging.getLogger("fairhold")

_SETTLE_S: Final = 15.0
_SETTLE_PAUSE_S: Final = 0.1
# Two batches share the callers, one being written and one being decided; fewer than this go in one.
_HALVED: Final = 32
# So many who have come meanwhile are worth taking along.
_TOGETHER: Final = 8
# After someone else was quicker, so many batches look up what is there, or are not decided ahead.
_WARY: Final = 64


class Engine:
    """Takes batches from the lane and carries them out, one transaction at a time."""

    def __init__(self, store: Store, clock: Clock, secret: str, on_due: Callable[[Instant], None]) -> None:
        self.store = store
        self.clock = clock
        self.lane = Lane()
        self.rows_loaded = 0
        self.batches = 0
        self.batches_ahead = 0
        self.secret = secret
        # Called after each commit that has put messages into the outbox, if somebody here sends them.
        self.on_messages: Callable[[], None] | None = None
        self.memory = Memory()
        self.observer = Observer()
        self._on_due = on_due
        self._look_up = 0
        self._wary = 0
        self._away = False  # whether the database was not to be had, the last time
        self._task: asyncio.Task[None] | None = None
        self.loop: asyncio.AbstractEventLoop  # to ask which one runs is a call of the system

    def start(self) -> None:
        self.loop = asyncio.get_running_loop()
        self._task = asyncio.create_task(self._run(), name="fairhold-lane")

    async def close(self) -> None:
        """Finish what was accepted, refuse the rest."""
        self.lane.close()
        if self._task is not None:
            await self._task

    async def _run(self) -> None:
        """Batch after batch, until the lane is closed and empty:

        1. take jobs; what is in flight meanwhile is the batch before;
        2. decide them ahead, on what that one leaves behind;
        3. hand them to the flight as its `next`: it sends them off once it is written itself, before it
           answers its own, and until then those who come go along;
        4. if nothing was in flight, or it did not wait for them, send them off here; if they could not be
           decided ahead, or the flight did not come to be, carry them out under the lock. While that goes on
           nothing is in flight.
        """
        flight: Flight | None = None
        while jobs := await self.lane.take(self._most(flight)):
            if flight is not None and flight.task.done():
                flight = None
            if self._away and not (jobs := self._in_time(jobs)):
                continue
            with flight.deciding() if flight is not None else nullcontext():
                ready = await self._decide_ahead(jobs, flight)
            if flight is not None:
                if ready is not None:
                    decided, ready = ready, await self._take_along(flight, ready)
                    jobs = decided.jobs
                written, flight = await flight.task, flight.following
                if flight is not None:
                    continue
                if not written and ready is not None:
                    # What it was decided on has not come to be.
                    ready.forget()
                    ready = None
            if ready is not None:
                flight = self._launch(ready)
                continue
            await self._carry_out(jobs)
            # One turn of the loop lets those just answered ask again, so that they share the next batch.
            await asyncio.sleep(0)
        if flight is not None:
            await flight.task

    async def _take_along(self, flight: Flight, ready: Batch) -> Batch | None:
        """Make this the next, and have those go along who come while it lasts; None if that failed."""
        flight.next = ready
        flight.task.add_done_callback(lambda _: self.lane.ring())
        while flight.is_young() and self._most(flight) - len(ready.jobs) >= _TOGETHER:
            await self.lane.gather(_TOGETHER)
            if not flight.is_young():
                break
            # It must not be sent off before all are decided.
            flight.next = None
            had, jobs = list(ready.jobs), self.lane.take_waiting(self._most(flight) - len(ready.jobs))
            try:
                with flight.deciding():
                    left = await ready.take_along(jobs, flight.batch, look_up=self._look_up > 0)
            except Exception as error:  # noqa: BLE001  # under the lock it will come again, and be dealt with there
                log.debug("a batch could not be decided ahead: %s", error)
                ready.forget()
                ready.jobs = had + jobs
                return None
            flight.next = ready
            if left:
                self.lane.put_back(left)
                break
        if flight.is_young():
            # Nobody else goes along: have it at hand when the flight is written.
            try:
                ready.line_up(flight.batch)
            except Exception as error:  # noqa: BLE001  # it will come again, and be dealt with there
                log.debug("a batch could not be made ready: %s", error)
        return ready

    def _in_time(self, jobs: list[Job]) -> list[Job]:
        """Those that can wait for the database; the others have waited behind enough batches in vain."""
        now = asyncio.get_running_loop().time()
        late = [job for job in jobs if job.give_up_at <= now]
        self._fail(late, Unavailable("the database has been away for too long; nothing was begun"))
        return [job for job in jobs if job.give_up_at > now]

    def _launch(self, batch: Batch) -> Flight:
        flight = Flight(batch)
        flight.task = asyncio.create_task(self._fly(flight))
        return flight

    async def _fly(self, flight: Flight) -> bool:
        """Write a batch that was decided ahead, whatever happens; whether it is as it was decided."""
        written: bool | None = False
        try:
            written = await self._write(flight.batch)
            if written:
                await flight.wait_for_next()
                if flight.next is not None:
                    # The database need not wait until all are answered and have asked again: it goes first.
                    flight.following = self._launch(flight.next)
                    await asyncio.sleep(0)
                self._answer(flight.batch)
            elif written is None:
                flight.batch.forget()
                await self._carry_out(flight.batch.jobs)
        except Exception as error:
            log.exception("a batch could not be carried out")
            self._fail(flight.batch.jobs, CommandFailed(f"{type(error).__name__}: {error}"))
        return bool(written)

    def _most(self, flight: Flight | None) -> int:
        """How many jobs to take: half of all, when the other half is being written beside us."""
        if flight is None or not self.store.is_beside:
            return BATCH_MAX
        return min(BATCH_MAX, max(_HALVED, -(-self.lane.accepted // 2)))

    async def _decide_ahead(self, jobs: list[Job], flight: Flight | None) -> Batch | None:
        if self._wary:
            self._wary -= 1
            return None
        self._look_up = max(0, self._look_up - 1)
        batch, before = self._batch(jobs), flight.batch if flight else None
        try:
            return batch if await batch.decide_ahead(before, look_up=self._look_up > 0) else None
        except Exception as error:  # noqa: BLE001  # under the lock it will come again, and be dealt with there
            log.debug("a batch could not be decided ahead: %s", error)
            return None

    def _batch(self, jobs: list[Job]) -> Batch:
        batch = Batch(jobs, self.store, self.memory, self.clock, self.secret)
        # If nobody here sends messages, whoever does is woken.
        batch.writer.tells_of_messages = self.on_messages is None
        return batch

    async def _carry_out(self, jobs: list[Job]) -> None:
        """Carry out a batch from the start, whatever happens; nobody overtakes those who are set aside."""
        jobs = self.lane.not_aside(jobs)
        try:
            if jobs:
                await self._carry_out_under_lock(jobs)
        except Exception as error:
            log.exception("a batch could not be carried out")
            self._fail(jobs, CommandFailed(f"{type(error).__name__}: {error}"))

    async def _write(self, ready: Batch) -> bool | None:
        """Write what was decided ahead; None if nothing was written, False if nobody can tell."""
        try:
            await ready.write_ahead()
        except Overtaken:
            self._was_wrong()
            return None
        except OutcomeUnknown as unknown_outcome:
            happened = await self._settle(ready)
            if happened is None:
                ready.forget()
                self._fail(ready.jobs, unknown_outcome)
                return False
            if not happened:
                return None
        except Exception as error:  # noqa: BLE001  # under the lock it will come again, and be dealt with there
            log.debug("a batch that was decided ahead could not be written: %s", error)
            self._was_wrong()
            return None
        self.batches_ahead += 1
        return True

    def _was_wrong(self) -> None:
        """Someone came again whom nobody had looked up; or, if all were, another process was quicker."""
        if self._look_up:
            self._wary = _WARY
        self._look_up = _WARY

    async def _carry_out_under_lock(self, jobs: list[Job]) -> None:
        """Try twice, for a connection may have died in its sleep. What was committed is never tried again."""
        doubtful: Batch | None = None
        error: Exception = Unavailable("the database was lost twice during a commit, and changed nothing")
        for again in (True, False):
            batch = self._batch(jobs)
            try:
                await batch.carry_out()
            except OutcomeUnknown as unknown_outcome:
                happened = await self._settle(batch)
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
                if doubtful is not None and await self._settle(doubtful):
                    batch = doubtful
                elif len(jobs) > 1:
                    while jobs:
                        await self._carry_out(jobs[:1])
                        # At once, for soon the pool may come back.
                        jobs = self.lane.not_aside(jobs[1:])
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

    async def _settle(self, batch: Batch) -> bool | None:
        """Whether a commit whose outcome is unknown has happened; None if nobody comes back to tell.

        Every pool must tell, and every key must be kept: another node may have been asked the same of one of
        them at the same moment and have written the very same entry, while this batch never came to be.
        """
        if not batch.writer.last_entries:
            return False
        turning_away = asyncio.create_task(self._turn_away())
        try:
            return await self._settled(batch)
        finally:
            turning_away.cancel()

    async def _turn_away(self) -> None:
        """Meanwhile tell those who have waited long enough behind it: nothing of theirs was begun."""
        while True:
            late = self.lane.take_late(asyncio.get_running_loop().time())
            if late:
                self._fail(late, Unavailable("the database has been away for too long; nothing was begun"))
            await asyncio.sleep(_SETTLE_PAUSE_S)

    async def _settled(self, batch: Batch) -> bool | None:
        entries = batch.writer.last_entries
        keys = [request[:2] for request in batch.writer.requests]
        loop = asyncio.get_running_loop()
        give_up_at = loop.time() + _SETTLE_S
        while loop.time() < give_up_at:
            try:
                tx = await self.store.begin()
                try:
                    # Waits until the lost transaction is over, one way or the other.
                    await tx.rows("wait_for_pools", sorted(entries))
                    found = [
                        (await tx.rows("log_hash_at", pool_id, seq), hash_)
                        for pool_id, (seq, hash_) in entries.items()
                    ]
                    kept = await tx.each("requests_by_key", keys) if keys else ()
                    # A commit waits for the standby, and so for all that was committed before it.
                    await tx.commit()
                finally:
                    await tx.rollback()
                told = all(rows and bytes(rows[0][0]) == hash_ for rows, hash_ in found)
                return told and len(kept) == len(keys)
            except Exception:  # noqa: BLE001  # whatever it is, it does not tell the outcome
                await asyncio.sleep(_SETTLE_PAUSE_S)
        log.error("the outcome of a commit stays unknown: the database does not come back to tell")
        return None

    def _answer(self, batch: Batch) -> None:
        self._away = False
        self.batches += 1
        self.rows_loaded += batch.rows_loaded
        self._finish(batch.answers)
        self.lane.were_free(batch.pools)
        # Another batch may have been taken before these came back.
        self.lane.set_aside(batch.put_back, for_now=True)
        if batch.set_aside:
            self._set_aside(batch.set_aside)
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

    def _set_aside(self, jobs: list[Job]) -> None:
        now = asyncio.get_running_loop().time()
        late = [job for job in jobs if job.give_up_at <= now]
        self._finish([(job, Busy("the pool has been held from outside for too long")) for job in late])
        self.lane.set_aside([job for job in jobs if job.give_up_at > now])

    def _fail(self, jobs: list[Job], error: Exception) -> None:
        self._away = isinstance(error, Unavailable)
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
        self.lane.done(len(answers))
        self.observer.answered(answers)
