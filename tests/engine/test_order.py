"""Whoever asks a node for something of a pool is served before those who ask it later, whatever happens.

Some seconds of these histories have more of what may go wrong in them than a real database shows in a day.
"""

from __future__ import annotations

import logging
from collections import deque

import pytest

from fairhold.engine.batch import Flight
from fairhold.engine.engine import Engine
from fairhold.engine.jobs import Job, JobQueue
from tests.engine.virtual_time import Pretended, VirtualLoop, World, in_virtual_time, play, tell_outcome


@pytest.fixture(autouse=True)
def pretend(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairhold.engine.engine.Batch", Pretended)
    monkeypatch.setattr("fairhold.engine.outcome.has_happened", tell_outcome)
    # Deciding without a lock goes on after others were quicker, so that there is more of it.
    monkeypatch.setattr("fairhold.engine.engine._UNDER_LOCK", 1)
    # Pools take turns often, so that a batch has someone of one behind someone of another.
    monkeypatch.setattr("fairhold.engine.jobs.SHARE", 2)
    monkeypatch.setattr(logging.getLogger("fairhold"), "disabled", True)


def overtaken(seed: int) -> int:
    """How many were served after somebody who had come later; nobody twice, and all of them answered."""

    async def history(loop: VirtualLoop) -> int:
        world = Pretended.world = World(seed)
        jobs = await play(loop, world)
        assert max(world.times.values(), default=0) <= 1
        for job in jobs:
            assert job.future.done()
            if not job.future.cancelled() and job.future.exception() is None:
                assert world.times[job] == 1
        return sum(
            number < max(numbers[:place], default=-1)
            for numbers in world.served.values()
            for place, number in enumerate(numbers)
        )

    return in_virtual_time(history)


SEEDS = range(200)


def test_nobody_is_overtaken_and_everybody_is_answered() -> None:
    assert {seed: count for seed in SEEDS if (count := overtaken(seed))} == {}


def test_control_without_keeping_those_back_who_are_in_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(JobQueue, "without_parked", lambda self, jobs: jobs)
    assert any(overtaken(seed) for seed in SEEDS)


def test_control_with_those_in_front_for_whom_too_much_was_due(monkeypatch: pytest.MonkeyPatch) -> None:
    def put_in_front(self: JobQueue, jobs: list[Job]) -> None:
        for job in reversed(jobs):
            self._queues.setdefault(job.pool_id, deque()).appendleft(job)
        self.ring()

    monkeypatch.setattr(JobQueue, "requeue", put_in_front)
    assert any(overtaken(seed) for seed in SEEDS)


def test_control_with_those_back_only_with_the_answers_for_whom_too_much_was_due(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The next batch is taken before that, and has of their pools who came later."""
    take = Pretended.take_requeued

    monkeypatch.setattr(Pretended, "take_requeued", lambda self: take(self) if self.is_over else [])
    assert any(overtaken(seed) for seed in SEEDS)


def test_control_with_those_back_for_whom_too_much_was_due_before_their_pool_is_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What is in flight may not be written, and its jobs then come behind them."""

    async def go_on(self: Pretended, in_flight: Flight) -> None: ...

    monkeypatch.setattr(Pretended, "_wait_for", go_on)
    assert any(overtaken(seed) for seed in SEEDS)


def test_control_that_goes_on_behind_what_was_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its jobs then come behind those of the batch that was decided on top of it."""
    unwritten = set[Flight]()

    async def fly(self: Engine, flight: Flight) -> None:
        if not await self._write(flight.batch):
            unwritten.add(flight)
        flight.written.set_result(True)

    async def land(self: Engine, flight: Flight) -> None:
        if flight not in unwritten:
            self._answer(flight.batch)
        elif jobs := [job for job in flight.batch.jobs if not job.finished]:
            await self._carry_out(jobs)

    monkeypatch.setattr(Engine, "_fly", fly)
    monkeypatch.setattr(Engine, "_land", land)
    assert any(overtaken(seed) for seed in SEEDS)
