"""Those who come while a batch is being written go along with the next one, until that is sent off."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from typing import Any

import pytest

from fairhold import Fairhold, batch, engine, flight, granted
from fairhold.core import commands as c
from fairhold.errors import CommandFailed
from fairhold.ids import booking_number
from tests.database import opened
from tests.engine.looking import bookings, look
from tests.engine.staging import HandClock, nodes, outcome
from tests.patience import until
from tests.verified import assert_verified

MANY = 20


class Stage:
    """A pool in hand, whose writing transactions wait until they are let go."""

    def __init__(self, hf: Fairhold, clock: HandClock, monkeypatch: pytest.MonkeyPatch) -> None:
        self.hf, self.clock = hf, clock
        self.go = asyncio.Event()
        begin = hf.store.begin

        async def begin_when_let(**how: Any) -> Any:
            await self.go.wait()
            return await begin(**how)

        monkeypatch.setattr(hf.store, "begin", begin_when_let)

    async def ask(self, *calls: Awaitable[Any], taken: bool | None = True) -> list[asyncio.Task[Any]]:
        """Asked now; by the time this returns they are taken into a batch, or wait for the next."""
        lane = self.hf.engine.lane
        accepted = lane.accepted
        tasks = [asyncio.ensure_future(call) for call in calls]
        await until(lambda: lane.accepted == accepted + len(calls) and taken in (None, not lane._queues))
        return tasks

    async def let_go(self, tasks: list[asyncio.Task[Any]]) -> list[Any]:
        """What each was answered, and by how many transactions in all."""
        before = self.hf.engine.batches
        self.go.set()
        answers = await asyncio.gather(*tasks, return_exceptions=True)
        self.transactions = self.hf.engine.batches - before
        return answers


@pytest.fixture
async def stage(database_url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Stage]:
    """A pool that was booked in before; the tests have Ann in flight, and Bea decided already."""
    clock = HandClock()
    # However slow this machine is, what is in flight stays young.
    monkeypatch.setattr(flight, "_YOUNG_S", 600.0)
    # A ticker that is woken late would be one more who asks.
    async with opened(database_url, clock=clock, ticker=False) as hf:
        granted(await hf.create_pool("hall", preset="checkout", quotas={"main": 40}))
        granted(await hf.book("hall", "first", idempotency_key="first"))
        stage = Stage(hf, clock, monkeypatch)
        yield stage
        stage.go.set()
    await assert_verified(database_url)


def crowd(hf: Fairhold, name: str = "party", size: int = MANY) -> list[Awaitable[Any]]:
    return [hf.book("hall", f"{name} {n}", idempotency_key=f"{name} {n}") for n in range(size)]


async def test_who_comes_meanwhile_goes_along(stage: Stage) -> None:
    hf = stage.hf
    tasks = await stage.ask(hf.book("hall", "ann"))
    tasks += await stage.ask(hf.book("hall", "bea"))
    tasks += await stage.ask(*crowd(hf))
    answers = await stage.let_go(tasks)
    assert stage.transactions == 2
    assert [number(it) for it in answers] == list(range(2, MANY + 4)), "each in turn"


async def test_a_few_wait_for_the_next(stage: Stage) -> None:
    """Each group that goes along has a cost of its own, so it must be worth it. The control of the above."""
    hf = stage.hf
    tasks = await stage.ask(hf.book("hall", "ann"))
    tasks += await stage.ask(hf.book("hall", "bea"))
    tasks += await stage.ask(*crowd(hf, size=engine._TOGETHER - 1), taken=False)
    await stage.let_go(tasks)
    assert stage.transactions == 3


async def test_nobody_joins_one_that_waits_for_a_database_that_is_stuck(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    hf = stage.hf
    monkeypatch.setattr(flight, "_YOUNG_S", 0.0)
    tasks = await stage.ask(hf.book("hall", "ann"))
    tasks += await stage.ask(hf.book("hall", "bea"))
    tasks += await stage.ask(*crowd(hf), taken=False)
    answers = await stage.let_go(tasks)
    assert stage.transactions == 3
    assert len({granted(it).id for it in answers}) == MANY + 2


async def test_a_party_and_a_key_are_known_to_those_who_go_along(stage: Stage) -> None:
    hf = stage.hf
    tasks = await stage.ask(hf.book("hall", "ann"))
    tasks += await stage.ask(hf.book("hall", "bea", idempotency_key="bea"))
    bea_again = [
        hf.book("hall", "bea", idempotency_key="bea"),
        hf.book("hall", "bea"),
        hf.book("hall", "ann"),
    ]
    tasks += await stage.ask(*crowd(hf), *bea_again)
    answers = await stage.let_go(tasks)
    assert stage.transactions == 2
    bea, again, twice, ann_twice = granted(answers[1]), granted(answers[-3]), answers[-2], answers[-1]
    assert again.id == bea.id
    assert outcome(twice) == outcome(ann_twice) == "already_holding"


async def test_a_hold_that_has_run_out_meanwhile_is_not_confirmed(stage: Stage) -> None:
    """The next batch was begun while it was still good; who asks now asks now."""
    hf = stage.hf
    held = granted(await _let(stage, hf.book("hall", "cyd")))
    stage.go.clear()
    tasks = await stage.ask(hf.book("hall", "ann"))
    tasks += await stage.ask(hf.book("hall", "bea"))
    stage.clock.move(3_600)
    tasks += await stage.ask(*crowd(hf), hf.confirm(held.id), taken=False)
    answers = await stage.let_go(tasks)
    assert outcome(answers[-1]) == "hold_expired"
    assert [outcome(it) for it in answers[:-1]] == ["held"] * (MANY + 2)


async def test_who_cannot_go_along_waits_with_all_behind(stage: Stage) -> None:
    hf = stage.hf
    tasks = await stage.ask(hf.book("hall", "ann"))
    tasks += await stage.ask(hf.book("hall", "bea"))
    tasks += await stage.ask(*crowd(hf), hf.change_pool("hall", quotas={"main": 41}), taken=False)
    answers = await stage.let_go(tasks)
    assert [number(it) for it in answers[:-1]] == list(range(2, MANY + 4))
    assert granted(answers[-1]).quotas[0].size == 41


async def test_one_that_fails_spoils_nobody(
    stage: Stage, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither those who were decided before it nor those behind, and nobody is given two seats."""
    decide = batch.decide

    def fail(view: Any, command: Any, now: int) -> Any:
        if isinstance(command, c.Book) and command.party.id == "party 7":
            raise RuntimeError("out of the blue")
        return decide(view, command, now)

    monkeypatch.setattr(batch, "decide", fail)
    hf = stage.hf
    tasks = await stage.ask(hf.book("hall", "ann"))
    tasks += await stage.ask(hf.book("hall", "bea"))
    tasks += await stage.ask(*crowd(hf))
    answers = await stage.let_go(tasks)
    failed = answers.pop(2 + 7)
    assert isinstance(failed, CommandFailed)
    assert len({granted(it).id for it in answers}) == MANY + 1
    assert len(bookings(await look(database_url), "held")) == MANY + 2


async def test_if_another_node_was_quicker_all_are_decided_again(stage: Stage, database_url: str) -> None:
    hf = stage.hf
    tasks = await stage.ask(hf.book("hall", "ann"))
    tasks += await stage.ask(hf.book("hall", "bea"))
    tasks += await stage.ask(*crowd(hf), *crowd(hf, "other"), taken=None)
    async with nodes(database_url, 1) as (there,):
        granted(await there.book("hall", "zoe"))
    answers = await stage.let_go(tasks)
    codes = [outcome(it) for it in answers]
    assert codes.count("held") == 38
    assert codes[38:] == ["not_enough_room"] * 4


def number(answer: Any) -> int:
    found = booking_number(granted(answer).id)
    assert found is not None
    return found[1]


async def _let(stage: Stage, call: Awaitable[Any]) -> Any:
    return (await stage.let_go([asyncio.ensure_future(call)]))[0]


async def test_those_who_are_answered_meanwhile_leave_less_room(
    stage: Stage, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A batch takes half of the callers. While the one before is done job by job, there come to be fewer."""
    hf, lane, carry_out = stage.hf, stage.hf.engine.lane, batch.Batch.carry_out
    turns = asyncio.Semaphore(0)

    async def one_by_one(self: batch.Batch) -> None:
        if len(self.jobs) > 1:
            raise RuntimeError("out of the blue")
        await turns.acquire()
        await carry_out(self)

    # After a batch under the lock nothing is in flight, and so the next one takes all who come.
    granted(await _let(stage, hf.change_pool("hall", quotas={"main": 41})))
    stage.go.clear()
    tasks = await stage.ask(*crowd(hf, "flight", 100))
    tasks += await stage.ask(*crowd(hf, "next", 40))
    tasks += await stage.ask(*crowd(hf, "along", 20))
    async with nodes(database_url, 1) as (there,):
        granted(await there.book("hall", "zoe"))
    monkeypatch.setattr(batch.Batch, "carry_out", one_by_one)
    stage.go.set()
    for _ in range(90):
        turns.release()
    await until(lambda: lane.accepted == 70)
    tasks += await stage.ask(*crowd(hf, "late", engine._TOGETHER), taken=None)
    for _ in range(100):
        turns.release()
    codes = [outcome(it) for it in await asyncio.gather(*tasks)]
    assert codes.count("held") == 39
    assert len(codes) == 168
