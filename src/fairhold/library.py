"""The library: `async with Fairhold.open(url) as hf`, and methods that carry the commands' names.

A method answers with what is now true (a Booking, a PoolState), or with a Refusal: a value, because a
well-formed no is not an error. `granted(answer)` is for callers who would rather catch an exception.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from fairhold import inputs
from fairhold.alarm import start_clock
from fairhold.clock import Clock, SystemClock, TestClock
from fairhold.config import database_schema, database_url, find_secret, given_secret, make_store
from fairhold.core import commands as c
from fairhold.core.model import Instant
from fairhold.core.refusals import Refusal
from fairhold.errors import CommandFailed, NotRehearsed, Refused, SchemaUnknown, SettingsWrong
from fairhold.keeping_commands import KeepingCommands
from fairhold.orgs import named_org
from fairhold.origin_commands import OriginCommands
from fairhold.overview import Overview
from fairhold.shapes import Outcome
from fairhold.staff_commands import StaffCommands

if TYPE_CHECKING:
    from fairhold.sync import SyncFairhold

ORG: Final = "default"

T = TypeVar("T")


def granted(answer: T | Refusal) -> T:
    """The answer, if it is a yes; raises Refused if it is a refusal."""
    if isinstance(answer, Refusal):
        raise Refused(answer)
    return answer


class Fairhold(StaffCommands, KeepingCommands, Overview, OriginCommands):
    """One open database, with its lane and its ticker."""

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        url: str | Path | None = None,
        *,
        clock: Clock | None = None,
        secret: str | None = None,
        org: str = ORG,
        schema: str | None = None,
        ticker: bool = True,
        migrate: bool = True,
    ) -> AsyncIterator[Fairhold]:
        """Open a database; an empty one is set up. With a TestClock, time moves by `advance` alone.

        A TestClock starts now, or at an instant: TestClock("2030-01-01T10:00:00+02:00").
        A path is a file of SQLite. Without a url it is the one that FAIRHOLD_DATABASE_URL names, or
        sqlite:///fairhold.db. Without a ticker nothing happens by itself: whoever opens it calls `tick`.
        `schema` names the schema of PostgreSQL that the tables stand in, else FAIRHOLD_SCHEMA does.
        A database with other people's tables is set up by `fairhold migrate` alone: here it is refused.
        `migrate=False` leaves the tables alone and raises SchemaUnknown if they are not of this version.
        """
        address, given, org = database_url(url), given_secret(secret), named_org(org)
        clock = SystemClock() if clock is None else clock
        if isinstance(clock, type) or not callable(getattr(clock, "now", None)):
            raise SettingsWrong("clock must be a clock, such as SystemClock() or TestClock()")
        store = make_store(address, database_schema(schema))
        await store.open()
        try:
            await start_clock(store, clock)
            if migrate:
                await store.migrate(clock.now())
            elif missing := await store.pending():
                raise SchemaUnknown(f"migrations are missing: {', '.join(missing)} (run: fairhold migrate)")
            hf = cls(store, clock, await find_secret(store, address, given), org)
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
    def open_sync(url: str | Path | None = None, **options: Any) -> AbstractContextManager[SyncFairhold]:
        """The same for callers without an event loop, in any number of threads."""
        from fairhold.sync import open_sync  # it is made of this class

        return open_sync(url, **options)

    async def tick(self, pool: str | None = None) -> int | Refusal:
        """Do now what is due, in one pool or in all; how many pools had something due.

        It takes no idempotency key: a second tick finds nothing due.
        """
        self._must_be_at_home()
        if pool is None:
            if self._rehearses:
                raise NotRehearsed("There is no dry run of all pools at once")
            ticked: set[int] = set()
            while pools := await self.ticker.tick_due():
                ticked |= pools
            return len(ticked)
        ticked_here = False
        while True:
            # Very much is done in pieces.
            answer = await self._on_pool(pool, c.Tick(by="staff"))
            if isinstance(answer, Refusal):
                return answer
            happened = isinstance(answer, Outcome) and bool(answer.events)
            ticked_here |= happened
            if self._rehearses or not happened:
                return int(ticked_here)

    async def advance(
        self, to: datetime | Instant | str | None = None, *, seconds: float = 0
    ) -> Refusal | None:
        """Move a TestClock; all that falls due on the way happens in order, each at its own instant.

        Messages too, if there is an outbox: what a timer leaves to be told is told before the next one fires.
        """
        clock = self.clock
        self._must_be_at_home()
        if self._rehearses:
            raise NotRehearsed("There is no dry run of time")
        if not isinstance(clock, TestClock):
            return Refusal("not_possible", "Only a test clock can be moved.")
        try:
            target = clock.now() + int(inputs.length_s(seconds, "seconds") * 1000)
            whole = isinstance(to, int)
            moment = inputs.whole(to, "to", most=2**53) if whole else inputs.instant(to, "to")
            if moment is not None and moment < clock.now():
                raise inputs.Bad("to", "to must not be in the past: the clock only goes forward.")
        except inputs.Bad as bad:
            return bad.refusal
        target = max(target, moment or 0)
        stuck_at: Instant | None = None
        while True:
            if self.outbox is not None:
                # What is in hand must be handed over first: it would seem to have been left lying for long.
                await self.outbox.send_due()
            found = await self._next_instant()
            if found is None or found > target:
                break
            clock.move_to(found)
            done = len(await self.ticker.tick_due())
            if self.outbox is not None:
                done += await self.outbox.send_due()
            if not done:
                if found == stuck_at:
                    raise CommandFailed("what is due cannot be done, so time cannot go on: see the log")
                stuck_at = found
        clock.move_to(target)
        return None

    async def _next_instant(self) -> Instant | None:
        """When something is next due: a timer or, if there is an outbox, a message."""
        reader = self.store.reader()
        found = [(await reader.rows("next_due"))[0][0]]
        if self.outbox is not None:
            found.append((await reader.rows("next_message"))[0][0])
        return min((at for at in found if at is not None), default=None)
