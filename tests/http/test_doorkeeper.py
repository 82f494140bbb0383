"""Who comes in: a key that is revoked while it is being looked up is not remembered as a good one."""

from __future__ import annotations

import asyncio

import pytest

from holdfast.accounts.passwords import Passwords
from holdfast.accounts.sessions import Sessions
from holdfast.http.doorkeeper import Doorkeeper
from holdfast.http.problems import Problem
from holdfast.keys import Access, ApiKey, Keys
from tests.database import opened


class SlowKeys(Keys):
    """Between a look at the database and its answer, time passes."""

    def __init__(self, *args: object) -> None:
        super().__init__(*args)  # type: ignore[arg-type]
        self.found, self.go_on = asyncio.Event(), asyncio.Event()

    async def find(self, secret: str) -> Access | None:
        access = await super().find(secret)
        self.found.set()
        await self.go_on.wait()
        return access


async def test_a_key_revoked_while_it_is_looked_up_is_turned_away_the_next_time(database_url: str) -> None:
    async with opened(database_url) as hf:
        keys = SlowKeys(hf.store, hf.clock, hf.secret)
        made = await keys.create("ours", "read", "a reader")
        assert isinstance(made, ApiKey)
        doorkeeper = Doorkeeper(keys, Sessions(hf.store, hf.clock, hf.secret, Passwords()), hf.clock)
        shown = f"Bearer {made.secret}".encode()
        coming = asyncio.create_task(doorkeeper.admit(shown, None, "127.0.0.1", 0.0))
        await keys.found.wait()
        await keys.revoke("ours", made.id)
        doorkeeper.forget()
        keys.go_on.set()
        await coming
        with pytest.raises(Problem, match="unauthenticated"):
            await doorkeeper.admit(shown, None, "127.0.0.1", 0.1)
