"""Who comes when too many wait already hears so at once, and when to ask again."""

from __future__ import annotations

import asyncio

import pytest

from holdfast.core import commands as c
from holdfast.core.model import Party
from holdfast.errors import Crowded
from holdfast.lane import Job, Lane

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
    for job in taken:
        lane.done(job)
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
