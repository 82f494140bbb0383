"""One key, one effect, one answer: however often it is asked, by whom, and whatever came between."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from typing import Any

import pytest

from fairhold import Booking, Fairhold, PoolState, Refusal, granted, upkeep
from fairhold.core.policy import PRESETS
from fairhold.staff_commands import StaffCommands
from fairhold.store.writer import Writer
from tests.database import SECRET, START, ask, dump, opened
from tests.engine.flights import all_under_lock
from tests.engine.staging import HandClock
from tests.patience import until

ASK_AGAIN = """
import asyncio, json, sys
import msgspec
from fairhold import Fairhold, TestClock

async def main():
    url, key, who, start, secret = sys.argv[1:]
    async with Fairhold.open(url, clock=TestClock(int(start)), secret=secret) as hf:
        answer = await hf.book("gig", who, idempotency_key=key)
        print(json.dumps(msgspec.to_builtins(answer), default=str))

asyncio.run(main())
"""


@pytest.fixture
async def hf(database_url: str) -> AsyncIterator[Fairhold]:
    async with opened(database_url) as hf:
        granted(await hf.create_pool("gig", preset="class_waitlist", quotas={"main": 1}))
        yield hf


def refused(answer: Any) -> str:
    assert isinstance(answer, Refusal)
    return answer.code


async def bookings(hf: Fairhold) -> int:
    return len(granted(await hf.bookings("gig")))


async def test_the_same_request_gets_the_same_answer_and_has_one_effect(
    hf: Fairhold, database_url: str
) -> None:
    first = granted(await hf.book("gig", "ann", idempotency_key="once"))
    after = await dump(database_url)
    for _ in range(3):
        assert granted(await hf.book("gig", "ann", idempotency_key="once")) == first
    assert await dump(database_url) == after
    assert first.edit_token is not None, "the answer is whole each time"


async def test_the_answer_stays_what_it_was_whatever_happened_since(hf: Fairhold) -> None:
    first = granted(await hf.book("gig", "ann", idempotency_key="once"))
    granted(await hf.cancel(first.id))
    await hf.advance(seconds=3600)
    again = granted(await hf.book("gig", "ann", idempotency_key="once"))
    assert again == first
    assert (again.state, granted(await hf.booking(first.id)).state) == ("held", "cancelled")


async def test_every_command_with_a_key_is_done_once(hf: Fairhold, database_url: str) -> None:
    async def twice(method: Any, *args: Any, **options: Any) -> Any:
        key = f"{method.__name__} {args}"
        first = await method(*args, idempotency_key=key, **options)
        rows = await dump(database_url)
        second = await method(*args, idempotency_key=key, **options)
        assert first == second
        assert await dump(database_url) == rows
        return granted(first)

    await twice(hf.create_pool, "other", preset="checkout", quotas={"main": ["a", "b"]})
    ann = await twice(hf.book, "gig", "ann")
    bea = await twice(hf.book, "gig", "bea", 2)
    await twice(hf.extend, ann.id, 60)
    await twice(hf.confirm, ann.id)
    await twice(hf.cancel, ann.id, why="ill")
    await twice(hf.decline, bea.id)
    await twice(hf.change_pool, "gig", sizes={"main": 2})
    await hf.advance(seconds=25 * 3600)
    offer = granted(await hf.booking(bea.id, secret=True)).offer
    assert offer is not None
    await twice(hf.claim, offer.token, 1)


async def test_every_command_of_staff_with_a_key_is_done_once(hf: Fairhold, database_url: str) -> None:
    """Asked again it changes nothing and answers as before; asked otherwise under its key, it is refused."""
    ways: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {}

    async def twice(method: Any, *args: Any, other: dict[str, Any], **options: Any) -> Any:
        key = method.__name__
        ways[key] = args, options
        first = await method(*args, idempotency_key=key, **options)
        rows = await dump(database_url)
        assert await method(*args, idempotency_key=key, **options) == first
        assert refused(await method(*args, idempotency_key=key, **options | other)) == "idempotency_mismatch"
        assert await dump(database_url) == rows
        return granted(first)

    by: dict[str, Any] = {"by": "staff:olga"}
    await twice(
        hf.create_pool,
        "chair",
        preset="last_minute",
        quotas={"main": ["a", "b"]},
        other={"title": "The chair"},
    )
    await twice(hf.add_units, "chair", ["c"], other=by)
    await twice(hf.close_unit, "chair", "c", other=by)
    await twice(hf.change_pool, "chair", title="A chair", other={"title": "Another"})
    olga, _, ann, bea = [granted(await hf.book("chair", who)) for who in ("olga", "pia", "ann", "bea")]
    await twice(hf.move, bea.id, "front", other={"why": "asked"})
    await twice(hf.fill, "chair", other={"steps": 1})
    granted(await hf.cancel(olga.id))
    granted(await hf.decline(bea.id))
    granted(await hf.decline(ann.id))
    opening = granted(await hf.openings("chair"))[0]
    assert opening.state == "handed_back"
    await twice(hf.resolve, "chair", opening.number, "free", other=by)
    await twice(hf.offer, ann.id, other={"why": "asked"})
    granted(await hf.cancel(bea.id))
    await twice(hf.put_back, bea.id, other={"why": "asked"})
    assert set(ways) == {name for name in vars(StaffCommands) if not name.startswith("_")}, (
        "a new command of staff belongs here"
    )


async def test_a_refusal_is_an_answer_like_any_other(hf: Fairhold) -> None:
    granted(await hf.book("gig", "ann"))
    first = await hf.book("gig", "bea", if_full="refuse", idempotency_key="once")
    assert refused(first) == "not_enough_room"
    granted(await hf.change_pool("gig", sizes={"main": 9}))
    assert await hf.book("gig", "bea", if_full="refuse", idempotency_key="once") == first
    assert granted(await hf.book("gig", "bea", if_full="refuse", idempotency_key="twice")).state == "held"


async def test_another_request_under_the_same_key_is_refused(hf: Fairhold, database_url: str) -> None:
    granted(await hf.create_pool("other", preset="class_waitlist", quotas={"main": 1}))
    ann = granted(await hf.book("gig", "ann", idempotency_key="once"))
    before = await dump(database_url)
    others = [
        await hf.book("gig", "bea", idempotency_key="once"),
        await hf.book("gig", "ann", 2, idempotency_key="once"),
        await hf.book("gig", {"id": "ann", "name": "Ann"}, idempotency_key="once"),
        await hf.book("other", "ann", idempotency_key="once"),
        await hf.confirm(ann.id, idempotency_key="once"),
        await hf.change_pool("gig", title="x", idempotency_key="once"),
        await hf.create_pool("third", preset="checkout", quotas={"main": 1}, idempotency_key="once"),
    ]
    assert [refused(answer) for answer in others] == ["idempotency_mismatch"] * 7
    assert others[0].field == "idempotency_key"  # type: ignore[union-attr]
    assert await dump(database_url) == before


async def test_a_pool_is_made_once(hf: Fairhold, database_url: str) -> None:
    options: dict[str, Any] = {"preset": "checkout", "quotas": {"main": ["a", "b"]}}
    first = granted(await hf.create_pool("hall", idempotency_key="once", **options))
    assert isinstance(first, PoolState)
    assert granted(await hf.create_pool("hall", idempotency_key="once", **options)) == first
    assert refused(await hf.create_pool("hall", **options)) == "exists"
    assert refused(await hf.create_pool("hall", idempotency_key="other", **options)) == "exists"
    other = {**options, "quotas": {"main": ["a"]}}
    assert refused(await hf.create_pool("hall", idempotency_key="once", **other)) == "idempotency_mismatch"
    assert await ask(database_url, "SELECT count(*) FROM fairhold_pools") == [(2,)]


async def test_a_refused_pool_stays_refused_under_its_key(hf: Fairhold) -> None:
    first = await hf.create_pool("gig", preset="checkout", quotas={"main": 1}, idempotency_key="once")
    assert refused(first) == "exists"
    assert await hf.create_pool("gig", preset="checkout", quotas={"main": 1}, idempotency_key="once") == first
    answer = await hf.create_pool("new", preset="checkout", quotas={"main": 1}, idempotency_key="once")
    assert refused(answer) == "idempotency_mismatch"


async def test_requests_that_meet_in_one_transaction_are_one(hf: Fairhold) -> None:
    before = hf.engine.batches
    answers = await asyncio.gather(*(hf.book("gig", "ann", idempotency_key="once") for _ in range(50)))
    assert hf.engine.batches - before < 50
    assert len({granted(answer).id for answer in answers if isinstance(answer, Booking)}) == 1
    assert all(answer == answers[0] for answer in answers)
    assert await bookings(hf) == 1


async def test_different_requests_that_meet_under_one_key_get_one_yes(hf: Fairhold) -> None:
    granted(await hf.change_pool("gig", sizes={"main": 100}))
    answers = await asyncio.gather(*(hf.book("gig", f"p{n}", idempotency_key="once") for n in range(20)))
    granted_ones = [answer for answer in answers if isinstance(answer, Booking)]
    assert len(granted_ones) == 1
    others = [refused(answer) for answer in answers if not isinstance(answer, Booking)]
    assert others == ["idempotency_mismatch"] * 19
    assert await bookings(hf) == 1


async def test_another_node_knows_the_answer(hf: Fairhold, database_url: str) -> None:
    first = granted(await hf.book("gig", "ann", idempotency_key="once"))
    async with opened(database_url) as other:
        assert granted(await other.book("gig", "ann", idempotency_key="once")) == first
        assert refused(await other.book("gig", "bea", idempotency_key="once")) == "idempotency_mismatch"


async def test_nodes_that_ask_at_the_same_moment_have_one_effect(hf: Fairhold, database_url: str) -> None:
    granted(await hf.create_pool("other", preset="checkout", quotas={"main": 100}))
    async with opened(database_url) as second, opened(database_url) as third:
        for n in range(15):
            nodes = [hf, second, third] * 3
            answers = await asyncio.gather(
                *(one.book("other", f"p{n}", idempotency_key=f"k{n}") for one in nodes)
            )
            assert all(answer == answers[0] for answer in answers)
            made = await asyncio.gather(
                *(
                    one.create_pool(f"pool-{n}", preset="checkout", quotas={"a": 1}, idempotency_key=f"m{n}")
                    for one in nodes
                )
            )
            assert all(granted(answer) == made[0] for answer in made)
        assert len(granted(await hf.bookings("other"))) == 15
        assert len(await hf.pools()) == 17


async def test_nodes_that_make_the_same_pool_get_one_yes_and_calm_nos(
    hf: Fairhold, database_url: str
) -> None:
    async with opened(database_url) as second, opened(database_url) as third:
        for n in range(10):
            made = await asyncio.gather(
                *(
                    one.create_pool(f"pool-{n}", preset="checkout", quotas={"a": 1})
                    for one in (hf, second, third)
                )
            )
            kinds = sorted("yes" if isinstance(answer, PoolState) else answer.code for answer in made)
            assert kinds == ["exists", "exists", "yes"]


async def test_another_process_knows_the_answer(hf: Fairhold, database_url: str) -> None:
    first = granted(await hf.book("gig", "ann", idempotency_key="once"))
    said = []
    for who in ("ann", "bea"):
        command = [sys.executable, "-c", ASK_AGAIN, database_url, "once", who, str(START), SECRET]
        process = await asyncio.create_subprocess_exec(*command, stdout=-1)
        out, _ = await process.communicate()
        said.append(json.loads(out))
    assert (said[0]["id"], said[0]["edit_token"]) == (first.id, first.edit_token)
    assert said[1]["code"] == "idempotency_mismatch"


async def test_the_key_is_kept_with_the_change_or_not_at_all(
    hf: Fairhold, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is rolled back leaves no key: the same request can be made again, and is then carried out."""
    before, write = await dump(database_url), Writer.write

    async def fails(self: Writer, *args: Any) -> None:
        await write(self, *args)
        raise RuntimeError("after everything was written, and before it was committed")

    all_under_lock(monkeypatch)

    with monkeypatch.context() as patch:
        patch.setattr(Writer, "write", fails)
        with pytest.raises(Exception, match="after everything was written"):
            await hf.book("gig", "ann", idempotency_key="once")
    assert await dump(database_url) == before
    assert granted(await hf.book("gig", "ann", idempotency_key="once")).state == "held"
    assert await bookings(hf) == 1


async def test_keys_are_forgotten_after_a_day(hf: Fairhold, database_url: str) -> None:
    """The ticker forgets them, some at a time, in the order of their age."""
    granted(await hf.change_pool("gig", sizes={"main": 100}))
    for n in range(5):
        granted(await hf.book("gig", f"old {n}", idempotency_key=f"old {n}"))
    await hf.advance(seconds=12 * 3600)
    granted(await hf.book("gig", "new", idempotency_key="new"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fairhold.upkeep.FORGET_MAX", 2)
        await upkeep.forget_requests(hf.store, START + 1)
    assert await ask(database_url, "SELECT key FROM fairhold_requests") == [("new",)]
    assert refused(await hf.book("gig", "other", idempotency_key="new")) == "idempotency_mismatch"
    assert granted(await hf.book("gig", "old 0", idempotency_key="old 0")).state == "held"


async def test_the_ticker_forgets_them_by_itself(database_url: str) -> None:
    clock = HandClock()
    async with opened(database_url, clock=clock, ticker=False) as hf:
        granted(await hf.create_pool("gig", preset="checkout", quotas={"main": 1}))
        granted(await hf.book("gig", "ann", idempotency_key="once"))
        clock.move(24 * 3_600 + 1)
        await hf.ticker.start()

        async def forgotten() -> bool:
            return await ask(database_url, "SELECT count(*) FROM fairhold_requests") == [(0,)]

        async def changes_too() -> bool:
            return await ask(database_url, f"SELECT count(*) FROM fairhold_stream WHERE at <= {START}") == [
                (0,)
            ]

        await until(forgotten)
        await until(changes_too)


async def test_what_was_done_is_answered_again_though_it_could_not_be_done_any_more(hf: Fairhold) -> None:
    """What is asked is judged by the pool as it is; but first comes what was answered under the key."""

    async def shorter() -> PoolState | object:
        return await hf.change_pool("gig", policy={"offer_window": 600}, idempotency_key="shorter")

    async def one_more() -> PoolState | object:
        return await hf.add_units("hall", ["b"], idempotency_key="one more")

    granted(await hf.create_pool("hall", preset="checkout", quotas={"main": ["a"]}))
    answers = [await shorter(), await one_more()]
    assert [isinstance(answer, PoolState) for answer in answers] == [True, True]
    granted(await hf.change_pool("gig", policy=PRESETS["event_signup"]))
    two_quotas = [{"key": "main", "units": []}, {"key": "side", "size": 3}]
    granted(await hf.change_pool("hall", quotas=two_quotas))
    assert [await shorter(), await one_more()] == answers


async def test_the_order_in_which_a_program_names_the_fields_says_nothing(hf: Fairhold) -> None:
    wants = {"row": 1, "side": "left"}
    other_way_round = dict(reversed(wants.items()))
    first = [
        await hf.book("gig", {"id": "ann", "attributes": said}, idempotency_key="once")
        for said in (wants, other_way_round)
    ]
    assert first[0] == first[1]
    assert isinstance(first[0], Booking)
