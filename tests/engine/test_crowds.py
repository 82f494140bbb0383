"""A crowd at one pool: everybody is answered about its own booking, and the same under the same key.

Batches are decided on those before them that are still being written. Where another process is quicker, some
of those fail: what was decided on them must not be.
"""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest

from fairhold import Fairhold, Refusal, granted
from fairhold.engine.batch import Flight
from fairhold.engine.engine import Engine
from tests.database import opened
from tests.engine.flights import ahead_again_at_once, without_regard_for_the_outcome
from tests.verified import assert_verified

CALLERS = 64
TIMES = 25
SEATS = 2_000


class Caller:
    """One who books, and goes on with the booking at once; now and then it says something again."""

    def __init__(self, hf: Fairhold, name: int, seed: int) -> None:
        self.hf, self.name = hf, name
        self.dice = random.Random(seed * 1_000 + name)
        self.said: list[tuple[str, int, Any]] = []
        self.wrong: list[Any] = []

    def book(self, who: str, quantity: int) -> Any:
        return self.hf.book("hall", who, quantity, idempotency_key=who)

    async def go_on(self) -> None:
        for turn in range(TIMES):
            if self.said and self.dice.random() < 0.05:
                who, quantity, was = self.dice.choice(self.said)
                self.compare(await self.book(who, quantity), was)
            who, quantity = f"{self.name} {turn}", self.dice.choice([1, 2, 3, 5])
            asked = [self.book(who, quantity) for _ in range(1 + (self.dice.random() < 0.2))]
            first, *again = await asyncio.gather(*asked)
            for other in again:
                self.compare(other, first)
            self.said.append((who, quantity, first))
            if not isinstance(first, Refusal):
                await self.settle(first.id, who, quantity)

    async def settle(self, booking: str, who: str, quantity: int) -> None:
        """Without waiting for one answer before the next is asked for."""
        hf = self.hf
        ways = [[hf.confirm], [hf.cancel], [hf.cancel], [hf.extend, hf.confirm, hf.cancel], []]
        for answer in await asyncio.gather(*(act(booking) for act in self.dice.choice(ways))):
            if isinstance(answer, Refusal) or (answer.party.id, answer.quantity) != (who, quantity):
                self.wrong.append((who, quantity, answer))

    def compare(self, answer: Any, was: Any) -> None:
        told, before = (it if isinstance(it, Refusal) else (it.id, it.party.id) for it in (answer, was))
        if told != before:
            self.wrong.append((was, answer))


async def staff(hf: Fairhold, crowd: asyncio.Future[Any], pause_s: float = 0.05) -> None:
    """Changes something now and then, which goes into no batch with others."""
    number = 0
    while not crowd.done():
        number += 1
        granted(await hf.change_pool("hall", title=f"Hall {number}"))
        await asyncio.sleep(pause_s)


@pytest.mark.parametrize("seed", range(3))
async def test_everybody_is_answered_about_its_own(database_url: str, seed: int) -> None:
    async with opened(database_url) as hf:
        granted(await hf.create_pool("hall", preset="checkout", quotas={"main": SEATS}))
        callers = [Caller(hf, name, seed) for name in range(CALLERS)]
        crowd = asyncio.ensure_future(asyncio.gather(*(caller.go_on() for caller in callers)))
        await asyncio.gather(crowd, *([staff(hf, crowd)] if seed else []))
        assert [wrong for caller in callers for wrong in caller.wrong] == []
        assert hf.engine.batches_ahead > 20
    await assert_verified(database_url)


async def overtaken_again_and_again(url: str, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return who was answered wrongly, while another process changes the pool all the time."""
    ahead_again_at_once(monkeypatch)
    land, failed = Engine._land, [0]

    async def count(engine: Engine, flight: Flight) -> None:
        failed[0] += not flight.written.result()
        await land(engine, flight)

    monkeypatch.setattr(Engine, "_land", count)
    async with opened(url) as hf, opened(url) as elsewhere:
        granted(await hf.create_pool("hall", preset="checkout", quotas={"main": SEATS}))
        callers = [Caller(hf, name, 0) for name in range(CALLERS)]
        crowd = asyncio.ensure_future(
            asyncio.gather(*(caller.go_on() for caller in callers), return_exceptions=True)
        )
        await staff(elsewhere, crowd, pause_s=0.01)
        fell = [it for it in await crowd if it is not None]
        assert hf.engine.batches_ahead > 20
        assert failed[0] > 5
    return fell + [wrong for caller in callers for wrong in caller.wrong]


async def test_everybody_is_answered_about_its_own_though_batches_come_to_nothing(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert await overtaken_again_and_again(database_url, monkeypatch) == []
    await assert_verified(database_url)


@pytest.mark.tampered
async def test_control_with_no_regard_for_the_outcome_people_are_answered_about_what_never_came_to_be(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A third batch is decided on the bookings and the answers of a second that is doomed with the first."""
    without_regard_for_the_outcome(monkeypatch)
    assert await overtaken_again_and_again(database_url, monkeypatch)
