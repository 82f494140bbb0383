"""Who comes in: a key that is revoked while it is being looked up is not remembered as a good one."""

from __future__ import annotations

import asyncio

import pytest

from fairhold.accounts.passwords import Passwords
from fairhold.accounts.sessions import Sessions
from fairhold.http.doorkeeper import Doorkeeper
from fairhold.http.problems import Problem
from fairhold.keys import Access, ApiKey, Keys, with_checksum
from tests.database import opened


def made_up(number: int) -> bytes:
    """Return what a caller shows who has guessed a key, checksum and all."""
    return f"Bearer {with_checksum(f'fh_{number:043}')}".encode()


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


async def test_who_was_let_in_is_not_locked_out_by_who_guesses_beside_them(database_url: str) -> None:
    """They may share an address; but a key that was revoked is a guess like any other."""
    async with opened(database_url) as hf:
        keys = Keys(hf.store, hf.clock, hf.secret)
        made = [await keys.create("ours", "read", name) for name in ("known", "unknown")]
        known, unknown = (f"Bearer {it.secret}".encode() for it in made if isinstance(it, ApiKey))
        doorkeeper = Doorkeeper(keys, Sessions(hf.store, hf.clock, hf.secret, Passwords()), hf.clock)

        async def comes(shown: bytes, now: float) -> str:
            try:
                return (await doorkeeper.admit(shown, None, "127.0.0.1", now)).name
            except Problem as problem:
                return problem.code

        assert await comes(known, 0.0) == "known"
        guesses = [await comes(made_up(n), 10.0) for n in range(150)]
        assert (guesses[0], guesses[-1]) == ("unauthenticated", "too_many_requests")
        assert await comes(unknown, 10.0) == "too_many_requests"
        # It is no longer remembered, and looked up again.
        assert await comes(known, 10.0) == "known"
        assert isinstance(made[0], ApiKey)
        await keys.revoke("ours", made[0].id)
        assert await comes(known, 20.0) == "unauthenticated"
        guesses = [await comes(made_up(n), 20.0) for n in range(150)]
        assert await comes(known, 20.0) == guesses[-1] == "too_many_requests"
