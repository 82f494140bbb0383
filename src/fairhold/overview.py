"""What staff see at once: of a pool, how its seats are taken; of all of them, what needs a decision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import msgspec

from fairhold import ids, inputs, records
from fairhold.clock import to_datetime
from fairhold.core.model import HELD, IN_PLAY, OFFERED, PAGE, WAITING, Instant, Unit
from fairhold.core.refusals import Refusal, invalid
from fairhold.core.room import is_open
from fairhold.door import Door
from fairhold.lookups import Lookups
from fairhold.message_commands import MessageCommands
from fairhold.reads import PAGE_MAX
from fairhold.records import Message, MessageFate, Opening
from fairhold.shapes import Booking, PoolName, PoolState
from fairhold.store import rows
from fairhold.store.base import Row

# A hold is about to lapse when so little time is left.
SOON: Final = 5 * 60_000
# What a program could not be told is old news after so long; it still is among the messages.
_OLD: Final = 7 * 24 * 3_600_000
LISTED_MAX: Final = 100
_CLOSED_MAX: Final = 500
_LAST: Final = 2**62
_WITH_DEADLINE: Final = (WAITING, OFFERED, HELD)
# The targets that are the very person a message is for.
_PERSONS: Final = frozenset({"email", "sms"})


class HandedBack(msgspec.Struct, frozen=True):
    """An opening that nobody took, in its pool."""

    pool: str
    opening: Opening


class Unreached(msgspec.Struct, frozen=True):
    """A message that was given up, and the booking it is about, if it is about one."""

    pool: str
    message: MessageFate
    booking: Booking | None


class Needs(msgspec.Struct, frozen=True):
    """What needs staff: openings to decide on, people and programs not reached, holds about to lapse.

    `to_tell` have an offer of which staff tell them, and no channel has. `passed_over` wait in line, and no
    offer can reach them: their `reach` says why. `unreached` are letters that did not come to people who must
    know what they say; one of a place that is held for them, or was, may still be tried.
    """

    openings: tuple[HandedBack, ...]
    to_tell: tuple[Booking, ...]
    passed_over: tuple[Booking, ...]
    unreached: tuple[Unreached, ...]
    dead: tuple[Unreached, ...]
    holds: tuple[Booking, ...]

    @property
    def count(self) -> int:
        listed = (self.openings, self.to_tell, self.passed_over, self.unreached, self.dead, self.holds)
        return sum(map(len, listed))


class UnitNow(msgspec.Struct, frozen=True):
    """A unit as it stands: free, past, closed, set `aside`, or in the state of the booking that has it."""

    label: str
    quota: str
    state: str
    booking: Booking | None
    starts_at: datetime | None = None
    attributes: Mapping[str, Any] = {}


class Overview(Lookups, MessageCommands, Door):
    """What staff see at once."""

    async def needs(self) -> Needs:
        """What needs a decision of staff, in all pools of this org; of each kind the first hundred."""
        now = self.clock.now()
        async with self.at_one_moment() as one:
            openings = await one.reads.reader().rows("needs_openings", self.org, LISTED_MAX)
            ending = await one.reads.reader().rows("needs_holds", self.org, now, now + SOON, LISTED_MAX)
            unreached, dead = await one._given_up(now - _OLD)
            holds = await one.reads.bookings_at([(pool_id, number) for pool_id, number in ending])
            to_tell = await one.reads.bookings_at(await one._to_tell(now))
            passed_over = await one.reads.bookings_at(await one._passed_over())
        listed = (HandedBack(ids.pool_text(row[0]), records.opening(row[1:])) for row in openings)
        people = (tuple(to_tell), tuple(passed_over), tuple(unreached))
        return Needs(tuple(listed), *people, dead=tuple(dead), holds=tuple(holds))

    async def _to_tell(self, now: Instant) -> list[tuple[int, int]]:
        """Return the keys of those who have an offer of which staff tell them, the next to end first."""
        found = await self.reads.reader().rows("needs_telling", self.org, now, LISTED_MAX)
        return [(pool_id, number) for pool_id, number in found]

    async def _passed_over(self) -> list[tuple[int, int]]:
        """Return the keys of those in line whom no offer can reach."""
        found = await self.reads.reader().rows("needs_reach", self.org, LISTED_MAX)
        return [(pool_id, number) for pool_id, number in found]

    async def needs_count(self) -> int:
        """How much `needs` would list, at no more cost than that: every page of the console says it."""
        now = self.clock.now()
        async with self.at_one_moment() as one:
            reader = one.reads.reader()
            openings = await reader.rows("needs_openings", self.org, LISTED_MAX)
            ending = await reader.rows("needs_holds_count", self.org, now, now + SOON, LISTED_MAX)
            unreached, dead = await one._given_up(now - _OLD)
            people = [*await one._to_tell(now), *await one._passed_over()]
        return len(openings) + int(ending[0][0]) + len(unreached) + len(dead) + len(people)

    async def _given_up(self, old: int) -> tuple[list[Unreached], list[Unreached]]:
        """Return the letters that did not come: to people who still wait to hear, and of late to programs.

        Those to people that tell of a place go first: it is held for them for a short time, or was.
        """
        people, programs = list[Unreached](), list[Unreached]()
        dead = await self.dead_letters(limit=LISTED_MAX)
        assert not isinstance(dead, Refusal)
        reader = self.reads.reader()
        of_places = list(map(records.message, await reader.rows("needs_places", self.org, LISTED_MAX)))
        unsent = map(records.message, await reader.rows("needs_letters", self.org, LISTED_MAX))
        places = {letter.id for letter in of_places}
        letters = [*of_places, *(it for it in (*dead, *unsent) if it.id not in places)][:LISTED_MAX]
        known = await self.bookings_by_id([letter.booking for letter in letters if letter.booking])
        for fate in await self.fates([letter.id for letter in letters]):
            booking = known.get(fate.booking or "")
            it = Unreached(fate.id.partition("-")[0], fate, booking)
            missed = {told.target for told in fate.deliveries if told.state == "dead"}
            if fate.state == "pending":
                people += [] if _has_come(fate) else [it]
            elif missed & _PERSONS or (fate.to == "party" and not missed):
                theirs_to_tell = fate.state == "not_sent" and booking is not None and booking.door != PAGE
                waits = booking is not None and (booking.state in IN_PLAY or fate.id in places)
                if waits and not theirs_to_tell:
                    people.append(it)
            elif fate.created_at.timestamp() * 1000 >= old:
                programs.append(it)
        return people, programs

    async def fates(self, messages: Sequence[str]) -> list[MessageFate]:
        """Some messages of this org by their ids, in order, each with how it fared at its targets."""
        from fairhold.messages.notice import key_of

        told = dict[tuple[Any, ...], list[Row]]()
        async with self.at_one_moment() as one:
            keys = [key for name in messages if (key := key_of(name)) and await one._is_ours(key.pool_id)]
            reader = one.reads.reader()
            found = {tuple(row[:3]): row for row in await reader.each("messages_by_key", keys)}
            for row in await reader.each("deliveries_by_key", keys):
                told.setdefault(tuple(row[:3]), []).append(row[3:])
            away = {tuple(row[:3]): [row[3:]] for row in await reader.each("dismissals_by_key", keys)}
        return [
            records.message_fate(found[key], told.get(key, ()), away.get(key, ()))
            for key in keys
            if key in found
        ]

    async def bookings_by_id(self, names: Sequence[str]) -> dict[str, Booking]:
        """Some bookings of this org, by their ids."""
        keys = [key for name in dict.fromkeys(names) if (key := ids.booking_number(name))]
        keys = [key for key in keys if await self._is_ours(key[0])]
        return {booking.id: booking for booking in await self.reads.bookings_at(keys)}

    async def latest_pools(self, *, skip: int = 0, limit: int = 100) -> list[PoolState] | Refusal:
        """The pools of this org, those with the latest news first, from behind so many of them."""
        try:
            inputs.whole(skip, "skip")
            inputs.whole(limit, "limit", 1)
        except inputs.Bad as bad:
            return bad.refusal
        return await self.reads.latest_pools(self.org, skip, limit)

    async def pool_names(self, *, limit: int = 200) -> list[PoolName] | Refusal:
        """The names of the pools of this org, those with the latest news first, and no more of them."""
        try:
            inputs.whole(limit, "limit", 1)
        except inputs.Bad as bad:
            return bad.refusal
        return await self.reads.pool_names(self.org, limit)

    async def changes(self) -> int:
        """How much has happened in all pools of this org: while it stays, nothing has changed."""
        return int((await self.reads.reader().rows("org_changes", self.org))[0][0])

    async def seats(self, pool: str) -> Mapping[str, Mapping[str, int]] | Refusal:
        """How many seats of each quota are offered, held and confirmed."""

        async def read(pool_id: int) -> dict[str, dict[str, int]]:
            async with self.reads.at_one_moment() as one:
                view = await one.view(pool_id)
                by_state = await one.reader().rows("quota_states", pool_id)
            found = {key: {"confirmed": tally.used} for key, tally in view.tallies.items()}
            for quota, state, seats in by_state:
                # What takes room and has no deadline is confirmed: of that there may be very much.
                of = found.setdefault(quota, {"confirmed": 0})
                of[state], of["confirmed"] = seats, max(0, of["confirmed"] - seats)
            return {key: {state: n for state, n in of.items() if n} for key, of in found.items()}

        return await self._read(pool, read)

    async def next_to_end(self, pool: str, state: str, *, limit: int = 50) -> list[Booking] | Refusal:
        """The bookings of a pool in a state that has a deadline, those that end first."""
        if state not in _WITH_DEADLINE:
            return invalid("state", f"state must be one of {', '.join(_WITH_DEADLINE)}.")
        return await self._read(pool, lambda i: self.reads.next_to_end(i, state, limit), limit=limit)

    async def newest_bookings(
        self, pool: str, *, state: str | None = None, before: int | None = None, limit: int = 100
    ) -> list[Booking] | Refusal:
        """The bookings of a pool, the newest first, from before a number on."""
        last = _LAST if before is None else before
        try:
            inputs.state(state)
            inputs.whole(last, "before", most=2**63 - 1)
        except inputs.Bad as bad:
            return bad.refusal
        return await self._read(pool, lambda i: self.reads.newest(i, state, last, limit), limit=limit)

    async def newest_messages(
        self, pool: str, *, before: str | None = None, limit: int = 100
    ) -> list[Message] | Refusal:
        """What was put into the outbox, the newest first, from before one of them on."""
        last = (_LAST, 0) if before is None else records.message_place(before)
        if last is None:
            return invalid("before", "before must be the id of a message.")

        async def read(pool_id: int) -> list[Message]:
            found = await self.reads.reader().rows("read_outbox_before", pool_id, *last, min(limit, PAGE_MAX))
            return [records.message(row) for row in found]

        return await self._read(pool, read, limit=limit)

    async def units(self, pool: str, *, closed: bool = False) -> list[UnitNow] | Refusal:
        """Every unit of a pool and who has it, by their start, else in order; and those closed, if asked."""

        async def read(pool_id: int) -> list[UnitNow]:
            now = self.clock.now()
            async with self.reads.at_one_moment() as one:
                view = await one.view(pool_id, units=True)
                numbers = sorted({unit.booking for unit in view.units.values() if unit.booking is not None})
                known = {ids.booking_number(it.id): it for it in await one.bookings_of(pool_id, numbers)}
                gone = await one.reader().rows("closed_units", pool_id, _CLOSED_MAX) if closed else ()
            aside = {it.unit for it in view.openings.values() if it.state == "handed_back"}
            listed = [*view.units.values(), *map(rows.unit_of, gone)]
            return [
                _unit_now(unit, known.get((pool_id, unit.booking or 0)), unit.label in aside, now)
                for unit in sorted(listed, key=lambda it: (it.starts_at or 0, it.ordinal))
            ]

        return await self._read(pool, read)


def _has_come(fate: MessageFate) -> bool:
    """Return True if somebody has taken a letter that is still tried: its very person, if it goes to one."""
    ways = {told.target: told.state for told in fate.deliveries}
    personal = {target: state for target, state in ways.items() if target in _PERSONS}
    return "sent" in (personal or ways).values()


def _unit_now(unit: Unit, booking: Booking | None, aside: bool, now: Instant) -> UnitNow:
    state = "closed" if unit.closed else "aside" if aside else "free" if is_open(unit, now) else "past"
    state = booking.state if booking is not None else state
    starts_at = None if unit.starts_at is None else to_datetime(unit.starts_at)
    return UnitNow(unit.label, unit.quota, state, booking, starts_at, unit.attributes)
