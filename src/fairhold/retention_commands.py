"""For how long an org keeps what is over: its policy, and pruning by it."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Final

import msgspec

from fairhold import command_words, inputs, upkeep
from fairhold.clock import to_datetime
from fairhold.core.model import Instant
from fairhold.core.refusals import Refusal
from fairhold.door import Door
from fairhold.keeping import persons, pruning
from fairhold.keeping.pruning import Before, Pruned

# Idempotency keys are promised for a day, and what is younger is not over for long.
DAY: Final = 24 * 3600
DAYS_MAX: Final = 36_500


class Retention(msgspec.Struct, frozen=True):
    """For how many days an org keeps people's names, contacts and answers, and what messages said.

    They are counted from when a booking was over, and a message was made. Null is for ever. `pruned_at` says
    when a running service last saw to it.
    """

    people_days: int | None = None
    messages_days: int | None = None
    by: str = ""
    updated_at: datetime | None = None
    pruned_at: datetime | None = None


class RetentionCommands(Door):
    """The policy, and pruning."""

    async def retention(self) -> Retention:
        """For how long this org keeps what is over."""
        found = await self.store.reader().rows("read_retention", self.org)
        if not found:
            return Retention()
        people, messages, by, updated_at, pruned_at = found[0]
        pruned = None if pruned_at is None else to_datetime(pruned_at)
        return Retention(people, messages, by, to_datetime(updated_at), pruned)

    async def set_retention(
        self, *, people_days: int | None, messages_days: int | None, by: str = "staff"
    ) -> Retention | Refusal:
        """Say for how long; None is for ever. A running service begins to see to it at once."""
        try:
            for days, field in ((people_days, "people_days"), (messages_days, "messages_days")):
                if days is not None:
                    inputs.whole(days, field, 1, DAYS_MAX)
            command_words.who(by)
        except inputs.Bad as bad:
            return bad.refusal
        tx = await self.store.begin(beside=True)
        try:
            await tx.run("put_retention", self.org, people_days, messages_days, by, self.clock.now())
            await tx.commit()
        finally:
            await tx.rollback()
        return await self.retention()

    async def prune(self, older_than_s: int | None = None, *, dry_run: bool = False) -> Pruned | Refusal:
        """Take people's names, contacts and answers from what has been over for so long; forget old keys.

        Without an age, as the policy of this org says. A booking is over when it has ended, or when what it
        is for has begun. Rows and the log stay.
        """
        self._must_be_at_home()
        try:
            age = None
            if older_than_s is not None:
                age = inputs.whole(older_than_s, "older_than_s", DAY, 10**10) * 1000
            dry_run = inputs.flag(dry_run, "dry_run") or self._rehearses
        except inputs.Bad as bad:
            return bad.refusal
        now = self.clock.now()
        before = await self._by_policy(now) if age is None else Before(now - age, now - age)
        bookings = messages = keys = 0
        for pool_id in await persons.pools_of(self.store, self.org) if any(before) else ():
            after: int | None = 0
            while after is not None:
                prune = partial(pruning.prune_page, pool_id=pool_id, before=before, after=after)
                page = await upkeep.keep(self.engine.store, pool_id, prune, dry_run=dry_run)
                bookings, messages, after = bookings + page.bookings, messages + page.messages, page.after
        if age is not None:
            keys = await pruning.prune_keys(self.store, now - age)
            if not dry_run:
                await upkeep.forget_requests(self.engine.store, now - age)
        if not dry_run and (bookings or messages or keys):
            await self.store.wipe()
        return Pruned(bookings, messages, keys, dry_run)

    async def _by_policy(self, now: Instant) -> Before:
        kept = await self.retention()
        people, messages = (
            None if days is None else now - days * DAY * 1000
            for days in (kept.people_days, kept.messages_days)
        )
        return Before(people, messages)
