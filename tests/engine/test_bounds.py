"""What a process remembers has an end: however many pools there come to be, some are looked up again."""

from __future__ import annotations

import pytest

from fairhold import granted
from fairhold.accounts.passwords import Passwords
from fairhold.accounts.sessions import Sessions
from fairhold.http.doorkeeper import Doorkeeper
from fairhold.keys import Access, ApiKey, Keys
from tests.database import opened


async def test_names_of_pools_are_remembered_up_to_a_bound(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fairhold.door._POOLS_MAX", 3)
    async with opened(database_url) as hf:
        booked = []
        for n in range(10):
            granted(await hf.create_pool(f"class-{n}", preset="checkout", quotas={"main": 5}))
            booked.append(granted(await hf.book(f"class-{n}", "ann")).id)
            assert len(hf._pools) <= 3
            assert len(hf._owned) <= 3
        for n, booking in enumerate(booked):
            granted(await hf.confirm(booking))
            granted(await hf.book(f"class-{n}", "bea"))
            assert len(hf._owned) <= 3


async def test_who_stays_is_remembered_up_to_a_bound(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fairhold.http.doorkeeper._REMEMBERED_MAX", 3)
    async with opened(database_url) as hf:
        keys = Keys(hf.store, hf.clock, hf.secret)
        doorkeeper = Doorkeeper(keys, Sessions(hf.store, hf.clock, hf.secret, Passwords()), hf.clock)
        for n in range(10):
            made = await keys.create("ours", "read", f"reader {n}")
            assert isinstance(made, ApiKey)
            assert await doorkeeper.still_admits(Access(made.id, "ours", "read", made.name), 0.0)
            assert len(doorkeeper._staying) <= 3
