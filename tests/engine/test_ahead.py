"""A batch is decided while the one before is still being written, and written only if that held true."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from fairhold import Fairhold, granted
from fairhold.errors import Unavailable
from tests.database import dialect_of, opened
from tests.engine.flights import without_heads
from tests.engine.looking import bookings, look, wrong
from tests.engine.staging import nodes, outcome, without_conditions, without_keys
from tests.patience import PATIENCE_S, until
from tests.verified import assert_verified


@pytest.fixture
async def hf(database_url: str) -> AsyncIterator[Fairhold]:
    """A pool of forty seats, in hand."""
    async with opened(database_url) as hf:
        granted(await hf.create_pool("hall", preset="checkout", quotas={"main": 40}))
        granted(await hf.book("hall", "first"))
        yield hf
    await assert_verified(database_url)


async def slowly(hf: Fairhold, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every transaction takes its time to begin, so that the next batch is decided meanwhile."""
    begin = hf.store.begin

    async def begin_slowly(**how: Any) -> Any:
        await asyncio.sleep(0.05)
        return await begin(**how)

    monkeypatch.setattr(hf.store, "begin", begin_slowly)


async def soon(hf: Fairhold, awaitable: Any) -> asyncio.Task[Any]:
    """Asked now; by the time this returns its batch is on its way."""
    accepted = hf.engine.queue.accepted
    task = asyncio.ensure_future(awaitable)
    await until(lambda: (hf.engine.queue.accepted > accepted and not hf.engine.queue._queues) or task.done())
    return task


async def test_what_is_in_hand_is_decided_ahead(hf: Fairhold) -> None:
    before = hf.engine.batches_ahead
    for n in range(5):
        granted(await hf.book("hall", f"party {n}"))
    assert hf.engine.batches_ahead - before == 5


async def test_a_hold_is_confirmed_before_it_is_committed(
    hf: Fairhold, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command names a booking that only the batch before knows of."""
    known = granted(await hf.book("hall", "ann", idempotency_key="k"))
    await slowly(hf, monkeypatch)
    before = hf.engine.batches_ahead
    cancelled = await soon(hf, hf.cancel(known.id))
    confirmed = await soon(hf, hf.confirm(known.id))
    other = await soon(hf, hf.book("hall", "ann"))
    assert granted(await cancelled).state == "cancelled"
    assert outcome(await confirmed) == "not_possible"
    assert granted(await other).state == "held"
    assert hf.engine.batches_ahead - before == 3


async def test_a_party_is_known_to_the_next_batch(hf: Fairhold, monkeypatch: pytest.MonkeyPatch) -> None:
    granted(await hf.create_pool("one-each", preset="event_signup", quotas={"main": 9}))
    granted(await hf.book("one-each", "zoe"))
    await slowly(hf, monkeypatch)
    holding = await soon(hf, hf.book("one-each", "ann"))
    again = await soon(hf, hf.book("one-each", "ann"))
    assert granted(await holding).state == "held"
    assert outcome(await again) == "already_holding"


async def test_a_key_is_known_to_the_next_batch(hf: Fairhold, monkeypatch: pytest.MonkeyPatch) -> None:
    await slowly(hf, monkeypatch)
    first = await soon(hf, hf.book("hall", "ann", idempotency_key="k"))
    same = await soon(hf, hf.book("hall", "ann", idempotency_key="k"))
    other = await soon(hf, hf.book("hall", "bea", idempotency_key="k"))
    assert await first == await same
    assert outcome(await other) == "idempotency_mismatch"


async def test_a_batch_knows_the_keys_of_the_one_before_and_no_more(
    hf: Fairhold, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long batches follow each other without a pause, what is remembered does not grow."""
    granted(await hf.create_pool("stadium", preset="checkout", quotas={"main": 1_000}))
    granted(await hf.book("stadium", "first"))
    make, batches = hf.engine._batch, []

    def made(jobs: Any) -> Any:
        batches.append(make(jobs))
        return batches[-1]

    monkeypatch.setattr(hf.engine, "_batch", made)

    async def caller(name: int) -> None:
        for n in range(20):
            granted(await hf.book("stadium", f"{name} {n}", idempotency_key=f"{name} {n}"))

    await slowly(hf, monkeypatch)
    before = hf.engine.batches_ahead
    # While some wait for their answers, others ask: the chain never ends.
    some = await soon(hf, asyncio.gather(*(caller(name) for name in range(4))))
    await asyncio.gather(some, *(caller(name) for name in range(4, 8)))
    assert hf.engine.batches_ahead - before >= 40
    assert max(len(batch.replies._kept_before) for batch in batches) <= 8


async def test_seats_given_by_the_batch_before_are_gone(
    hf: Fairhold, monkeypatch: pytest.MonkeyPatch
) -> None:
    await slowly(hf, monkeypatch)
    most = await soon(hf, asyncio.gather(*(hf.book("hall", f"party {n}") for n in range(30))))
    rest = await soon(hf, asyncio.gather(*(hf.book("hall", f"late {n}") for n in range(30))))
    assert [outcome(answer) for answer in await most] == ["held"] * 30
    assert [outcome(answer) for answer in await rest] == ["held"] * 9 + ["not_enough_room"] * 21


@pytest.mark.parametrize("error", [Unavailable("gone"), ZeroDivisionError("a bug of ours")])
async def test_when_a_batch_cannot_be_written_the_next_is_decided_anew(
    hf: Fairhold, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """Both were decided; the first is not written, so the second stood on nothing."""
    tx = await hf.store.begin()
    await tx.rollback()
    last_step = "finish" if hf.store.dialect == "postgres" else "commit"
    finish, failures = getattr(type(tx), last_step), [error]

    async def fail_once(self: Any, *args: Any) -> Any:
        if failures:
            raise failures.pop()
        return await finish(self, *args)

    monkeypatch.setattr(type(tx), last_step, fail_once)
    await slowly(hf, monkeypatch)
    most = await soon(hf, asyncio.gather(*(hf.book("hall", f"party {n}") for n in range(30))))
    rest = await soon(hf, asyncio.gather(*(hf.book("hall", f"late {n}") for n in range(30))))
    assert [outcome(answer) for answer in await most] == ["held"] * 30
    assert [outcome(answer) for answer in await rest] == ["held"] * 9 + ["not_enough_room"] * 21
    assert failures == []


# Another process changes the pool behind our back.


async def both_know(url: str, here: Fairhold, there: Fairhold, seats: int = 1) -> None:
    granted(await here.create_pool("chair", preset="checkout", quotas={"main": seats}))
    for hf in (here, there):
        held = granted(await hf.book("chair", f"zoe of {id(hf)}"))
        granted(await hf.cancel(held.id))


async def test_a_seat_that_another_has_given_is_not_given_again(database_url: str) -> None:
    async with nodes(database_url) as (here, there):
        await both_know(database_url, here, there)
        granted(await here.book("chair", "ann"))
        assert outcome(await there.book("chair", "bea")) == "not_enough_room"
    assert wrong(await look(database_url)) == []


async def test_a_seat_that_another_has_freed_is_not_refused(database_url: str) -> None:
    """A no is as much a decision as a yes, and must not stand on what is no longer so."""
    async with nodes(database_url) as (here, there):
        await both_know(database_url, here, there)
        ann = granted(await there.book("chair", "ann"))
        assert outcome(await there.book("chair", "bea", idempotency_key="k")) == "not_enough_room"
        granted(await here.cancel(ann.id))
        assert outcome(await there.book("chair", "bea")) == "held"
    assert wrong(await look(database_url)) == []


async def test_a_key_that_another_has_used_is_found(database_url: str) -> None:
    async with nodes(database_url) as (here, there):
        await both_know(database_url, here, there, seats=9)
        first = granted(await here.book("chair", "ann", idempotency_key="k"))
        assert granted(await there.book("chair", "ann", idempotency_key="k")) == first


async def test_two_nodes_that_take_turns_never_oversell(database_url: str) -> None:
    async with nodes(database_url) as both:
        await both_know(database_url, *both, seats=25)
        asked = [node.book("chair", f"{n} of {at}") for n in range(30) for at, node in enumerate(both)]
        answers = [outcome(answer) for answer in await asyncio.gather(*asked)]
        assert (answers.count("held"), answers.count("not_enough_room")) == (25, 35)
    picture = await look(database_url)
    assert wrong(picture) == []
    assert len(bookings(picture, "held")) == 25


@pytest.mark.tampered
async def test_control_without_looking_at_the_log_a_seat_is_given_twice(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with nodes(database_url) as (here, there):
        await both_know(database_url, here, there)
        granted(await here.book("chair", "ann"))
        without_conditions(monkeypatch, database_url)
        await without_keys(database_url)
        known = there.engine.memory.last(granted_pool(there))
        assert known is not None
        without_heads(monkeypatch, there)
        assert outcome(await there.book("chair", "bea")) == "held"
    assert len(bookings(await look(database_url), "held")) == 2, dialect_of(database_url)


def granted_pool(hf: Fairhold) -> int:
    return hf._pools[hf.org, "chair"]


async def test_whoever_listens_badly_does_not_stop_the_engine(hf: Fairhold) -> None:
    """An observer that fails spoils one batch's answers, and the next goes on."""

    def fail(*_: Any) -> None:
        hf.engine.observer.committed = lambda *_: None  # type: ignore[method-assign]
        raise ZeroDivisionError("a bug of the listener's")

    hf.engine.observer.committed = fail  # type: ignore[method-assign]
    async with asyncio.timeout(PATIENCE_S):
        granted(await hf.book("hall", "ann"))
        granted(await hf.book("hall", "bea"))
