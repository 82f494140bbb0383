"""What is remembered of the pools is bounded, and what is forgotten in the middle of a batch does no harm."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from fairhold import granted
from fairhold.store import loaded as loadeds
from tests.engine.staging import nodes, outcome
from tests.verified import assert_verified


async def test_pools_that_are_only_looked_at_are_not_remembered_without_end(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A refusal and a dry run change nothing, and load the pool all the same."""
    monkeypatch.setattr(loadeds, "_REMEMBERED_MAX", 10)
    async with nodes(database_url) as (here, there):
        for n in range(30):
            granted(await here.create_pool(f"gig-{n}", preset="checkout", quotas={"main": 1}))
            granted(await here.book(f"gig-{n}", "ann"))
            assert outcome(await there.book(f"gig-{n}", "bea")) == "not_enough_room"
            assert len(here.engine.memory.configs) <= 10
            assert len(there.engine.memory.configs) <= 10


async def test_what_is_forgotten_while_a_batch_is_loaded_is_not_missed_there(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A batch that is decided ahead meanwhile remembers its pools, and may throw out the others."""
    async with nodes(database_url) as (here, there):
        for pool in ("known", "changed"):
            granted(await here.create_pool(pool, preset="checkout", quotas={"main": 10}))
            here.engine._under_lock = 1
            granted(await here.book(pool, "ann"))
        granted(await there.change_pool("changed", title="A new title"))
        tx = await here.store.begin()
        await tx.rollback()
        rows = type(tx).rows

        async def meanwhile(self: Any, name: str, *values: Any) -> Any:
            found = await rows(self, name, *values)
            if name == "pool_configs":
                monkeypatch.setattr(loadeds, "_REMEMBERED_MAX", 1)
                here.engine.memory.keep(standing.loaded(0), 0)
            return found

        monkeypatch.setattr(type(tx), "rows", meanwhile)
        pool_id = here._pools[here.org, "known"]
        standing = here.engine.memory.last(pool_id)
        assert standing is not None
        here.engine._under_lock, before = 1, here.engine.batches
        both = await asyncio.gather(here.book("known", "bea"), here.book("changed", "bea"))
        assert [outcome(answer) for answer in both] == ["held", "held"]
        assert here.engine.batches == before + 1, "the batch had to be taken apart"
    await assert_verified(database_url)
