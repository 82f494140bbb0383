"""Staff put one after another behind the same person, in a line much longer than what is loaded for it."""

from __future__ import annotations

import asyncio
import json

import pytest

from holdfast import Holdfast, granted
from holdfast.store import loader
from tests.database import ask, opened
from tests.engine.looking import look, wrong
from tests.verified import assert_verified

MANY, MOVES, CHOSEN, LEAVES, LOADED = 300, 30, 150, 15, 8
RESPREAD = "SELECT body FROM log WHERE kind = 'Respread'"


@pytest.fixture(autouse=True)
def little_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that fewer moves are enough to need more than that."""
    monkeypatch.setattr(loader, "_BEHIND", LOADED)


async def in_order(hf: Holdfast) -> list[str]:
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
