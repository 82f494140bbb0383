"""Those who come while a batch is in flight and the next is decided share the one after it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from fairhold import granted
from fairhold.core import commands as c
from fairhold.engine import batch
from fairhold.errors import CommandFailed
from tests.engine.flights import MANY, Stage, crowd, number, staged
from tests.engine.looking import bookings, look
from tests.engine.staging import nodes, outcome


@pytest.fixture
async def stage(database_url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Stage]:
    """The tests have Ann in flight, and Bea decided already."""
    async with staged(database_url, monkeypatch) as stage:
        yield stage


async def ann_and_bea(stage: Stage) -> list[asyncio.Task[Any]]:
    tasks = await stage.ask(stage.hf.book("hall", "ann"))
    return tasks + await stage.ask(stage.hf.book("hall", "bea", idempotency_key="bea"))


async def test_who_comes_meanwhile_shares_the_next_batch(stage: Stage) -> None:
    tasks = await ann_and_bea(stage)
    tasks += await stage.ask(*crowd(stage.hf), taken=False)
    answers = await stage.let_go(tasks)
    assert stage.transactions == 3
    assert [number(it) for it in answers] == list(range(2, MANY + 4)), "each in turn"


async def test_a_party_and_a_key_are_known_to_those_who_come_meanwhile(stage: Stage) -> None:
    """Bea's batch is in flight when theirs is decided, Ann's is written."""
    hf = stage.hf
    tasks = await ann_and_bea(stage)
    bea_again = [
        hf.book("hall", "bea", idempotency_key="bea"),
        hf.book("hall", "bea"),
        hf.book("hall", "ann"),
    ]
    tasks += await stage.ask(*crowd(hf), *bea_again, taken=False)
    answers = await stage.let_go(tasks)
    assert stage.transactions == 3
    bea, again, twice, ann_twice = granted(answers[1]), granted(answers[-3]), answers[-2], answers[-1]
    assert again.id == bea.id
    assert outcome(twice) == outcome(ann_twice) == "already_holding"


async def asks_twice(stage: Stage) -> list[str]:
    """Ann's second request is decided while her first is being written."""
    tasks = await stage.ask(stage.hf.book("hall", "ann"))
    tasks += await stage.ask(stage.hf.book("hall", "ann"))
    return [outcome(it) for it in await stage.let_go(tasks)]


async def test_the_bookings_of_the_batch_in_flight_count(stage: Stage) -> None:
    assert await asks_twice(stage) == ["held", "already_holding"]


async def test_control_without_the_bookings_of_the_batch_in_flight_a_party_holds_twice(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody else notices, for the log ends as it should."""

    async def as_committed(loader: Any, found: Any, commands: Any) -> frozenset[int]:
        return frozenset()

    monkeypatch.setattr("fairhold.store.loader.Loader._load_on_top", as_committed)
    assert await asks_twice(stage) == ["held", "held"]


async def test_a_hold_that_has_run_out_meanwhile_is_not_confirmed(stage: Stage) -> None:
    """The batch before was decided while it was still good; who asks now asks now."""
    hf = stage.hf
    (answer,) = await stage.let_go([asyncio.ensure_future(hf.book("hall", "cyd"))])
    held = granted(answer)
    stage.go.clear()
    tasks = await ann_and_bea(stage)
    stage.clock.move(3_600)
    tasks += await stage.ask(*crowd(hf), hf.confirm(held.id), taken=False)
    answers = await stage.let_go(tasks)
    assert outcome(answers[-1]) == "hold_expired"
    assert [outcome(it) for it in answers[:-1]] == ["held"] * (MANY + 2)


async def test_who_must_be_alone_waits_with_all_behind(stage: Stage) -> None:
    hf = stage.hf
    tasks = await ann_and_bea(stage)
    change, late = hf.change_pool("hall", quotas={"main": 4 + MANY}), hf.book("hall", "late")
    tasks += await stage.ask(*crowd(hf), change, late, hf.book("hall", "too late"), taken=False)
    answers = await stage.let_go(tasks)
    assert [number(it) for it in answers[: MANY + 2]] == list(range(2, MANY + 4))
    assert granted(answers[MANY + 2]).quotas[0].size == 4 + MANY
    assert [outcome(it) for it in answers[MANY + 3 :]] == ["held", "not_enough_room"]


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
    tasks = await ann_and_bea(stage)
    tasks += await stage.ask(*crowd(stage.hf), taken=False)
    answers = await stage.let_go(tasks)
    failed = answers.pop(2 + 7)
    assert isinstance(failed, CommandFailed)
    assert len({granted(it).id for it in answers}) == MANY + 1
    assert len(bookings(await look(database_url), "held")) == MANY + 2


async def test_if_another_node_was_quicker_all_are_decided_again(stage: Stage, database_url: str) -> None:
    hf = stage.hf
    tasks = await ann_and_bea(stage)
    tasks += await stage.ask(*crowd(hf), *crowd(hf, "other"), taken=False)
    async with nodes(database_url, 1) as (there,):
        granted(await there.book("hall", "zoe"))
    answers = await stage.let_go(tasks)
    codes = [outcome(it) for it in answers]
    assert codes.count("held") == 38
    assert codes[38:] == ["not_enough_room"] * 4
