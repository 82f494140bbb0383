"""Lines move in batches that are decided without a lock, too, and as the batch in flight leaves them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from fairhold import Fairhold, granted
from fairhold.store.blocks import LATE, LONG
from fairhold.store.writer import Writer
from tests.database import opened
from tests.engine.flights import without_heads, without_waiting_for_the_flight
from tests.engine.looking import look, wrong
from tests.engine.staging import nodes
from tests.engine.test_ahead import slowly, soon
from tests.verified import assert_verified

SEATS = 3


async def make_full(hf: Fairhold, waiting: int = 2, **more: Any) -> None:
    """A pool without a seat left, and some in line."""
    granted(await hf.create_pool("class", preset="class_waitlist", quotas={"main": SEATS}, **more))
    for n in range(SEATS):
        granted(await hf.book("class", f"early {n}", confirmed=True, by="staff"))
    for n in range(waiting):
        granted(await hf.book("class", f"waiting {n}"))


@pytest.fixture
async def hf(database_url: str) -> AsyncIterator[Fairhold]:
    async with opened(database_url) as hf:
        await make_full(hf)
        yield hf
    await assert_verified(database_url)


async def went_ahead(hf: Fairhold, asked: Any) -> tuple[int, Any]:
    before = hf.engine.batches_ahead
    answer = await asked
    return hf.engine.batches_ahead - before, answer


async def test_who_comes_to_the_end_of_the_line_is_decided_ahead(hf: Fairhold) -> None:
    for position in (3, 4, 5):
        ahead, answer = await went_ahead(hf, hf.book("class", f"late {position}"))
        assert (ahead, granted(answer).state, granted(answer).position) == (1, "waiting", position)


async def test_a_seat_that_is_freed_goes_to_the_first_in_line(hf: Fairhold) -> None:
    (first,) = granted(await hf.bookings("class", party="early 0"))
    ahead, _ = await went_ahead(hf, hf.cancel(first.id))
    assert ahead == 1
    offered = granted(await hf.bookings("class", state="offered"))
    assert [it.party.id for it in offered] == ["waiting 0"]
    late = granted(await hf.book("class", "late"))
    assert (late.state, late.position) == ("waiting", 2)


async def newcomer_and_leaver(hf: Fairhold, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A seat is given back while the sign-up of the only one in line is being written: how does it stand?"""
    await make_full(hf, waiting=0)
    (first,) = granted(await hf.bookings("class", party="early 0"))
    await slowly(hf, monkeypatch)
    before = hf.engine.batches_ahead
    joined = await soon(hf, hf.book("class", "newcomer"))
    left = await soon(hf, hf.cancel(first.id))
    granted(await left)
    assert hf.engine.batches_ahead - before == 2
    return granted(await hf.booking(granted(await joined).id))


async def test_a_seat_that_is_freed_goes_to_who_joined_in_the_batch_in_flight(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(database_url) as hf:
        assert (await newcomer_and_leaver(hf, monkeypatch)).state == "offered"
    assert wrong(await look(database_url)) == []
    await assert_verified(database_url)


@pytest.mark.tampered
async def test_control_without_waiting_for_the_flight_a_freed_seat_passes_by_who_joined_in_it(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_waiting_for_the_flight(monkeypatch)
    async with opened(database_url) as hf:
        assert (await newcomer_and_leaver(hf, monkeypatch)).state == "waiting"


async def position_behind_a_leaver(hf: Fairhold, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The first in line leaves it; while that is being written, staff change something of the second."""
    await make_full(hf)
    first, second = granted(await hf.bookings("class", state="waiting"))
    await slowly(hf, monkeypatch)
    before = hf.engine.batches_ahead
    left = await soon(hf, hf.cancel(first.id))
    changed = await soon(hf, hf.change_booking(second.id, by="staff", name="Wanda"))
    granted(await left)
    answer = granted(await changed).position
    assert hf.engine.batches_ahead - before == 2
    return answer


async def test_a_position_is_told_as_the_batch_in_flight_leaves_the_line(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(database_url) as hf:
        assert await position_behind_a_leaver(hf, monkeypatch) == 1
    await assert_verified(database_url)


@pytest.mark.tampered
async def test_control_without_waiting_for_the_flight_a_position_is_told_as_it_was(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_waiting_for_the_flight(monkeypatch)
    async with opened(database_url) as hf:
        assert await position_behind_a_leaver(hf, monkeypatch) == 2


async def test_who_has_priority_comes_before_others(database_url: str) -> None:
    rules = [{"when": {"tag": "member"}, "add": 1}]
    async with opened(database_url) as hf:
        await make_full(hf, policy={"priority_rules": rules})
        ahead, answer = await went_ahead(hf, hf.book("class", {"id": "ann", "tags": ["member"]}))
        assert (ahead, granted(answer).position) == (1, 1)
        assert granted(await hf.book("class", "bea")).position == 4
    await assert_verified(database_url)


async def test_blocks_stay_short_however_many_come(database_url: str) -> None:
    async with opened(database_url) as hf:
        await make_full(hf)
        before = hf.engine.batches_ahead
        for some in range(0, 1_500, 50):
            answers = await asyncio.gather(*(hf.book("class", f"late {some + n}") for n in range(50)))
            assert [granted(it).position for it in answers] == list(range(some + 3, some + 53))
        assert hf.engine.batches_ahead - before > 20
        await asyncio.gather(*(hf.book("class", f"a crowd's {n}") for n in range(700)))
    counts = [count for _, _, count in (await look(database_url)).blocks]
    assert sum(counts) == 2_202
    assert len(counts) > 7
    assert max(counts) <= LONG + LATE
    assert wrong(await look(database_url)) == []
    await assert_verified(database_url)


async def test_blocks_stay_short_also_when_somebody_leaves_the_front_now_and_then(database_url: str) -> None:
    async with opened(database_url) as hf:
        await make_full(hf)
        for some in range(12):
            await asyncio.gather(*(hf.book("class", f"late {some} {n}") for n in range(200)))
            granted(await hf.cancel(granted(await hf.bookings("class", state="waiting", limit=1))[0].id))
    assert max(count for _, _, count in (await look(database_url)).blocks) <= LONG + LATE
    assert wrong(await look(database_url)) == []


async def test_two_nodes_at_the_end_of_one_line(database_url: str) -> None:
    """Each takes the line for as it left it; whoever finds it changed decides anew."""
    async with nodes(database_url) as both:
        await make_full(both[0])
        granted(await both[1].book("class", "of the other"))
        asked = [node.book("class", f"{n} of {at}") for n in range(40) for at, node in enumerate(both)]
        answers = [granted(it) for it in await asyncio.gather(*asked)]
        assert sorted(it.position or 0 for it in answers) == list(range(4, 84))
    assert wrong(await look(database_url)) == []
    await assert_verified(database_url)


async def test_control_without_looking_at_the_log_two_stand_at_one_place(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with nodes(database_url) as (here, there):
        await make_full(here)
        granted(await there.book("class", "of the other"))
        granted(await here.book("class", "ann"))
        known = there.engine.memory.last(there._pools[there.org, "class"])
        assert known is not None
        loaded = known.loaded(known.at)
        assert loaded.view.waiting == 3, "it does not know of ann"
        # The place is taken, as the index of the line says: without the hash, that is what stops it.
        said: list[str] = []
        write = Writer.write

        async def noted(self: Writer, *args: Any) -> None:
            try:
                await write(self, *args)
            except Exception as error:
                said.append(str(error))
                raise

        without_heads(monkeypatch, there)
        monkeypatch.setattr(Writer, "write", noted)
        assert granted(await there.book("class", "bea")).position == 5
        assert len(said) == 1, "nobody noticed"
