"""Who comes when too many wait already hears so at once, and when to ask again. Nobody is overtaken."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from fairhold.core import commands as c
from fairhold.core.model import Party
from fairhold.engine.jobs import PARK_MAX_S, Job, JobQueue
from fairhold.errors import Crowded

HOT, COLD = 1, 2


def ask(queue: JobQueue, pool_id: int, command: c.Command | None = None) -> Job:
    job = Job(pool_id, command or c.Book(Party("ann")), asyncio.get_running_loop().create_future())
    queue.submit(job)
    return job


async def test_a_pool_on_fire_leaves_room_for_the_others() -> None:
    queue = JobQueue()
    queue.most, queue.most_of_pool = 4, 3
    for _ in range(3):
        ask(queue, HOT)
    with pytest.raises(Crowded) as hot:
        ask(queue, HOT)
    assert hot.value.retry_after_s >= 1
    ask(queue, COLD)
    with pytest.raises(Crowded):
        ask(queue, COLD)
    assert queue.accepted == 4
    # What is due is done all the same.
    ask(queue, COLD, c.Tick())
    taken = await queue.take()
    assert len(taken) == 5
    queue.done(5)
    ask(queue, HOT)


async def test_without_a_bound_everybody_may_wait() -> None:
    queue = JobQueue()
    for _ in range(10_000):
        ask(queue, HOT)
    assert queue.accepted == 10_000


async def test_those_who_are_turned_away_are_told_to_come_one_after_the_other() -> None:
    """Else all of them would come at the same moment, and most of them in vain."""
    queue = JobQueue()
    queue.most, queue.most_of_pool = 1, 1
    queue.pace.time = lambda: 100.0
    ask(queue, HOT)
    told = []
    for _ in range(5_000):
        with pytest.raises(Crowded) as refused:
            ask(queue, COLD)
        told.append(refused.value.retry_after_s)
    assert told == sorted(told)
    assert (told[0], told[-1]) == (1, 6)


async def test_nobody_overtakes_those_who_are_set_aside() -> None:
    queue = JobQueue()
    ann, bea = ask(queue, HOT), ask(queue, HOT)
    assert await queue.take(1) == [ann]
    assert await queue.take(1) == [bea]
    cyd = ask(queue, HOT)
    # Ann's pool is held from outside. Bea was taken already, Cyd waits, Dan comes.
    queue.park([ann])
    assert queue.without_parked([bea]) == []
    dan, eve = ask(queue, HOT), ask(queue, COLD)
    assert await queue.take() == [eve]
    # This waits until the pool comes back.
    assert await queue.take() == [ann, bea, cyd, dan]
    queue.done(5)
    queue.close()
    assert await queue.take() == []


async def test_those_who_are_tried_again_now_come_before_who_was_taken_meanwhile() -> None:
    queue = JobQueue()
    ann, bea, eve = ask(queue, HOT), ask(queue, HOT), ask(queue, COLD)
    assert await queue.take(1) == [ann]
    assert await queue.take() == [eve, bea]
    queue.requeue([ann])
    assert queue.without_parked([eve, bea]) == [eve]
    cyd = ask(queue, HOT)
    assert await queue.take() == [ann, bea, cyd]


async def test_who_is_put_back_stays_behind_those_who_are_set_aside() -> None:
    queue = JobQueue()
    ann, bea, eve = ask(queue, HOT), ask(queue, HOT), ask(queue, COLD)
    assert await queue.take(1) == [ann]
    assert await queue.take() == [eve, bea]
    cyd = ask(queue, HOT)
    queue.park([ann])
    # Too much is due for Bea, who was in hand when Ann's pool was locked.
    queue.requeue([bea])
    dan = ask(queue, HOT)
    assert queue.without_parked([eve]) == [eve]
    # A requeued job does not end the parking of its pool: this waits until the pool comes back.
    assert await queue.take() == [ann, bea, cyd, dan]


async def test_those_who_are_set_aside_give_up_like_others_and_count_like_others() -> None:
    queue = JobQueue()
    queue.most, queue.most_of_pool = 10, 3
    ann, bea = ask(queue, HOT), ask(queue, HOT)
    assert await queue.take(1) == [ann]
    queue.park([ann])
    cyd = ask(queue, HOT)
    with pytest.raises(Crowded):
        ask(queue, HOT)
    ann.give_up_at, bea.give_up_at, cyd.give_up_at = 5.0, 15.0, 5.0
    assert queue.take_late(10.0) == [ann, cyd]
    assert await queue.take() == [bea]


async def test_a_pool_that_stays_held_is_looked_at_less_and_less(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each look takes time from the other pools."""
    pauses: list[float] = []

    def call_later(delay: float, call: Callable[..., None], *said: object) -> None:
        pauses.append(delay)
        call(*said)

    monkeypatch.setattr(asyncio.get_running_loop(), "call_later", call_later)
    queue = JobQueue()
    ask(queue, HOT)
    for _ in range(50):
        queue.park(await queue.take())
    assert pauses == sorted(pauses)
    assert (pauses[0], pauses[-1]) == (0.001, PARK_MAX_S)
    # Those who give up leave it as it is; who finds it free does not.
    queue.done(len(await queue.take()))
    ask(queue, HOT)
    queue.park(await queue.take())
    assert pauses[-1] == PARK_MAX_S
    queue.note_free([HOT])
    queue.park(await queue.take())
    assert pauses[-1] == 0.001
