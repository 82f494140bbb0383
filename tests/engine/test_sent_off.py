"""The next batch is sent off before the last is answered, and only if that one was written. What was decided
on one that never came to be is decided anew."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from fairhold import Booking, Fairhold, granted
from fairhold.engine.batch import Batch, Flight
from fairhold.engine.engine import Engine
from tests.database import ask
from tests.engine.flights import (
    Stage,
    ahead_again_at_once,
    number,
    staged,
    without_regard_for_the_outcome,
)
from tests.engine.staging import nodes, outcome
from tests.engine.test_ahead import slowly, soon
from tests.patience import PATIENCE_S
from tests.verified import assert_verified


@pytest.fixture
async def stage(database_url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Stage]:
    async with staged(database_url, monkeypatch) as stage:
        yield stage


async def in_which_order(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Ann's batch is written while Bea's is being decided, which is over in a moment."""
    hf, seen = stage.hf, list[str]()
    send, decide, append = hf.engine._send, Batch.decide, Batch.append
    begun, go, written = asyncio.Event(), asyncio.Event(), asyncio.Event()

    def noted(batch: Batch) -> Flight:
        seen.append("bea sent off")
        return send(batch)

    async def decide_when_let(batch: Batch, *args: Any) -> None:
        begun.set()
        await go.wait()
        await decide(batch, *args)

    async def append_and_tell(batch: Batch) -> None:
        await append(batch)
        written.set()

    monkeypatch.setattr(Batch, "append", append_and_tell)
    (ann,) = await stage.ask(hf.book("hall", "ann"))
    ann.add_done_callback(lambda _: seen.append("ann answered"))
    monkeypatch.setattr(hf.engine, "_send", noted)
    monkeypatch.setattr(Batch, "decide", decide_when_let)
    bea = asyncio.ensure_future(hf.book("hall", "bea"))
    await begun.wait()
    stage.go.set()
    await written.wait()
    for _ in range(20):
        await asyncio.sleep(0)
    go.set()
    async with asyncio.timeout(PATIENCE_S):
        assert [number(await ann), number(await bea)] == [2, 3]
    return seen


async def test_the_next_is_decided_and_sent_off_before_the_last_is_answered(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert await in_which_order(stage, monkeypatch) == ["bea sent off", "ann answered"]


async def test_control_if_the_last_is_answered_as_soon_as_it_is_written(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    fly = Engine._fly

    async def fly_and_land(engine: Engine, flight: Flight) -> None:
        await fly(engine, flight)
        await engine._land(flight)

    monkeypatch.setattr(Engine, "_fly", fly_and_land)
    assert await in_which_order(stage, monkeypatch) == ["ann answered", "bea sent off"]


async def with_phantoms(hf: Fairhold, other: Fairhold, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """One is overtaken, a crowd decided on it, and one who was in the crowd asks again in the third batch."""
    ahead_again_at_once(monkeypatch)
    granted(await hf.create_pool("hall", preset="checkout", quotas={"main": 10}))
    granted(await hf.book("hall", "first", 4))
    await slowly(hf, monkeypatch)
    granted(await other.book("hall", "quicker"))

    async def come_and_go() -> Booking:
        return granted(await hf.cancel(granted(await hf.book("hall", "one")).id))

    async def many() -> list[Any]:
        return await asyncio.gather(
            *(hf.book("hall", f"many {n}", 5, idempotency_key=f"many {n}") for n in range(32))
        )

    one = await soon(hf, come_and_go())
    crowded = await soon(hf, many())
    again = asyncio.ensure_future(hf.book("hall", "many 0", 5, idempotency_key="many 0"))
    late = [asyncio.ensure_future(hf.book("hall", f"late {n}", 99)) for n in range(28)]
    async with asyncio.timeout(PATIENCE_S):
        await asyncio.gather(*late)
        return [await one, await crowded, await again]


async def test_nothing_stands_on_bookings_that_never_came_to_be(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with nodes(database_url, 2) as (hf, other):
        one, crowded, again = await with_phantoms(hf, other, monkeypatch)
        assert (one.party.id, one.quantity, one.state) == ("one", 1, "cancelled")
        # Five were left for who asked first if "one" had gone by then, else four: for nobody of them.
        assert outcome(again) == outcome(crowded[0])
        assert getattr(again, "id", None) == getattr(crowded[0], "id", None)
    taken = await ask(database_url, "SELECT sum(quantity) FROM fairhold_bookings WHERE state = 'held'")
    assert taken[0][0] <= 10
    await assert_verified(database_url)


@pytest.mark.tampered
async def test_control_with_no_regard_for_the_outcome_somebody_is_told_of_a_booking_that_never_came_to_be(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The third batch is decided on the second, which is doomed with the first; and its logs end as they
    should, for the first was carried out anew meanwhile."""
    without_regard_for_the_outcome(monkeypatch)
    async with nodes(database_url, 2) as (hf, other):
        _, crowded, again = await with_phantoms(hf, other, monkeypatch)
        assert getattr(again, "id", outcome(again)) != getattr(crowded[0], "id", outcome(crowded[0]))


async def crowd_and_pusher(hf: Fairhold, other: Fairhold, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, ...]:
    """One is overtaken; a crowd comes behind it, and then one who asks for all that is left."""
    ahead_again_at_once(monkeypatch)
    granted(await hf.create_pool("hall", preset="checkout", quotas={"main": 20}))
    granted(await hf.book("hall", "old"))
    await slowly(hf, monkeypatch)
    granted(await other.book("hall", "quicker"))
    first = await soon(hf, hf.book("hall", "new"))
    many = await soon(
        hf,
        asyncio.gather(*(hf.book("hall", f"many {n}", idempotency_key=f"many {n}") for n in range(32))),
    )
    again = asyncio.ensure_future(hf.book("hall", "many 0", idempotency_key="many 0"))
    pushing = asyncio.ensure_future(hf.book("hall", "pushing", 17))
    staff = asyncio.ensure_future(hf.change_pool("hall", title="The hall"))
    rest = [asyncio.ensure_future(hf.book("hall", f"late {n}")) for n in range(9)]
    async with asyncio.timeout(PATIENCE_S):
        await asyncio.gather(first, staff, *rest)
        return await many, await again, await pushing


async def test_who_came_first_is_first_though_the_batch_before_was_decided_anew(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with nodes(database_url, 2) as (hf, other):
        many, again, pushing = await crowd_and_pusher(hf, other, monkeypatch)
        assert [outcome(it) for it in many] == ["held"] * 17 + ["not_enough_room"] * 15
        assert granted(again).id == granted(many[0]).id
        assert outcome(pushing) == "not_enough_room"
    await assert_verified(database_url)


@pytest.mark.tampered
async def test_control_with_no_regard_for_the_outcome_who_came_last_is_first(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_regard_for_the_outcome(monkeypatch)
    async with nodes(database_url, 2) as (hf, other):
        many, _, pushing = await crowd_and_pusher(hf, other, monkeypatch)
        assert outcome(pushing) == "held"
        assert {outcome(it) for it in many} == {"not_enough_room"}
