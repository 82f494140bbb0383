"""What can be looked up in the library. Nothing here changes anything."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fairhold import finding, history, ids, inputs, numbers, records
from fairhold.core.refusals import Refusal, invalid, unknown
from fairhold.door import Door
from fairhold.history import HistoryPage
from fairhold.numbers import Numbers
from fairhold.reads import PAGE_MAX
from fairhold.records import LogEntry, Message, Opening, Stats, Totals
from fairhold.shapes import Booking, Explanation, PoolState

if TYPE_CHECKING:
    from fairhold.verify import Report

_NOT_HERE: Final = invalid("after", "after must be a booking of this pool.")


class Lookups(Door):
    """The reads."""

    async def pool(self, pool: str) -> PoolState | Refusal:
        """A pool by its key or id: its rules, and how full it is."""
        pool_id = await self._pool_id(pool)
        return unknown("pool", pool) if pool_id is None else await self.reads.pool(pool_id)

    async def pools(self, *, after: str | None = None, limit: int = 100) -> list[PoolState] | Refusal:
        """The pools of this org, in the order of their ids, from behind one of them."""
        last = -1 if after is None else ids.pool_number(after)
        try:
            if last is None:
                raise inputs.Bad("after", "after must be the id of a pool.")
            inputs.whole(limit, "limit", 1)
        except inputs.Bad as bad:
            return bad.refusal
        return await self.reads.pools(self.org, last, limit)

    async def booking(self, booking: str, *, secret: bool = False) -> Booking | Refusal:
        """A booking by its id, reference or edit token; `secret` with its tokens."""
        try:
            inputs.flag(secret, "secret")
        except inputs.Bad as bad:
            return bad.refusal
        key = await self._key(booking)
        if isinstance(key, Refusal):
            return key
        return await self.reads.booking(*key, secret=secret) or unknown("booking", booking)

    async def bookings(
        self,
        pool: str,
        *,
        state: str | None = None,
        party: str | None = None,
        after: str | int = 0,
        limit: int = 100,
    ) -> list[Booking] | Refusal:
        """The bookings of a pool, the oldest first, from behind one of them."""
        try:
            inputs.state(state)
            if party is not None:
                inputs.text(party, "party")
        except inputs.Bad as bad:
            return bad.refusal
        if isinstance(after, str):
            key, pool_id = await self.reads.booking_key(after, self.org), await self._pool_id(pool)
            if isinstance(key, Refusal) or key[0] != pool_id:
                return unknown("pool", pool) if pool_id is None else _NOT_HERE
            after = key[1]
        last: int = after
        return await self._read(
            pool, lambda i: self.reads.bookings(i, state, party, last, limit), after=last, limit=limit
        )

    async def find(self, text: str, *, pool: str | None = None, limit: int = 20) -> list[Booking] | Refusal:
        """Bookings by a reference or an id, or by what their party says: a name, an address, a number.

        All words must be there, in any order, whole or in part. Those of the pools with the latest news come
        first, and of each the newest; of very many only the latest two hundred thousand are looked through.
        """
        try:
            inputs.text(text, "text", finding.TEXT_MAX)
            inputs.whole(limit, "limit", 1)
            if not text.strip():
                raise inputs.Bad("text", "text must say something.")
        except inputs.Bad as bad:
            return bad.refusal
        reader, pools = self.reads.reader(), await self.reads.reader().rows("pools_lately", self.org)
        if pool is not None:
            only = await self._pool_id(pool)
            if only is None:
                return unknown("pool", pool)
            pools = [it for it in pools if it[0] == only]
        named, limit = await self.reads.booking_key(text.strip(), self.org), min(limit, PAGE_MAX)
        found = finding.by_reference(pools, text)
        if not isinstance(named, Refusal) and named[0] in [it[0] for it in pools]:
            found.append(named)
        found += await finding.search(reader, pools, text, limit)
        return await self.reads.bookings_at(list(dict.fromkeys(found))[:limit])

    async def line(self, pool: str, *, after: int = 0, limit: int = 100) -> list[Booking] | Refusal:
        """The line in order, from behind a position."""
        return await self._read(pool, lambda i: self.reads.line(i, after, limit), after=after, limit=limit)

    async def position(self, booking: str) -> int | Refusal | None:
        """Where a booking stands in line: 1 is next. Of one that has left it, the last one that it had."""
        key = await self.reads.booking_key(booking, self.org)
        if isinstance(key, Refusal):
            return key
        position = await self.reads.position(*key)
        missing = position is None and await self.reads.booking(*key) is None
        return unknown("booking", booking) if missing else position

    async def room(self, pool: str) -> dict[str, int | None] | Refusal:
        """What is free, by quota; None is unlimited."""
        state = await self.pool(pool)
        return state if isinstance(state, Refusal) else {quota.key: quota.room for quota in state.quotas}

    async def stats(self, pool: str) -> Stats | Refusal:
        """The figures that staff watch: holds, seats, line, offers."""
        return await self._read(pool, self.reads.stats)

    async def totals(self) -> Totals:
        """The figures of all pools together."""
        return await self.reads.totals(self.org)

    async def log(self, pool: str, *, after: int = 0, limit: int = 100) -> list[LogEntry] | Refusal:
        """What happened, in order, from behind an entry."""
        return await self._read(pool, lambda i: self.reads.log(i, after, limit), after=after, limit=limit)

    async def history(
        self,
        pool: str,
        *,
        before: int | None = None,
        limit: int = 50,
        topic: str | None = None,
        actor: str | None = None,
        unit: str | None = None,
    ) -> HistoryPage | Refusal:
        """What happened, the newest first, from before an entry: all of it, or some.

        `topic` is one of signups, offers, ends, seats, pool; `actor` is staff, party or rule; `unit` a label.
        A page may find less than its limit, or nothing, and still say where to go on.
        """
        for field, value, known in (("topic", topic, history.TOPICS), ("actor", actor, history.ACTORS)):
            if value is not None and value not in known:
                return invalid(field, f"{field} must be one of: {', '.join(known)}.")
        try:
            if unit is not None:
                inputs.text(unit, "unit", empty=False)
            if before is not None:
                inputs.whole(before, "before", most=2**63 - 1)
            inputs.whole(limit, "limit", 1, 500)
        except inputs.Bad as bad:
            return bad.refusal
        reader = self.reads.reader()
        return await self._read(
            pool,
            lambda i: history.page(
                reader, i, before=before, limit=limit, topic=topic, actor=actor, unit=unit
            ),
        )

    async def numbers(self, pool: str, *, days: int = 14) -> Numbers | Refusal:
        """What the last days add up to: fill, line, freed seats, offers, and when nobody answers."""
        try:
            inputs.whole(days, "days", 1, numbers.DAYS_MAX)
        except inputs.Bad as bad:
            return bad.refusal
        return await self._read(pool, lambda i: self.reads.numbers(i, days))

    async def verify(self, pool: str) -> Report | Refusal:
        """Check every promise on one pool, its log's chain among them."""
        from fairhold.verify import verify  # it replays the log: not everybody needs that

        return await self._read(pool, lambda i: verify(self.store, [i]))

    async def explain(self, booking: str) -> list[Explanation] | Refusal:
        """Why a booking is where it is: every decision about it, with its reason."""
        key = await self.reads.booking_key(booking, self.org)
        return (
            key if isinstance(key, Refusal) else await self.reads.explain(*key) or unknown("booking", booking)
        )

    async def openings(self, pool: str) -> list[Opening] | Refusal:
        """The openings that go on, and those handed back that need a decision of staff."""
        return await self._read(pool, self.reads.openings)

    async def messages(
        self, pool: str, *, after: str | None = None, limit: int = 100
    ) -> list[Message] | Refusal:
        """What was put into the outbox, in order, from behind one of them."""
        last = (0, -1) if after is None else records.message_place(after)
        if last is None:
            return invalid("after", "after must be the id of a message.")
        return await self._read(pool, lambda i: self.reads.messages(i, last, limit), limit=limit)
