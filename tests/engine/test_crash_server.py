"""The PostgreSQL server crashes under load: every answered yes is kept, and Fairhold recovers by itself."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import pytest

from fairhold import Booking, Fairhold, Refusal, granted
from fairhold.errors import Unavailable
from testbed.postgres import TemporaryPostgres, fresh_database
from tests.database import SECRET
from tests.engine.looking import bookings, look, wrong
from tests.patience import until
from tests.verified import assert_verified

CALLERS = 32


@pytest.fixture
async def durable_url(durable_postgres: TemporaryPostgres) -> AsyncIterator[str]:
    with fresh_database(durable_postgres.url) as url:
        yield url


class Callers:
    """They book without pause, each party once; after an error they ask again with the same key."""

    def __init__(self, hf: Fairhold) -> None:
        self._hf = hf
        self.answered: dict[str, Booking] = {}
        self.errors: list[BaseException] = []
        self.ended = False

    async def run(self) -> None:
        await asyncio.gather(*(self._call(number) for number in range(CALLERS)))

    async def _call(self, number: int) -> None:
        turn = 0
        while not self.ended:
            turn += 1
            party = f"{number}-{turn}"
            self.answered[party] = await self._book(party)
            await asyncio.sleep(0.005)

    async def _book(self, party: str) -> Booking:
        while True:
            try:
                answer = await self._hf.book("hall", party, idempotency_key=party)
                assert isinstance(answer, Booking)
                return answer
            except Unavailable as error:
                self.errors.append(error)
                await asyncio.sleep(0.05)


async def some_more(callers: Callers) -> None:
    """Until two hundred more were answered."""
    count = len(callers.answered) + 200
    await until(lambda: len(callers.answered) >= count)


async def test_every_answered_yes_outlives_a_crash_of_the_server(
    durable_url: str, durable_postgres: TemporaryPostgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Fairhold.open(durable_url, secret=SECRET) as hf:
        granted(await hf.create_pool("hall", quotas={"main": None}, preset="checkout"))
        callers, ask, settled = Callers(hf), hf.engine._has_happened, []

        async def ask_and_tell(batch: Any) -> bool | None:
            settled.append(await ask(batch))
            return settled[-1]

        monkeypatch.setattr(hf.engine, "_has_happened", ask_and_tell)
        calling = asyncio.create_task(callers.run())
        for _ in range(2):
            await some_more(callers)
            await asyncio.to_thread(durable_postgres.kill9)
            before = dict(callers.answered)
            with pytest.raises(Unavailable, match="PostgreSQL"):
                await hf.stats("hall")
            await asyncio.sleep(0.2)
            await asyncio.to_thread(durable_postgres.start)
            there = {booking.party for booking in bookings(await look(durable_url))}
            assert set(before) <= there
            # The same object goes on, for the callers have nothing else.
            await some_more(callers)
        callers.ended = True
        await calling
        assert not isinstance(await hf.stats("hall"), Refusal)

    assert {type(error).__name__ for error in callers.errors} <= {"Unavailable", "OutcomeUnknown"}
    # A crash is felt: by a caller, or by a commit whose outcome had to be looked up.
    assert len(callers.errors) + len(settled) > 0
    picture = await look(durable_url)
    assert wrong(picture) == []
    held = {booking.party: booking.number for booking in bookings(picture, "held")}
    assert len(held) == len(bookings(picture))
    assert held.keys() == callers.answered.keys()
    await assert_verified(durable_url)


async def test_a_command_without_a_key_is_settled_too(
    durable_url: str, durable_postgres: TemporaryPostgres
) -> None:
    """Whatever a crash leaves open, nobody gets a yes that is not kept, nor two bookings for one call."""
    async with Fairhold.open(durable_url, secret=SECRET, ticker=False) as hf:
        granted(await hf.create_pool("hall", quotas={"main": None}, preset="checkout"))
        said: Counter[str] = Counter()
        yes: list[str] = []
        back = asyncio.Event()

        async def call(number: int) -> None:
            turn = 0
            while not back.is_set():
                turn += 1
                try:
                    yes.append(granted(await hf.book("hall", f"{number}-{turn}")).id)
                except Unavailable as error:
                    said[type(error).__name__] += 1

        calling = asyncio.gather(*(call(number) for number in range(CALLERS)))
        await until(lambda: len(yes) >= 300)
        await asyncio.to_thread(durable_postgres.kill9)
        await asyncio.to_thread(durable_postgres.start)
        back.set()
        await calling
        assert granted(await hf.pool("hall")).quotas[0].used >= len(yes)

    picture = await look(durable_url)
    assert wrong(picture) == []
    assert len(set(yes)) == len(yes)
    # One booking for each yes, and at most one for each caller who was told that the outcome is unknown.
    assert 0 <= len(bookings(picture)) - len(yes) <= said["OutcomeUnknown"]
    await assert_verified(durable_url)
