"""The next batch is sent off before the last is answered, and nobody joins it then. What was decided on one
that never came to be is decided anew."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from fairhold import Booking, Fairhold, flight, granted
from fairhold.batch import Batch
from fairhold.flight import Flight
from fairhold.lane import Job
from tests.database import ask
from tests.engine.staging import nodes, outcome
from tests.engine.test_ahead import slowly, soon
from tests.engine.test_taking_along import Stage, crowd, number, stage
from tests.patience import PATIENCE_S
from tests.verified import assert_verified

__all__ = ["stage"]


async def joined_what_was_sent_off(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many: Ann's batch is written, Bea's is sent off, and before Ann is told enough come to go along."""
    hf, launch, sleep = stage.hf, stage.hf.engine._launch, asyncio.sleep
    came, joined = list[asyncio.Task[Any]](), list[Job]()

    def launched(batch: Batch) -> Flight:
        sent = launch(batch)
        if not came:
            came.extend(asyncio.ensure_future(call) for call in crowd(hf))
        return sent

    async def take_nobody_along(_: Batch, jobs: list[Job], *__: Any, **___: Any) -> list[Job]:
        joined.extend(jobs)
        return jobs

    async def for_a_while(seconds: float, result: Any = None) -> Any:
        for _ in range(1 if seconds else 20):
            await sleep(seconds)
        return result

    tasks = await stage.ask(hf.book("hall", "ann"))
    tasks += await stage.ask(hf.book("hall", "bea"))
    monkeypatch.setattr(hf.engine, "_launch", launched)
    monkeypatch.setattr(Batch, "take_along", take_nobody_along)
    monkeypatch.setattr(asyncio, "sleep", for_a_while)
    stage.go.set()
    await asyncio.gather(*tasks)
    async with asyncio.timeout(PATIENCE_S):
        answers = await asyncio.gather(*came)
    assert sorted(number(it) for it in answers) == list(range(4, 24))
    return len(joined)


async def test_nobody_joins_a_batch_that_was_sent_off(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody would ever hear of them again."""
    assert await joined_what_was_sent_off(stage, monkeypatch) == 0


async def test_control_with_no_regard_for_what_was_sent_off(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Flight, "is_young", lambda self: not self.task.done())
    assert await joined_what_was_sent_off(stage, monkeypatch)


class Deciding:
    """Ann's batch is being written, and Bea's being decided until it is let go."""

    def __init__(self, stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
        self.stage, self.monkeypatch = stage, monkeypatch
        self.seen, self.go = list[str](), asyncio.Event()

    async def ask(self) -> tuple[asyncio.Task[Any], asyncio.Task[Any]]:
        hf, begun = self.stage.hf, asyncio.Event()
        launch, decide = hf.engine._launch, Batch.decide_ahead

        def launched(batch: Batch) -> Flight:
            self.seen.append("bea sent off")
            return launch(batch)

        async def decided(batch: Batch, *before: Any, **how: Any) -> bool:
            begun.set()
            await self.go.wait()
            return await decide(batch, *before, **how)

        (ann,) = await self.stage.ask(hf.book("hall", "ann"))
        ann.add_done_callback(lambda _: self.seen.append("ann answered"))
        self.monkeypatch.setattr(hf.engine, "_launch", launched)
        self.monkeypatch.setattr(Batch, "decide_ahead", decided)
        bea = asyncio.ensure_future(hf.book("hall", "bea"))
        await begun.wait()
        return ann, bea


async def in_which_order(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Ann's batch is written while Bea is decided, which is over in a moment."""
    deciding, write_ahead = Deciding(stage, monkeypatch), Batch.write_ahead
    written = asyncio.Event()

    async def write(batch: Batch) -> None:
        await write_ahead(batch)
        written.set()

    monkeypatch.setattr(Batch, "write_ahead", write)
    monkeypatch.setattr(flight, "_SOON_S", PATIENCE_S)
    ann, bea = await deciding.ask()
    stage.go.set()
    await written.wait()
    for _ in range(20):
        await asyncio.sleep(0)
    deciding.go.set()
    async with asyncio.timeout(PATIENCE_S):
        assert [number(await ann), number(await bea)] == [2, 3]
    return deciding.seen


async def test_the_next_is_decided_and_sent_off_before_the_last_is_answered(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert await in_which_order(stage, monkeypatch) == ["bea sent off", "ann answered"]


async def test_control_with_no_regard_for_what_is_being_decided(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def at_once(_: Flight) -> None:
        pass

    monkeypatch.setattr(Flight, "wait_for_next", at_once)
    assert await in_which_order(stage, monkeypatch) == ["ann answered", "bea sent off"]


async def test_nobody_waits_long_for_others_to_be_decided(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To decide may take a look at the database, which may be slow."""
    deciding = Deciding(stage, monkeypatch)
    ann, bea = await deciding.ask()
    stage.go.set()
    try:
        async with asyncio.timeout(PATIENCE_S):
            assert number(await ann) == 2
    finally:
        deciding.go.set()
    assert number(await bea) == 3
    assert deciding.seen == ["ann answered", "bea sent off"]


async def with_phantoms(hf: Fairhold, other: Fairhold, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """One is overtaken, a crowd decided on it, and one who was in the first batch asks again in the third."""
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


async def test_who_came_first_is_first_though_the_batch_before_was_decided_anew(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An old key is in the first batch; a crowd comes behind it, and then one who asks for much."""
    async with nodes(database_url, 1) as (hf,):
        granted(await hf.create_pool("hall", preset="checkout", quotas={"main": 20}))
        granted(await hf.book("hall", "old", idempotency_key="old"))
        await slowly(hf, monkeypatch)
        old = hf.book("hall", "old", idempotency_key="old")
        first = await soon(hf, asyncio.gather(old, hf.book("hall", "new")))
        many = await soon(
            hf,
            asyncio.gather(*(hf.book("hall", f"many {n}", idempotency_key=f"many {n}") for n in range(32))),
        )
        again = asyncio.ensure_future(hf.book("hall", "many 0", idempotency_key="many 0"))
        pushing = asyncio.ensure_future(hf.book("hall", "pushing", 18))
        staff = asyncio.ensure_future(hf.change_pool("hall", title="The hall"))
        rest = [asyncio.ensure_future(hf.book("hall", f"late {n}")) for n in range(9)]
        async with asyncio.timeout(PATIENCE_S):
            await asyncio.gather(first, staff, *rest)
            said = await many
            assert [outcome(it) for it in said] == ["held"] * 18 + ["not_enough_room"] * 14
            assert granted(await again).id == granted(said[0]).id
            assert outcome(await pushing) == "not_enough_room"
    await assert_verified(database_url)
