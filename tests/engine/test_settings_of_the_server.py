"""Whatever a server's defaults are, Fairhold's own transactions are as its promises need them."""

from __future__ import annotations

import asyncio

import pytest

from fairhold import granted
from tests.database import ask
from tests.engine.staging import nodes, outcome
from tests.verified import assert_verified


async def with_default(url: str, setting: str, value: str) -> None:
    name = url.rsplit("/", 1)[-1]
    await ask(url, f"ALTER DATABASE {name} SET {setting} TO '{value}'")


@pytest.mark.parametrize("isolation", ["repeatable read", "serializable"])
async def test_two_nodes_get_on_where_transactions_are_isolated_more_by_default(
    postgres_url: str, isolation: str
) -> None:
    """Under those, a pool that another node has just changed is an error; here it is locked and looked at."""
    await with_default(postgres_url, "default_transaction_isolation", isolation)
    async with nodes(postgres_url) as (here, there):
        granted(await here.create_pool("gig", preset="checkout", quotas={"main": 100}))
        calls = [
            hf.book("gig", f"{name} {n}") for n in range(100) for name, hf in (("h", here), ("t", there))
        ]
        answers = await asyncio.gather(*calls, return_exceptions=True)
        said = [answer if isinstance(answer, BaseException) else outcome(answer) for answer in answers]
        assert (said.count("held"), said.count("not_enough_room")) == (100, 100), said[:3]
        for hf in (here, there):
            writer = hf.store._lane.connection  # type: ignore[attr-defined]
            assert await writer.fetchval("SHOW default_transaction_isolation") == "read committed"
    await assert_verified(postgres_url)


@pytest.mark.parametrize(
    ("default", "used"), [("off", "on"), ("local", "local"), ("remote_apply", "remote_apply")]
)
async def test_a_commit_is_durable_before_it_is_answered(postgres_url: str, default: str, used: str) -> None:
    """Where commits do not wait for the disk, a crash would take back what was answered with yes."""
    await with_default(postgres_url, "synchronous_commit", default)
    async with nodes(postgres_url, 1) as (hf,):
        connection = hf.store._lane.connection  # type: ignore[attr-defined]
        assert await connection.fetchval("SHOW synchronous_commit") == used
