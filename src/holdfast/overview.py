"""What staff see at once: of a pool, how its seats are taken; of all of them, what needs a decision."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from holdfast import ids, records
from holdfast.core.model import IN_PLAY
from holdfast.core.refusals import Refusal, invalid
from holdfast.door import Door
from holdfast.lookups import Lookups
from holdfast.message_commands import MessageCommands
from holdfast.reads import PAGE_MAX
from holdfast.records import Message, MessageFate, Opening
from holdfast.shapes import Booking

# A hold is about to lapse when so little time is left.
SOON: Final = 5 * 60_000
# What a program could not be told is old news after so long; it still is among the messages.
_OLD: Final = 7 * 24 * 3_600_000
_LISTED_MAX: Final = 100
_LAST: Final = 2**62
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
    """What needs staff: openings to decide on, people and programs not reached, holds about to lapse."""

    openings: tuple[HandedBack, ...]
    unreached: tuple[Unreached, ...]
    dead: tuple[Unreached, ...]
    holds: tuple[Booking, ...]

    @property
    def count(self) -> int:
        return len(self.openings) + len(self.unreached) + len(self.dead) + len(self.holds)


class UnitNow(msgspec.Struct, frozen=True):
    """A unit as it stands: free, closed, set `aside`, or in the state of the booking that has it."""

    label: str
    quota: str
    state: str
    booking: Booking | None


class Overview(Lookups, MessageCommands, Door):
    """What staff see at once."""

    async def needs(self) -> Needs:
        """What needs a decision of staff, in all pools of this org; of each kind the first hundred."""
        reader, now = self.store.reader(), self.clock.now()
        openings = await reader.rows("needs_openings", self.org, _LISTED_MAX)
        ending = await reader.rows("needs_holds", self.org, now, now + SOON, _LISTED_MAX)
        holds: list[Booking] = []
        for pool_id, number in ending:
            holds += await self.reads.bookings_of(pool_id, [number])
        unreached, dead = await self._given_up(now - _OLD)
        return Needs(
            tuple(HandedBack(ids.pool_text(row[0]), records.opening(row[1:])) for row in openings),
            tuple(unreached),
            tuple(dead),
            tuple(holds),
        )

    async def _given_up(self, old: int) -> tuple[list[Unreached], list[Unreached]]:
        """Dead letters: of people who still wait to hear, and of programs that were not told of late."""
        people, programs = list[Unreached](), list[Unreached]()
        letters = await self.dead_letters(limit=_LISTED_MAX)
        assert not isinstance(letters, Refusal)
        for letter in letters:
            fate = await self.message(letter.id)
            if isinstance(fate, Refusal):
                continue
            booking = await self.booking(letter.booking) if letter.booking else None
            known = booking if isinstance(booking, Booking) else None
            it = Unreached(letter.id.partition("-")[0], fate, known)
            missed = {told.target for told in fate.deliveries if told.state == "dead"}
            if missed & _PERSONS or (letter.to == "party" and not missed):
                if known is not None and known.state in IN_PLAY:
                    people.append(it)
            elif letter.created_at.timestamp() * 1000 >= old:
                programs.append(it)
        return people, programs

    async def changes(self) -> int:
        """How much has happened in all pools of this org: while it stays, nothing has changed."""
        return int((await self.store.reader().rows("org_changes", self.org))[0][0])

    async def seats(self, pool: str) -> Mapping[str, Mapping[str, int]] | Refusal:
        """How many seats of each quota are offered, held and confirmed."""

        async def read(pool_id: int) -> dict[str, dict[str, int]]:
            found: dict[str, dict[str, int]] = {}
            for quota, state, seats in await self.store.reader().rows("quota_states", pool_id):
                found.setdefault(quota, {})[state] = seats
            return found

        return await self._read(pool, read)

    async def newest_bookings(
        self, pool: str, *, state: str | None = None, before: int | None = None, limit: int = 100
    ) -> list[Booking] | Refusal:
        """The bookings of a pool, the newest first, from before a number on."""
        last = _LAST if before is None else before
        return await self._read(
            pool, lambda i: self.reads.newest(i, state, last, limit), after=last, limit=limit
        )

    async def newest_messages(
        self, pool: str, *, before: str | None = None, limit: int = 100
    ) -> list[Message] | Refusal:
        """What was put into the outbox, the newest first, from before one of them on."""
        last = (_LAST, 0) if before is None else records.message_place(before)
        if last is None:
            return invalid("before", "before must be the id of a message.")

        async def read(pool_id: int) -> list[Message]:
            rows = await self.store.reader().rows("read_outbox_before", pool_id, *last, min(limit, PAGE_MAX))
            return [records.message(row) for row in rows]

        return await self._read(pool, read, limit=limit)

    async def units(self, pool: str) -> list[UnitNow] | Refusal:
        """Every unit of a pool in order, and who has it."""

        async def read(pool_id: int) -> list[UnitNow]:
            view = await self.reads.view(pool_id, units=True)
            numbers = sorted({unit.booking for unit in view.units.values() if unit.booking is not None})
            known = {ids.booking_number(it.id): it for it in await self.reads.bookings_of(pool_id, numbers)}
            aside = {it.unit for it in view.openings.values() if it.state == "handed_back"}
            made = []
            for unit in sorted(view.units.values(), key=lambda unit: unit.ordinal):
                booking = known.get((pool_id, unit.booking or 0))
                state = "closed" if unit.closed else "aside" if unit.label in aside else "free"
                state = booking.state if booking is not None else state
                made.append(UnitNow(unit.label, unit.quota, state, booking))
            return made

        return await self._read(pool, read)
