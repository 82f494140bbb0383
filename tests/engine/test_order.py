"""Whoever asks a node for something of a pool is served before those who ask it later, whatever happens.

Some seconds of these histories have more of what may go wrong in them than a real database shows in a day.
"""

from __future__ import annotations

import logging

import pytest

from fairhold.lane import Job, Lane
from tests.engine.virtual_time import Pretended, VirtualLoop, World, in_virtual_time, play


@pytest.fixture(autouse=True)
def pretend(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairhold.engine.Batch", Pretended)
    # Deciding ahead goes on after others were quicker, so that there is more of it.
    monkeypatch.setattr("fairhold.engine._WARY", 1)
    # Pools take turns often, so that a batch has someone of one behind someone of another.
    monkeypatch.setattr("fairhold.lane.SHARE", 2)
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
    monkeypatch.setattr(Lane, "not_aside", lambda self, jobs: jobs)
    assert any(overtaken(seed) for seed in SEEDS)


def test_control_with_those_in_front_for_whom_too_much_was_due(monkeypatch: pytest.MonkeyPatch) -> None:
    set_aside = Lane.set_aside

    def put_back(self: Lane, jobs: list[Job], *, for_now: bool = False) -> None:
        self.put_back(jobs) if for_now else set_aside(self, jobs)

    monkeypatch.setattr(Lane, "set_aside", put_back)
    assert any(overtaken(seed) for seed in SEEDS)


def test_control_with_those_who_were_taken_last_behind_those_set_aside(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    put_back = Lane.put_back
    monkeypatch.setattr(Lane, "put_back", lambda self, jobs: put_back(self, self.not_aside(jobs)))
    assert any(overtaken(seed) for seed in range(2_000))
