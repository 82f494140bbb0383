"""What people say of themselves is kept, whoever else says something at the same moment."""

from __future__ import annotations

import asyncio
from typing import Any

import asyncpg
import pytest

from fairhold import Booking, Fairhold, granted
from fairhold.errors import Busy
from tests.engine.staging import nodes, outcome
from tests.verified import assert_verified


async def held(hf: Fairhold, *pools: str) -> list[Booking]:
    """A booking of Ann's in each of these pools, made for it."""
    for pool in pools:
        granted(await hf.create_pool(pool, preset="checkout", quotas={"main": 10}))
    return [granted(await hf.book(pool, "ann")) for pool in pools]


async def said(*calls: Any) -> list[Any]:
    return [granted(answer) for answer in await asyncio.gather(*calls)]


async def test_two_changes_at_once_are_both_kept(database_url: str) -> None:
    async with nodes(database_url, 1) as (hf,):
        (ann,) = await held(hf, "gig")
        await said(
            hf.change_booking(ann.id, answers={"diet": "none"}), hf.change_booking(ann.id, name="Ann of Åbo")
        )
        now = granted(await hf.booking(ann.id))
        assert (now.party.name, now.answers) == ("Ann of Åbo", {"diet": "none"})


async def test_two_changes_by_two_processes_are_both_kept(database_url: str) -> None:
    async with nodes(database_url) as (here, there):
        (ann,) = await held(here, "gig")
        for n in range(10):
            last = await said(
                here.change_booking(ann.id, name=f"Ann {n}"),
                there.change_booking(ann.id, contacts={"email": f"{n}@example.org"}),
                here.change_booking(ann.id, locale=f"fi-{n}"),
                there.change_booking(ann.id, answers={"n": n}),
            )
            now = granted(await there.booking(ann.id))
            party = now.party
            assert (party.name, party.contacts["email"]) == (f"Ann {n}", f"{n}@example.org")
            assert (party.locale, now.answers) == (f"fi-{n}", {"n": n})
            assert any((answer.party, answer.answers) == (party, now.answers) for answer in last)
    await assert_verified(database_url)


async def test_one_key_at_two_processes_changes_once(database_url: str) -> None:
    async with nodes(database_url) as (here, there):
        ann, other = await held(here, "gig", "ball")
        for n in range(10):
            asked: dict[str, Any] = {"name": f"Ann {n}", "idempotency_key": f"k{n}"}
            first, again, elsewhere = await asyncio.gather(
                here.change_booking(ann.id, **asked),
                there.change_booking(ann.id, **asked),
                there.change_booking(other.id, **asked),
            )
            # Whoever came first has the key.
            if outcome(elsewhere) == "held":
                assert {outcome(first), outcome(again)} == {"idempotency_mismatch"}
            else:
                assert granted(first) == granted(again)
                assert outcome(elsewhere) == "idempotency_mismatch"


async def test_a_pool_locked_outside_keeps_a_change_waiting_and_nobody_else(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fairhold.door._GIVE_UP_S", 3_600)
    async with nodes(postgres_url, 1) as (hf,):
        ann, _ = await held(hf, "locked", "free")
        connection = await asyncpg.connect(postgres_url)
        async with connection.transaction():
            await connection.fetch("SELECT id FROM fairhold_pools WHERE key = 'locked' FOR UPDATE")
            change = asyncio.create_task(hf.change_booking(ann.id, name="Ann"))
            await asyncio.sleep(0.1)
            granted(await hf.book("free", "bea"))
            assert not change.done()
        assert granted(await change).party.name == "Ann"
        monkeypatch.setattr("fairhold.door._GIVE_UP_S", 0.2)
        async with connection.transaction():
            await connection.fetch("SELECT id FROM fairhold_pools WHERE key = 'locked' FOR UPDATE")
            with pytest.raises(Busy):
                await hf.change_booking(ann.id, name="Another")
        await connection.close()
        assert granted(await hf.booking(ann.id)).party.name == "Ann"


async def test_a_change_does_not_bring_back_who_was_forgotten_meanwhile(database_url: str) -> None:
    async with nodes(database_url) as (here, there):
        for n in range(5):
            granted(await here.create_pool(f"gig{n}", preset="checkout", quotas={"main": 10}))
            ann = granted(
                await here.book(f"gig{n}", {"id": f"ann{n}", "name": "Ann"}, confirmed=True, by="staff")
            )
            _, erased = await asyncio.gather(
                there.change_booking(ann.id, name="Ann of Åbo"), here.erase_person(f"ann{n}")
            )
            granted(erased)
            assert granted(await there.booking(ann.id)).party.id.startswith("erased-")
    await assert_verified(database_url)
