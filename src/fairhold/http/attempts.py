"""Attempts at signing in, kept few: by account and address, by account, and by address.

Who signs in gets the attempt back, so only what fails counts. They are counted in the database, so that all
nodes share them and a restart forgives nothing; whose they are is kept as a keyed hash. At one address an
account soon has to wait for long; from all addresses together only shortly, so that nobody can lock others
out of theirs.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from typing import Final, NamedTuple

import msgspec

from fairhold import tokens
from fairhold.core.model import Instant
from fairhold.errors import FairholdError
from fairhold.http.limits import Buckets, slow_down, whose
from fairhold.store.base import Store, writing

_FORGET_EVERY: Final = 600_000
_FORGET_MAX: Final = 10_000


class _Limit(NamedTuple):
    """So many at once, and then one in so many milliseconds."""

    burst: int
    every: int


_BY_BOTH: Final = _Limit(5, 60_000)
_BY_ACCOUNT: Final = _Limit(30, 10_000)
_BY_ADDRESS: Final = _Limit(50, 2_000)
# What is begun leaves nothing behind that could be counted as failed: each node counts by itself.
_BEGUN: Final = _Limit(50, 2_000)


class Attempt:
    """One try. Unless it is said to be good, it counts."""

    good = False


class Attempts:
    """The tries of late.

    Of each name one instant is kept: when all of its tries will be forgiven. A try moves it on by `every`,
    and is refused if that would be further ahead than a whole burst.
    """

    def __init__(self, store: Store, secret: str) -> None:
        self._store = store
        self._secret = secret
        self._forget_at: Instant | None = None
        self._begun = Buckets(1000 / _BEGUN.every, _BEGUN.burst)

    def begin(self, address: str, now: Instant) -> None:
        """Somebody begins to sign in another way than by password. Raises a Problem if they did too often."""
        if wait := self._begun.take(whose(address), now / 1000):
            raise slow_down(wait)

    @asynccontextmanager
    async def attempt(self, account: Hashable, address: str, now: Instant) -> AsyncIterator[Attempt]:
        """Raises a Problem if there were too many. It is counted first: many at once are many."""
        names = self._names(account, whose(address))
        await self._take(names, now)
        tried = Attempt()
        try:
            yield tried
        except FairholdError:
            # The database could not be asked: nobody has tried anything.
            tried.good = True
            raise
        finally:
            if tried.good:
                with contextlib.suppress(FairholdError):
                    await self._give_back(names)

    def _names(self, account: Hashable, source: str) -> list[tuple[str, _Limit]]:
        """Whose try it is, in an order in which nobody waits for each other."""
        said = (
            (("both", account, source), _BY_BOTH),
            (("account", account), _BY_ACCOUNT),
            (("address", source), _BY_ADDRESS),
        )
        return sorted(
            (tokens.attempt_name(self._secret, msgspec.json.encode(what).decode()), limit)
            for what, limit in said
        )

    async def _take(self, names: list[tuple[str, _Limit]], now: Instant) -> None:
        await self._forget(now)
        async with writing(self._store) as tx:
            for name, (burst, every) in names:
                if not await tx.rows("take_attempt", name, now, every, burst * every):
                    break
            else:
                await tx.commit()
                return
        waits = [await self._wait(name, limit, now) for name, limit in names]
        raise slow_down(max(waits) / 1000)

    async def _wait(self, name: str, limit: _Limit, now: Instant) -> int:
        """In how many milliseconds there will be one more; 0 if there is one."""
        found = await self._store.reader().rows("read_attempt", name)
        return max(0, found[0][0] + limit.every - now - limit.burst * limit.every) if found else 0

    async def _give_back(self, names: list[tuple[str, _Limit]]) -> None:
        async with writing(self._store) as tx:
            for name, limit in names:
                await tx.run("give_back_attempt", name, limit.every)
            await tx.commit()

    async def _forget(self, now: Instant) -> None:
        """Now and then forget what is forgiven, apart from counting: nobody waits for it."""
        if self._forget_at is not None and self._forget_at > now:
            return
        self._forget_at = now + _FORGET_EVERY
        async with writing(self._store) as tx:
            await tx.run("forget_attempts", now, _FORGET_MAX)
            await tx.commit()
