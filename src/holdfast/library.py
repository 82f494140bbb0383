"""The library: `async with Holdfast.open(url) as hf`, and methods that carry the commands' names.

A method answers with what is now true (a Booking, a PoolState), or with a Refusal: a value, because a
well-formed no is not an error. `granted(answer)` is for callers who would rather catch an exception.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, asynccontextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, TypeVar

from holdfast import inputs
from holdfast.clock import Clock, SystemClock, TestClock
from holdfast.config import database_url, find_secret, make_store
from holdfast.core import commands as c
from holdfast.core.model import Instant
from holdfast.core.refusals import Refusal
from holdfast.detail_commands import DetailCommands
from holdfast.errors import CommandFailed, Refused, SchemaUnknown
from holdfast.lookups import Lookups
from holdfast.people_commands import PeopleCommands
from holdfast.shapes import Outcome
from holdfast.staff_commands import StaffCommands

if TYPE_CHECKING:
    from holdfast.sync import SyncHoldfast

ORG: Final = "default"

T = TypeVar("T")


def granted(answer: T | Refusal) -> T:
    """The answer, if it is a yes; raises Refused if it is a refusal."""
    if isinstance(answer, Refusal):
        raise Refused(answer)
    return answer


class Holdfast(StaffCommands, PeopleCommands, DetailCommands, Lookups):
    """One open database, with its lane and its ticker."""

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        url: str | None = None,
        *,
        clock: Clock | None = None,
        secret: str | None = None,
        org: str = ORG,
        ticker: bool = True,
        migrate: bool = True,
    ) -> AsyncIterator[Holdfast]:
        """Open a database, an empty one is set up. With a TestClock, time moves by `advance` alone."""
        address = database_url(url)
        store, clock = make_store(address), clock or SystemClock()
        await store.open()
        try:
            if migrate:
                await store.migrate(clock.now())
            elif missing := await store.pending():
                raise SchemaUnknown(f"migrations are missing: {', '.join(missing)} (run: holdfast migrate)")
            hf = cls(store, clock, await find_secret(store, address, secret), org)
            hf.engine.start()
            if ticker and not isinstance(clock, TestClock):
                await hf.ticker.start()
            try:
                yield hf
            finally:
                await hf.ticker.close()
                await hf.engine.close()
        finally:
            await store.close()

    @staticmethod
    def open_sync(url: str | None = None, **options: Any) -> AbstractContextManager[SyncHoldfast]:
        """The same for callers without an event loop, in any number of threads."""
        from holdfast.sync import open_sync  # it is made of this class

        return open_sync(url, **options)

    async def tick(self, pool: str | None = None) -> int:
        """Do now what is due, in one pool or in all; how many pools had something due."""
        if pool is None:
            return await self.ticker.tick_due()
        answer = await self._on_pool(pool, c.Tick(by="staff"))
        return int(isinstance(answer, Outcome) and bool(answer.events))

    async def advance(self, to: datetime | Instant | None = None, *, seconds: float = 0) -> None:
        """Move a TestClock; all that falls due on the way happens in order, each at its own instant."""
        clock = self.clock
        assert isinstance(clock, TestClock), "only a TestClock can be moved"
        target = clock.now() + int(seconds * 1000)
        if to is not None:
            moment = to if isinstance(to, int) else inputs.instant(to, "now")
            target = max(target, moment or 0)
        stuck_at: Instant | None = None
        while True:
            found = (await self.store.reader().rows("next_due"))[0][0]
            if found is None or found > target:
                break
            clock.move_to(found)
            if not await self.ticker.tick_due():
                if found == stuck_at:
                    raise CommandFailed("what is due cannot be done, so time cannot go on: see the log")
                stuck_at = found
        clock.move_to(target)
