"""Commands that gather share a transaction, and none of them suffers for another."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from fairhold import Booking, Fairhold, Refusal, granted
from fairhold.core import commands as c
from fairhold.core.decide import decide
from fairhold.core.model import Party
from fairhold.engine.jobs import BATCH_MAX, SHARE, Job, JobQueue
from fairhold.errors import CommandFailed
from fairhold.records import QuotaUse
from fairhold.store import loader, rows
from tests.database import ask, dump, opened
from tests.patience import PATIENCE_S


@pytest.fixture
async def hf(database_url: str) -> AsyncIterator[Fairhold]:
    async with opened(database_url) as hf:
        for key in ("hot", "cold", "third"):
            granted(await hf.create_pool(key, preset="class_waitlist", quotas={"main": 10}))
            granted(await hf.pool(key))
        yield hf


async def test_many_callers_share_few_transactions(hf: Fairhold) -> None:
    before = hf.engine.batches
    booked = await asyncio.gather(*(hf.book("hot", f"party {n}") for n in range(300)))
    assert hf.engine.batches - before <= 3
    states = [granted(booking).state for booking in booked if isinstance(booking, Booking)]
    assert (states.count("held"), states.count("waiting")) == (10, 290)


async def test_commands_of_several_pools_share_them_too(hf: Fairhold) -> None:
    before = hf.engine.batches
    pools = ("hot", "cold", "third")
    booked = await asyncio.gather(*(hf.book(pool, f"party {n}") for n in range(30) for pool in pools))
    assert hf.engine.batches - before <= 3
    assert all(isinstance(booking, Booking) for booking in booked)
    for pool in pools:
        assert len(granted(await hf.bookings(pool))) == 30


async def test_a_caller_alone_does_not_wait_for_company(hf: Fairhold) -> None:
    before = hf.engine.batches
    for n in range(5):
        granted(await hf.book("hot", f"party {n}"))
    assert hf.engine.batches - before == 5


async def test_answers_come_in_the_order_of_arrival(hf: Fairhold) -> None:
    """Whoever asked first has the lower number, and hears of it first."""
    answered: list[int] = []

    async def book(n: int) -> Booking:
        booking = granted(await hf.book("hot", f"party {n}"))
        assert isinstance(booking, Booking)
        answered.append(n)
        return booking

    booked = await asyncio.gather(*(book(n) for n in range(700)))
    assert answered == list(range(700))
    positions = [booking.position for booking in booked if booking.state == "waiting"]
    assert positions == list(range(1, 691))


async def test_a_batch_sees_what_its_earlier_commands_did(hf: Fairhold) -> None:
    """A hold is given back, and in the same transaction its seat goes to the line, not to who comes later."""
    held = [granted(await hf.book("hot", f"holder {n}")) for n in range(10)]
    waiting = granted(await hf.book("hot", "first in line"))
    before = hf.engine.batches
    cancelled, newcomer, confirmed = await asyncio.gather(
        hf.cancel(held[0].id), hf.book("hot", "newcomer"), hf.confirm(held[1].id)
    )
    assert hf.engine.batches - before == 1
    assert [granted(answer).state for answer in (cancelled, newcomer, confirmed)] == [
        "cancelled",
        "waiting",
        "confirmed",
    ]
    assert granted(await hf.booking(waiting.id)).state == "offered"


# One bad apple.


async def among(hf: Fairhold, *parties: str) -> dict[str, Any]:
    """Book for all of these at once; what each got."""
    answers = await asyncio.gather(*(hf.book("hot", party) for party in parties), return_exceptions=True)
    return dict(zip(parties, answers, strict=True))


async def test_a_command_that_cannot_be_decided_fails_alone(
    hf: Fairhold, monkeypatch: pytest.MonkeyPatch
) -> None:
    def poisoned(view: Any, command: Any, now: int) -> Any:
        decision = decide(view, command, now)
        if isinstance(command, c.Book) and command.party.id == "poison":
            raise ZeroDivisionError("a bug of ours")
        return decision

    monkeypatch.setattr("fairhold.engine.batch.decide", poisoned)
    before = hf.engine.batches
    got = await among(hf, "ann", "bea", "poison", "cyd", "dan")
    assert hf.engine.batches - before == 1, "the others were not even asked again"
    assert isinstance(got.pop("poison"), CommandFailed)
    assert [booking.state for booking in got.values()] == ["held"] * 4
    assert [b.party.id for b in granted(await hf.bookings("hot"))] == ["ann", "bea", "cyd", "dan"]
    assert granted(await hf.stats("hot")).quotas == {"main": QuotaUse(4, 6)}


async def test_a_command_that_the_database_refuses_fails_alone(
    hf: Fairhold, database_url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A row breaks a constraint: the transaction is lost, and all but the one to blame are done anew."""
    held = rows.held

    def broken(pool_id: int, booking: Any, source: str | None = None) -> tuple[Any, ...]:
        row = held(pool_id, booking, source)
        return (*row[:7], 0, *row[8:]) if booking.party.id == "poison" else row

    monkeypatch.setattr(rows, "held", broken)
    got = await among(hf, "ann", "bea", "poison", "cyd", "dan")
    error = got.pop("poison")
    assert isinstance(error, CommandFailed)
    assert "booking_quantity" in str(error)
    assert "poison" not in f"{error} {caplog.text}", "whose row it is, is not for the log"
    assert [booking.state for booking in got.values()] == ["held"] * 4
    assert [b.party.id for b in granted(await hf.bookings("hot"))] == ["ann", "bea", "cyd", "dan"]
    assert await ask(database_url, "SELECT max(log_seq) FROM fairhold_pools WHERE key = 'hot'") == [(5,)]
    numbers = await ask(database_url, "SELECT number FROM fairhold_bookings ORDER BY number")
    assert numbers == [(1,), (2,), (3,), (4,)], "what failed has left no gap"


async def test_a_failure_in_one_pool_does_not_touch_another(
    hf: Fairhold, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = rows.held

    def broken(pool_id: int, booking: Any, source: str | None = None) -> tuple[Any, ...]:
        row = held(pool_id, booking, source)
        return (*row[:8], "lost", *row[9:]) if booking.party.id == "poison" else row

    monkeypatch.setattr(rows, "held", broken)
    answers = await asyncio.gather(
        *(hf.book("cold", f"party {n}") for n in range(5)),
        hf.book("hot", "poison"),
        hf.create_pool("fourth", preset="checkout", quotas={"main": 1}),
        return_exceptions=True,
    )
    assert [type(answer).__name__ for answer in answers] == ["Booking"] * 5 + ["CommandFailed", "PoolState"]


async def test_a_refusal_spoils_nothing(hf: Fairhold) -> None:
    before = hf.engine.batches
    answers = await asyncio.gather(
        hf.book("hot", "ann"), hf.book("hot", "ann"), hf.book("hot", "bea", quota="attic"),
        hf.book("hot", "cyd", 200),
        hf.book("hot", "dan"), hf.confirm("b" * 22),
    )  # fmt: skip
    codes = [answer.code if isinstance(answer, Refusal) else granted(answer).state for answer in answers]
    assert codes == ["held", "already_holding", "unknown", "invalid", "held", "unknown"]
    assert hf.engine.batches - before == 1


async def test_a_tick_that_fails_does_not_keep_commands_waiting_for_ever(
    hf: Fairhold, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where more is due than one transaction does, ticks go first; one that fails says so to who asked."""
    monkeypatch.setattr(loader, "DUE_MAX", 2)
    for n in range(6):
        granted(await hf.book("hot", f"party {n}"))
    clock: Any = hf.clock
    clock.move_to(clock.now() + 15 * 60_000)

    def poisoned(view: Any, command: Any, now: int) -> Any:
        if isinstance(command, c.Tick):
            raise ZeroDivisionError("a bug of ours")
        return decide(view, command, now)

    with monkeypatch.context() as patch:
        patch.setattr("fairhold.engine.batch.decide", poisoned)
        with pytest.raises(CommandFailed):
            await asyncio.wait_for(hf.book("hot", "ann"), PATIENCE_S)
    assert granted(await hf.book("hot", "ann")).state == "held"
    assert granted(await hf.stats("hot")).bookings == {"expired": 6, "held": 1}


async def test_whole_batches_are_all_or_nothing(hf: Fairhold, database_url: str, monkeypatch: Any) -> None:
    """Nothing of a transaction is seen until it is committed, and nothing is answered before."""
    before, seen = await dump(database_url), []
    transaction = type(await _transaction(hf))

    def late(ends: Any) -> Any:
        async def end(self: Any, *values: Any) -> Any:
            seen.append(await dump(database_url))
            assert not any(task.done() for task in tasks)
            return await ends(self, *values)

        return end

    # What was decided ahead is written and committed by one statement on PostgreSQL.
    for name in ("commit", "finish"):
        monkeypatch.setattr(transaction, name, late(getattr(transaction, name)))
    tasks = [asyncio.create_task(hf.book("hot", f"party {n}")) for n in range(20)]
    await asyncio.gather(*tasks)
    assert seen
    assert all(it == before for it in seen)
    assert len(granted(await hf.bookings("hot"))) == 20


async def _transaction(hf: Fairhold) -> Any:
    tx = await hf.store.begin()
    await tx.rollback()
    return tx


# Turns between pools.


async def test_a_hot_pool_does_not_keep_a_cold_one_waiting(hf: Fairhold) -> None:
    crowd = [asyncio.create_task(hf.book("hot", f"party {n}")) for n in range(1_500)]
    while not hf.engine.batches or not any(task.done() for task in crowd):
        await asyncio.sleep(0)
    assert not all(task.done() for task in crowd)
    before = sum(task.done() for task in crowd)
    granted(await hf.book("cold", "ann"))
    assert sum(task.done() for task in crowd) - before <= 2 * BATCH_MAX
    await asyncio.gather(*crowd)


def jobs(pool_id: int, *commands: c.Command) -> list[Job]:
    loop = asyncio.get_running_loop()
    return [Job(pool_id, command, loop.create_future()) for command in commands]


def book(n: int = 1) -> list[c.Command]:
    return [c.Book(Party(f"party {k}")) for k in range(n)]


async def test_pools_take_turns_in_a_batch() -> None:
    queue = JobQueue()
    for job in jobs(1, *book(1_000)) + jobs(2, *book(1)) + jobs(3, *book(40)):
        queue.submit(job)
    batch = [job.pool_id for job in await queue.take()]
    assert batch[: 2 * SHARE + 1] == [1] * SHARE + [2] + [3] * SHARE
    assert batch.count(3) == 40
    assert batch[2 * SHARE + 1 :].count(1) == batch.count(1) - SHARE


async def test_the_pool_that_was_first_is_last_next_time() -> None:
    queue = JobQueue()
    for pool_id in (1, 2, 3):
        for job in jobs(pool_id, *book(400)):
            queue.submit(job)
    first = [job.pool_id for job in await queue.take()]
    second = [job.pool_id for job in await queue.take()]
    assert first[0] == 1
    assert second[0] != 1
    assert len(first) == len(second) == 512


@pytest.mark.parametrize(
    "command",
    [
        c.ChangePool(),
        c.AddUnits(()),
        c.CloseUnit("a"),
        c.Move(1, "front"),
        c.Resolve(1, "free"),
        c.GiveOffer(1),
    ],
    ids=lambda command: type(command).__name__,
)
async def test_commands_that_change_the_ground_have_a_transaction_of_their_own(command: c.Command) -> None:
    """In their own pool, that is: other pools go on beside them."""
    queue = JobQueue()
    for job in jobs(1, *book(2), command, command, *book(3)) + jobs(2, *book(50)):
        queue.submit(job)
    batches = [[job.command for job in await queue.take() if job.pool_id == 1] for _ in range(4)]
    assert [len(batch) for batch in batches] == [2, 1, 1, 3]
    assert batches[1] == batches[2] == [command]


async def test_a_dry_run_is_alone_too() -> None:
    queue = JobQueue()
    listed = jobs(1, *book(3))
    listed[1].dry_run = True
    for job in listed:
        queue.submit(job)
    assert [len(await queue.take()) for _ in range(3)] == [1, 1, 1]


async def test_what_is_put_back_comes_first_and_in_order() -> None:
    queue = JobQueue()
    listed = jobs(1, *book(4))
    for job in listed:
        queue.submit(job)
    taken = await queue.take()
    late = jobs(1, *book(1))[0]
    queue.submit(late)
    queue.requeue(taken[1:])
    assert await queue.take() == [*listed[1:], late]
