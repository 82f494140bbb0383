"""Who comes when too many wait already hears so at once, and when to ask again. Nobody is overtaken."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from fairhold.core import commands as c
from fairhold.core.model import Party
from fairhold.errors import Crowded
from fairhold.lane import ASIDE_S, Job, Lane

HOT, COLD = 1, 2


def ask(lane: Lane, pool_id: int, command: c.Command | None = None) -> Job:
    job = Job(pool_id, command or c.Book(Party("ann")), asyncio.get_running_loop().create_future())
    lane.submit(job)
    return job


async def test_a_pool_on_fire_leaves_room_for_the_others() -> None:
    lane = Lane()
    lane.most, lane.most_of_pool = 4, 3
    for _ in range(3):
        ask(lane, HOT)
    with pytest.raises(Crowded) as hot:
        ask(lane, HOT)
    assert hot.value.retry_after_s >= 1
    ask(lane, COLD)
    with pytest.raises(Crowded):
        ask(lane, COLD)
    assert lane.accepted == 4
    # What is due is done all the same.
    ask(lane, COLD, c.Tick())
    taken = await lane.take()
    assert len(taken) == 5
    lane.done(5)
    ask(lane, HOT)


async def test_without_a_bound_everybody_may_wait() -> None:
    lane = Lane()
    for _ in range(10_000):
        ask(lane, HOT)
    assert lane.accepted == 10_000


async def test_those_who_are_turned_away_are_told_to_come_one_after_the_other() -> None:
    """Else all of them would come at the same moment, and most of them in vain."""
    lane = Lane()
    lane.most, lane.most_of_pool = 1, 1
    lane.pace.time = lambda: 100.0
    ask(lane, HOT)
    told = []
    for _ in range(5_000):
        with pytest.raises(Crowded) as refused:
            ask(lane, COLD)
        told.append(refused.value.retry_after_s)
    assert told == sorted(told)
    assert (told[0], told[-1]) == (1, 6)


async def test_nobody_overtakes_those_who_are_set_aside() -> None:
    lane = Lane()
    ann, bea = ask(lane, HOT), ask(lane, HOT)
    assert await lane.take(1) == [ann]
    assert await lane.take(1) == [bea]
    cyd = ask(lane, HOT)
    # Ann's pool is held from outside. Bea was taken already, Cyd waits, Dan comes.
    lane.set_aside([ann])
    assert lane.not_aside([bea]) == []
    dan, eve = ask(lane, HOT), ask(lane, COLD)
    assert await lane.take() == [eve]
    # This waits until the pool comes back.
    assert await lane.take() == [ann, bea, cyd, dan]
    lane.done(5)
    lane.close()
    assert await lane.take() == []


async def test_those_who_are_tried_again_now_come_before_who_was_taken_meanwhile() -> None:
    lane = Lane()
    ann, bea, eve = ask(lane, HOT), ask(lane, HOT), ask(lane, COLD)
    assert await lane.take(1) == [ann]
    assert await lane.take() == [eve, bea]
    lane.set_aside([ann], for_now=True)
    assert lane.not_aside([eve, bea]) == [eve]
    cyd = ask(lane, HOT)
    assert await lane.take() == [ann, bea, cyd]


async def test_who_is_put_back_stays_behind_those_who_are_set_aside() -> None:
    lane = Lane()
    ann, bea, eve = ask(lane, HOT), ask(lane, HOT), ask(lane, COLD)
    assert await lane.take(1) == [ann]
    assert await lane.take() == [eve, bea]
    cyd, dan = ask(lane, HOT), ask(lane, HOT)
    assert await lane.take(1) == [cyd]
    lane.set_aside([ann])
    # Cyd was to go along with the others, and could not.
    lane.put_back([cyd])
    assert lane.not_aside([eve, bea]) == [eve]
    assert await lane.take() == [ann, bea, cyd, dan]


async def test_those_who_are_set_aside_give_up_like_others_and_count_like_others() -> None:
    lane = Lane()
    lane.most, lane.most_of_pool = 10, 3
    ann, bea = ask(lane, HOT), ask(lane, HOT)
    assert await lane.take(1) == [ann]
    lane.set_aside([ann])
    cyd = ask(lane, HOT)
    with pytest.raises(Crowded):
        ask(lane, HOT)
    ann.give_up_at, bea.give_up_at, cyd.give_up_at = 5.0, 15.0, 5.0
    assert lane.take_late(10.0) == [ann, cyd]
    assert await lane.take() == [bea]


async def test_a_pool_that_stays_held_is_looked_at_less_and_less(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each look takes time from the other pools."""
    pauses: list[float] = []

    def call_later(delay: float, call: Callable[..., None], *said: object) -> None:
        pauses.append(delay)
        call(*said)

    monkeypatch.setattr(asyncio.get_running_loop(), "call_later", call_later)
    lane = Lane()
    ask(lane, HOT)
    for _ in range(50):
        lane.set_aside(await lane.take())
    assert pauses == sorted(pauses)
    assert (pauses[0], pauses[-1]) == (0.001, ASIDE_S)
    # Those who give up leave it as it is; who finds it free does not.
    lane.done(len(await lane.take()))
    ask(lane, HOT)
    lane.set_aside(await lane.take())
    assert pauses[-1] == ASIDE_S
    lane.were_free([HOT])
    lane.set_aside(await lane.take())
    assert pauses[-1] == 0.001
