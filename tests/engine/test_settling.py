"""A commit whose outcome is unknown has happened only if every pool that it was about says so."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from fairhold import Fairhold, granted
from fairhold.errors import OutcomeUnknown
from tests.database import opened


class Lost:
    """A transaction that is lost at its commit. Before anybody can ask, another node has done part of it."""

    def __init__(self, inner: Any, meanwhile: Any) -> None:
        self._inner = inner
        self._meanwhile = meanwhile

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def commit(self) -> None:
        await self._inner.rollback()
        await self._meanwhile()
        raise OutcomeUnknown("the connection was lost")

    async def finish(self, *given: Any) -> bool:
        await self.commit()
        return True


async def lose_next_commit(hf: Fairhold, meanwhile: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    begin = hf.store.begin

    async def begin_once(**how: Any) -> Any:
        monkeypatch.setattr(hf.store, "begin", begin)
        return Lost(await begin(**how), meanwhile)

    monkeypatch.setattr(hf.store, "begin", begin_once)


@pytest.mark.parametrize("other", ["a-gig", "z-gig"])
async def test_what_another_node_did_of_it_vouches_for_nothing_else(
    database_url: str, other: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(database_url) as one, opened(database_url) as two:
        for pool in ("gig", other):
            granted(await one.create_pool(pool, preset="checkout", quotas={"main": 5}))
        ann = granted(await one.book("gig", "ann"))

        def bea(hf: Fairhold) -> Any:
            return hf.book(other, "bea", idempotency_key="bea")

        await lose_next_commit(one, lambda: bea(two), monkeypatch)
        confirmed, booked = await asyncio.gather(one.confirm(ann.id), bea(one))
        assert granted(confirmed).state == "confirmed"
        assert granted(booked).id == granted(await bea(two)).id
        assert granted(await two.booking(ann.id)).state == "confirmed"
        assert [it.event for it in granted(await two.log("gig"))] == ["PoolCreated", "Held", "Confirmed"]
        assert [it.event for it in granted(await two.log(other))] == ["PoolCreated", "Held"]


async def test_the_same_under_another_key_is_not_ours(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each key has an answer of its own, which the next to ask with it must get."""
    async with opened(database_url) as one, opened(database_url) as two:
        granted(await one.create_pool("gig", preset="checkout", quotas={"main": 5}))
        await lose_next_commit(one, lambda: two.book("gig", "ann", idempotency_key="two"), monkeypatch)
        first = await one.book("gig", "ann", idempotency_key="one")
        assert await two.book("gig", "ann", idempotency_key="one") == first
        assert [it.event for it in granted(await two.log("gig"))] == ["PoolCreated", "Held"]
