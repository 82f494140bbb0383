"""Once a batch has enough jobs it is sent off behind the one that is being written, on SQLite."""

from __future__ import annotations

import asyncio
import os
from typing import Any

import pytest

from holdfast import Holdfast, granted
from holdfast.engine import Engine
from holdfast.store.sqlite.turns import Turns
from tests.engine.staging import nodes, outcome
from tests.engine.test_ahead import soon
from tests.engine.test_cancelling import SlowDisk
from tests.verified import assert_verified

ENOUGH = 32


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether those who would share a turn might."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1}, raising=False)
    share, said = Turns.share, []

    def noted(turns: Turns) -> bool:
        said.append(share(turns))
        return said[-1]

    monkeypatch.setattr(Turns, "share", noted)
    return said


async def hall(hf: Holdfast) -> None:
    """A pool in hand, and a disk that takes its time."""
    granted(await hf.create_pool("hall", preset="checkout", quotas={"main": 1_000}))
    granted(await hf.book("hall", "first"))
    store: Any = hf.store
    store.committer.shutdown()
    store.committer = SlowDisk()


async def crowd(hf: Holdfast, name: str) -> list[str]:
    answers = await asyncio.gather(*(hf.book("hall", f"{name} {n}") for n in range(ENOUGH)))
    return [outcome(answer) for answer in answers]


async def names(hf: Holdfast) -> list[str]:
    """Who came, by the log."""
    entries = granted(await hf.log("hall", limit=1_000))
    return [entry.facts["party"] for entry in entries if entry.event == "Held"]


async def test_those_who_are_enough_are_sent_off_behind(sqlite_url: str, shared: list[bool]) -> None:
    async with nodes(sqlite_url, 1) as (hf,):
        await hall(hf)
        one = await soon(hf, hf.book("hall", "one"))
        many = await soon(hf, crowd(hf, "many"))
        assert shared == [True]
        assert not one.done()
        assert outcome(await one) == "held"
        assert await many == ["held"] * ENOUGH
        assert hf.engine._look_up == 0
    await assert_verified(sqlite_url)


async def overtaken(hf: Holdfast, other: Holdfast) -> tuple[asyncio.Task[Any], asyncio.Task[list[str]]]:
    """One is decided on what is no longer so, and a crowd on that one."""
    await hall(hf)
    granted(await other.book("hall", "quicker"))
    one = await soon(hf, hf.book("hall", "one"))
    return one, await soon(hf, crowd(hf, "many"))


async def test_behind_one_that_was_overtaken_all_are_decided_anew_and_in_order(
    sqlite_url: str, shared: list[bool]
) -> None:
    async with nodes(sqlite_url, 2) as (hf, other):
        one, many = await overtaken(hf, other)
        assert shared == [True]
        assert outcome(await one) == "held"
        assert await many == ["held"] * ENOUGH
        came = await names(hf)
        assert came[:3] == ["first", "quicker", "one"]
        assert len(came) == len(set(came)) == ENOUGH + 3
        assert hf.engine._look_up
        assert hf.engine._wary == 0, "it was wrong once, not twice"
    await assert_verified(sqlite_url)


async def test_control_without_asking_what_it_was_decided_on(
    sqlite_url: str, shared: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    was_wrong = Engine._was_wrong
    monkeypatch.setattr(Engine, "_was_wrong", lambda self, _: was_wrong(self, None))
    async with nodes(sqlite_url, 2) as (hf, other):
        one, many = await overtaken(hf, other)
        await asyncio.gather(one, many)
        assert hf.engine._wary


@pytest.mark.parametrize("size", [64, 300])
async def test_a_crowd_that_asks_again_and_again(sqlite_url: str, shared: list[bool], size: int) -> None:
    async with nodes(sqlite_url, 1) as (hf,):
        granted(await hf.create_pool("hall", preset="checkout", quotas={"main": 500}))
        granted(await hf.book("hall", "first"))

        async def caller(name: int) -> list[str]:
            said = []
            for n in range(8):
                asked = hf.book("hall", f"{name} {n}", idempotency_key=f"{name} {n}")
                again = hf.book("hall", f"{name} {n}", idempotency_key=f"{name} {n}")
                first, second = await asyncio.gather(asked, again)
                assert first == second
                said.append(outcome(first))
            return said

        said = [one for each in await asyncio.gather(*map(caller, range(size))) for one in each]
        assert said.count("held") == min(499, size * 8)
        assert any(shared)
    await assert_verified(sqlite_url)
