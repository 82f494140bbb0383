"""Staff put one after another behind the same person, in a line much longer than what is loaded for it."""

from __future__ import annotations

import asyncio
import json

import pytest

from fairhold import Fairhold, Refusal, granted
from fairhold.store import loader
from tests.database import ask, opened
from tests.engine.looking import look, wrong
from tests.verified import assert_verified, verified

MANY, MOVES, CHOSEN, LEAVES, LOADED = 300, 30, 150, 15, 8
RESPREAD = "SELECT body FROM fairhold_log WHERE kind = 'Respread'"


@pytest.fixture(autouse=True)
def little_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that fewer moves are enough to need more than that."""
    monkeypatch.setattr(loader, "_BEHIND", LOADED)


async def in_order(hf: Fairhold) -> list[str]:
    return [booking.id for booking in granted(await hf.line("class", limit=MANY))]


@pytest.mark.parametrize("first_stays", [True, False], ids=["all stay", "the first who was moved has left"])
async def test_many_moves_behind_one_keep_the_order_that_was_asked_for(
    database_url: str, first_stays: bool
) -> None:
    async with opened(database_url) as hf:
        granted(await hf.create_pool("class", preset="class_waitlist", quotas={"main": 0}))
        await asyncio.gather(*(hf.book("class", f"party {n}") for n in range(MANY)))
        expected = await in_order(hf)
        chosen, first = expected[CHOSEN], expected[0]
        for turn in range(MOVES):
            mover = expected.pop(0)
            expected.insert(expected.index(chosen) + 1, mover)
            granted(await hf.move(mover, after=chosen))
            if turn == LEAVES and not first_stays:
                granted(await hf.cancel(first))
                expected.remove(first)
            if turn > LEAVES and turn % 7 == 0:
                assert await in_order(hf) == expected
        assert await in_order(hf) == expected
    assert wrong(await look(database_url)) == []
    apart = [json.loads(body)["places"] for (body,) in await ask(database_url, RESPREAD)]
    assert max(map(len, apart)) > LOADED, "all who were moved apart had been loaded at once"
    await assert_verified(database_url)


async def moved_before_one_with_an_offer(hf: Fairhold) -> list[str]:
    """Thirty have offers. The 16th, 26th and 27th say no, and these two are moved right behind that one."""
    policy = {"offer_window": "24h", "hand_back": False, "tries_max": None}
    granted(await hf.create_pool("chair", preset="last_minute", policy=policy, quotas={"main": 0}))
    came = [granted(await hf.book("chair", f"party {n}")).id for n in range(40)]
    granted(await hf.change_pool("chair", sizes={"main": 30}))
    for booking in (came[15], came[25], came[26]):
        granted(await hf.decline(booking))
    granted(await hf.move(came[25], after=came[15]))
    granted(await hf.move(came[26], after=came[25]))
    return [came[15], came[25], came[26], came[16]]


async def test_who_has_an_offer_keeps_its_place_however_many_have_one(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More have offers than are looked at for a move."""
    monkeypatch.setattr(loader, "_BEHIND", 2)
    async with opened(database_url) as hf:
        expected = await moved_before_one_with_an_offer(hf)
        await assert_verified(database_url)
        granted(await hf.decline(expected[-1]))
        assert [booking.id for booking in granted(await hf.line("chair"))][:4] == expected
        assert await hf.advance(seconds=86_400) is None
        line = [booking.id for booking in granted(await hf.line("chair", limit=MANY))]
    first = line.index(expected[0])
    assert line[first : first + 4] == expected
    assert wrong(await look(database_url)) == []
    await assert_verified(database_url)


@pytest.mark.tampered
async def test_control_one_who_does_not_look_at_offers_takes_a_place_that_is_kept(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = loader.Loader._rows

    async def without_offers(self: loader.Loader, name: str, *values: object) -> object:
        return [] if name == "offered_behind" else await rows(self, name, *values)

    monkeypatch.setattr(loader.Loader, "_rows", without_offers)
    async with opened(database_url) as hf:
        await moved_before_one_with_an_offer(hf)
    assert any("share a place" in str(finding) for finding in (await verified(database_url)).findings)


async def test_why_nobody_can_be_moved_behind_a_booking_is_said_with_its_reference(
    database_url: str,
) -> None:
    async with opened(database_url) as hf:
        granted(await hf.create_pool("class", preset="class_waitlist", quotas={"main": 1}))
        ann, bea, cyd = [granted(await hf.book("class", who)) for who in ("ann", "bea", "cyd")]
        refused = await hf.move(bea.reference, after=bea.reference)
        assert isinstance(refused, Refusal)
        assert (
            refused.sentence == f"There is no place behind {bea.reference}: it is the very booking to move."
        )
        refused = await hf.move(bea.id, after=ann.id)
        assert isinstance(refused, Refusal)
        assert refused.sentence == f"There is no place behind {ann.reference}: it is held, and not in line."
        granted(await hf.cancel(cyd.id))
        refused = await hf.move(bea.id, after=cyd.id)
        assert isinstance(refused, Refusal)
        assert (refused.code, refused.field) == ("unknown", "booking")
        assert f"{cyd.reference}: it is cancelled, and not in line" in refused.sentence
