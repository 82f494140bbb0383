"""Load what decisions need, and no more: hundreds of rows at most, however long the line is.

`load` brings the pools and what the commands name. Whatever else a decision turns out to need it asks for by
raising `Need`, and `load_more` brings it.

All is read from one connection. Under the lock of the pools it is the truth. Without the lock a pool is taken
as this process last left it, and the batch is appended only if the pool's log still ends so. While another
batch is being written, its pools are taken as it leaves them; what cannot be told from that waits until it is
written.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Protocol

from fairhold.clock import Clock
from fairhold.core import commands as c
from fairhold.core.model import (
    HELD,
    OFFERED,
    TAKES_ROOM,
    WAITING,
    Booking,
    Group,
    Instant,
    Pool,
    Tally,
    Unit,
)
from fairhold.core.view import HIGHEST, Need
from fairhold.store import rows
from fairhold.store.base import Reader, Row
from fairhold.store.endings import KINDS, ending_of
from fairhold.store.loaded import Counters, Loaded, Memory, begin_loaded

DUE_MAX: Final = 200
_UNITS_MAX: Final = 1_000
_ALL_UNITS: Final = 2**31 - 1
_GROUPS_MAX: Final = 1_000_000
_HEADS_MAX: Final = 10_000
_HEADS: Final = 64
_MORE: Final = 256
_PREFIX_MAX: Final = 4_096
_BEHIND: Final = 65
_LOWEST: Final = -(2**63)


class InFlight(Protocol):
    """The batch that is being written, and its pools as it leaves them."""

    pools: Mapping[int, Loaded]

    async def wait(self) -> None:
        """Return once it is written. Raise Overtaken if it never will be."""
        ...


class Loader:
    """Loads for one batch, and counts the rows it has brought."""

    def __init__(
        self, reader: Reader, memory: Memory, clock: Clock, in_flight: InFlight | None = None
    ) -> None:
        self._reader = reader
        self._memory = memory
        self._clock = clock
        self._in_flight = in_flight
        self.now: Instant = clock.now()
        self.count = 0

    async def lock(self, commands: Mapping[int, list[c.Command]]) -> dict[int, Loaded]:
        """Lock these pools and load what their commands name. A pool that is missing was locked outside."""
        rows_ = await self._rows("lock_pools", sorted(commands))
        # Taken under the lock, for time has passed while we waited for it.
        self.now = self._clock.now()
        found = await self._begin_all(rows_)
        unknown = {pool_id: loaded for pool_id, loaded in found.items() if not self._recall(loaded)}
        return await self._load_rest(found, unknown, commands)

    async def load(self, commands: Mapping[int, list[c.Command]]) -> dict[int, Loaded]:
        """Load these pools without a lock, and what their commands name. One that is missing is unknown."""
        known = {pool_id: self._memory.last(pool_id) for pool_id in sorted(commands)}
        found = {pool_id: it.loaded(self.now) for pool_id, it in known.items() if it is not None}
        unknown: dict[int, Loaded] = {}
        if missing := [pool_id for pool_id in known if pool_id not in found]:
            await self._wait_for(missing)
            unknown = await self._begin_all(await self._rows("look_at_pools", missing))
        return await self._load_rest(found | unknown, unknown, commands)

    async def _load_rest(
        self, found: dict[int, Loaded], unknown: dict[int, Loaded], commands: Mapping[int, list[c.Command]]
    ) -> dict[int, Loaded]:
        if unknown:
            await self._load_standings(unknown)
        for pool_id, loaded in found.items():
            if loaded.due_at is not None and loaded.due_at <= loaded.now:
                await self._wait_for([pool_id])
                await self._load_due(loaded)
        on_top = await self._load_on_top(found, commands)
        named = {pool_id: commands[pool_id] for pool_id in found if pool_id not in on_top}
        await self._load_named(found, named)
        return found

    async def _wait_for(self, pool_ids: Iterable[int]) -> None:
        """Wait until the batch in flight is written, if it has one of these pools."""
        if self._in_flight is not None and any(it in self._in_flight.pools for it in pool_ids):
            in_flight, self._in_flight = self._in_flight, None
            await in_flight.wait()

    async def _begin_all(self, rows_: Iterable[Row]) -> dict[int, Loaded]:
        listed = {row[0]: row for row in rows_}
        pools = await self._load_configs({row[0]: row[1] for row in listed.values()})
        return {pool_id: self._begin(pools[pool_id], row) for pool_id, row in listed.items()}

    def _begin(self, pool: Pool, row: Row) -> Loaded:
        _, _, _, *counters, due_at, seq, head, changed_at = row
        # What one batch decides comes after what the last one decided, whatever the clocks say.
        now = max(self.now, changed_at)
        return begin_loaded(pool, Counters(*counters), due_at, seq, bytes(head), now)

    async def _load_configs(self, versions: dict[int, int]) -> dict[int, Pool]:
        """The pools as they are configured. The memory may forget them at any moment, this batch may not."""
        known = {pool_id: self._memory.config(pool_id, version) for pool_id, version in versions.items()}
        found = {pool_id: pool for pool_id, pool in known.items() if pool is not None}
        if stale := [pool_id for pool_id in versions if pool_id not in found]:
            for pool_id, version, config in await self._rows("pool_configs", stale):
                found[pool_id] = rows.pool_of(config)
                self._memory.keep_config(version, found[pool_id])
        return found

    def _recall(self, loaded: Loaded) -> bool:
        """Take over what is remembered of a pool, if nothing has happened since. True if that was so."""
        known = self._memory.standing(loaded.pool_id, loaded.log_hash)
        if known is not None:
            loaded.recall(known)
            loaded.expect_line()
        return known is not None

    async def _load_standings(self, found: dict[int, Loaded]) -> None:
        """Load what every decision on a pool looks at: its tallies, units and openings."""
        for pool_id, key, *tally in await self._rows("tallies", list(found)):
            found[pool_id].view.tallies[key] = found[pool_id].tallies[key] = Tally(*tally)
        for loaded in found.values():
            await self._load_standing(loaded)
            loaded.expect_line()

    async def _load_standing(self, loaded: Loaded) -> None:
        if loaded.view.units_made:
            units = [rows.unit_of(row) for row in await self._rows("units", loaded.pool_id, _UNITS_MAX)]
            self._add_units(loaded, sorted(units, key=lambda unit: unit.ordinal))
            loaded.view.units_whole = len(units) < _UNITS_MAX
        if loaded.view.openings_made:
            await self._load_openings(loaded)

    async def _load_openings(self, loaded: Loaded) -> None:
        live = [rows.opening_of(row) for row in await self._rows("openings_live", loaded.pool_id)]
        loaded.openings.update((opening.number, opening) for opening in live)
        loaded.view.load_openings(live)
        if loaded.openings:
            for number, booking in await self._rows("tries_of", loaded.pool_id, list(loaded.openings)):
                loaded.view.tried[number, booking] = True
            labels = [opening.unit for opening in loaded.openings.values() if opening.unit is not None]
            if missing := [label for label in labels if label not in loaded.view.units]:
                await self._load_units(loaded, missing)

    async def _load_due(self, loaded: Loaded) -> None:
        now = loaded.now
        due = await self._rows("bookings_due", loaded.pool_id, now, DUE_MAX + 1)
        loaded.more_due = len(due) > DUE_MAX
        await self.add(loaded, due[:DUE_MAX])
        if loaded.more_due:
            loaded.view.later_due_at = rows.booking_of(due[DUE_MAX]).expires_at
        else:
            loaded.view.later_due_at = (await self._rows("due_after", loaded.pool_id, now))[0][0]

    async def _load_on_top(
        self, found: dict[int, Loaded], commands: Mapping[int, list[c.Command]]
    ) -> frozenset[int]:
        """Load what commands name in the pools that are in flight, as that batch leaves it.

        Return these pools: all of them, or none if it cannot be told for one, and the batch is written now.
        """
        if self._in_flight is None:
            return frozenset()
        held = self._in_flight.pools
        pools = frozenset(pool_id for pool_id in found if pool_id in held)
        listed = [(pool_id, command) for pool_id in pools for command in commands[pool_id]]
        told = all(_may_be_told(command) for _, command in listed)
        if pools and not (told and await self._take_over(found, held, listed)):
            await self._wait_for(pools)
            return frozenset()
        return pools

    async def _take_over(
        self,
        found: dict[int, Loaded],
        held: Mapping[int, Loaded],
        listed: Sequence[tuple[int, c.Command]],
    ) -> bool:
        """Add the bookings that commands name, from the batch in flight before those that were committed.

        False if one of them stands in line, for its position is not known, or has units that are not.
        """
        numbers: dict[tuple[int, int], None] = {}
        parties: dict[tuple[int, str], None] = {}
        bookings: list[tuple[int, Booking]] = []
        for pool_id, command in listed:
            if isinstance(command, c.Book):
                parties[pool_id, command.party.id] = None
                known = held[pool_id].view
                bookings += [(pool_id, b) for b in known.of_party(command.party.id)]
            elif (booking := held[pool_id].view.bookings.get(command.booking)) is not None:  # type: ignore[union-attr]
                bookings.append((pool_id, booking))
            else:
                numbers[pool_id, command.booking] = None  # type: ignore[union-attr]
        for name, keys in (("bookings_by_number", numbers), ("bookings_of_parties", parties)):
            for row in await self._each(name, keys) if keys else ():
                if row[1] not in held[row[0]].view.bookings:
                    bookings.append((row[0], rows.booking_of(row)))
        return all(_added(found[pool_id], booking) for pool_id, booking in bookings)

    async def _load_named(self, found: dict[int, Loaded], commands: Mapping[int, list[c.Command]]) -> None:
        """Load what the commands speak of: bookings by number, by party, the offers they answer, units."""
        numbers: dict[tuple[int, int], None] = {}
        parties: dict[tuple[int, str], None] = {}
        answered: list[tuple[int, int, int | None]] = []
        for pool_id, listed in commands.items():
            loaded = found[pool_id]
            for command in listed:
                if isinstance(command, c.Book):
                    parties[pool_id, command.party.id] = None
                elif isinstance(command, _OF_A_BOOKING):
                    numbers[pool_id, command.booking] = None
                if isinstance(command, c.Move) and command.after is not None:
                    numbers[pool_id, command.after] = None
                if isinstance(command, _OF_AN_OFFER):
                    answered.append((pool_id, command.booking, command.seq))
                if labels := _labels_in(command):
                    await self._load_units(loaded, labels)
        if numbers:
            await self._add_all(found, await self._each("bookings_by_number", numbers))
        if parties:
            await self._add_all(found, await self._each("bookings_of_parties", parties))
        if answered:
            await self._load_answered(found, answered)

    async def _load_answered(self, found: dict[int, Loaded], keys: list[tuple[int, int, int | None]]) -> None:
        offers: dict[tuple[int, int, int], None] = {}
        for pool_id, number, seq in keys:
            # A decline that names no offer means the booking's last one.
            booking = found[pool_id].bookings.get(number)
            if booking is not None:
                offers[pool_id, number, seq or booking.offer_seq] = None
        if offers:
            await self._load_offers(found, offers)
        for pool_id, number, seq in offers:
            # Of an offer that is over it may be asked who has its units now.
            loaded = found[pool_id]
            offer = loaded.offers.get((number, seq))
            labels = offer.units if offer is not None else ()
            if missing := [label for label in labels if label not in loaded.view.units]:
                await self._load_units(loaded, missing)

    async def _load_units(self, loaded: Loaded, labels: list[str]) -> None:
        found = await self._rows("units_by_label", loaded.pool_id, labels)
        self._add_units(loaded, map(rows.unit_of, found))

    def _add_units(self, loaded: Loaded, units: Iterable[Unit]) -> None:
        for unit in units:
            loaded.view.units.setdefault(unit.label, unit)
            loaded.units.setdefault(unit.label, unit)

    async def _add_all(self, found: dict[int, Loaded], raw: Iterable[Row]) -> None:
        by_pool: dict[int, list[Row]] = {}
        for row in raw:
            by_pool.setdefault(row[0], []).append(row)
        for pool_id, listed in by_pool.items():
            await self.add(found[pool_id], listed)

    async def add(self, loaded: Loaded, raw: Iterable[Row], *, places: bool = True) -> list[Booking]:
        """Add rows of bookings, with their live offers and the positions of the waiting."""
        view = loaded.view
        fresh = [rows.booking_of(row) for row in raw if row[1] not in loaded.bookings]
        fresh = [booking for booking in fresh if booking.number not in view.bookings]
        loaded.bookings.update((booking.number, booking) for booking in fresh)
        view.load_bookings(fresh)
        live = [(loaded.pool_id, b.number, b.offer_seq) for b in fresh if b.state == OFFERED]
        if live:
            await self._load_offers({loaded.pool_id: loaded}, dict.fromkeys(live))
        if missing := [label for b in fresh for label in b.units if label not in view.units]:
            await self._load_units(loaded, missing)
        unknown = [b.place for b in fresh if b.state == WAITING and b.place not in view.base]
        if unknown and places:
            await self._load_positions(loaded, unknown)
        return fresh

    async def _load_positions(self, loaded: Loaded, places: list[int]) -> None:
        keys = [(loaded.pool_id, place) for place in places]
        for _, place, before in await self._each("waiting_before", keys):
            loaded.view.base[place] = before

    async def _load_offers(self, found: dict[int, Loaded], keys: dict[tuple[int, int, int], None]) -> None:
        for row in await self._each("offers_by_key", keys):
            offer, loaded = rows.offer_of(row), found[row[0]]
            loaded.offers.setdefault((offer.booking, offer.seq), offer)
            loaded.view.offers.setdefault((offer.booking, offer.seq), offer)

    async def load_more(self, loaded: Loaded, need: Need) -> None:
        """Bring what a decision asked for."""
        await self._wait_for([loaded.pool_id])
        view, pool_id = loaded.view, loaded.pool_id
        if need.what == "heads":
            await self._load_heads(loaded)
        elif need.what == "more":
            await self._load_members(loaded, need.detail, _MORE)
            await self._load_prefix(loaded, 2 * len(view.prefix))
        elif need.what == "units":
            self._add_units(loaded, map(rows.unit_of, await self._rows("units", pool_id, _ALL_UNITS)))
            view.units_whole = True
        elif need.what == "position":
            await self._load_positions(loaded, [need.detail])
        elif need.what == "booking":
            await self.add(loaded, await self._each("bookings_by_number", [(pool_id, need.detail)]))
        elif need.what == "party":
            await self.add(loaded, await self._each("bookings_of_parties", [(pool_id, need.detail)]))
            view.asked.add((need.what, need.detail))
        elif need.what == "ending":
            await self._load_ending(loaded, loaded.bookings[need.detail])
        elif need.what == "followers":
            await self._load_followers(loaded, *need.detail)
        elif need.what == "takers":
            quotas, excess = need.detail
            # Those known already may be past their time, and then they take no room any more.
            # Of each quota by itself: the latest of one may have come after all those of another.
            most = excess + sum(booking.state in TAKES_ROOM for booking in loaded.bookings.values())
            found = [row for key in quotas for row in await self._rows("takers", pool_id, [key], most)]
            await self.add(loaded, found)
            parties = dict.fromkeys((pool_id, row[3]) for row in found)
            await self._add_all({pool_id: loaded}, await self._each("bookings_of_parties", parties))
            view.asked.add((need.what, need.detail))
        elif need.what == "in_play":
            await self._load_in_play(loaded, need.detail)
            view.asked.add((need.what, need.detail))
        else:
            raise AssertionError(f"nobody knows how to load {need.what}")

    async def _load_followers(self, loaded: Loaded, place: int, least: int) -> None:
        reached = loaded.view.reached
        # From where the last look ended, and as many again: some of those loaded may have left meanwhile.
        limit = max(_BEHIND, least)
        after = reached.get(place, place)
        # Who has an offer keeps its place: whoever came upon it there would be in line twice at one place.
        waiting = await self._rows("bookings_behind", loaded.pool_id, after, limit)
        offered = await self._rows("offered_behind", loaded.pool_id, after, limit)
        await self.add(loaded, [*waiting, *offered], places=False)
        ends = [found[-1][8] for found in (waiting, offered) if len(found) == limit]
        reached[place] = min(ends, default=HIGHEST)

    async def _load_in_play(self, loaded: Loaded, states: tuple[str, ...]) -> None:
        """Some of those in these states: who has seats or offers, then the line, from its back."""
        view, pool_id, found = loaded.view, loaded.pool_id, list[Row]()
        if HELD in states:
            for key in view.tallies:
                found += await self._rows("bookings_taking", pool_id, key, DUE_MAX - len(found))
        elif view.offers_live:
            found += await self._rows("bookings_offered", pool_id, DUE_MAX)
        if len(found) < DUE_MAX:
            found += await self._rows("line_end", pool_id, DUE_MAX - len(found))
        await self.add(loaded, found)

    async def _load_ending(self, loaded: Loaded, booking: Booking) -> None:
        numbers = [booking.number, booking.split_from or booking.number]
        found = await self._rows("log_of_bookings", loaded.pool_id, numbers, KINDS)
        ending = ending_of(booking.number, [rows.event_of(*row) for row in found])
        loaded.view.endings[booking.number] = ending
        await self._load_units(loaded, list(ending.units))

    async def _load_heads(self, loaded: Loaded) -> None:
        view = loaded.view
        # As many as there is room for, and some to be passed over: then one look is mostly enough.
        heads = min(view.appetite, DUE_MAX) + _HEADS
        await self._load_prefix(loaded, max(_MORE, heads))
        view.heads = {}
        groups = await self._rows("line_groups", loaded.pool_id, _GROUPS_MAX)
        # None may be left out, for its first may be the first of all; of very many, only the first is loaded.
        heads = max(1, min(heads, _HEADS_MAX // max(1, len(groups))))
        for row in groups:
            await self._load_members(loaded, Group(*row), heads)

    async def _load_prefix(self, loaded: Loaded, length: int) -> None:
        length = min(length, _PREFIX_MAX)
        if not loaded.view.prefix_whole and length > len(loaded.view.prefix):
            prefix = await self._rows("line_prefix", loaded.pool_id, length)
            loaded.view.prefix = [row[0] for row in prefix]
            loaded.view.prefix_whole = len(prefix) < length

    async def _load_members(self, loaded: Loaded, group: Group, limit: int) -> None:
        view = loaded.view
        assert view.heads is not None
        listed = view.heads.setdefault(group, [])
        after = listed[-1][0] if listed else _LOWEST
        found = await self._rows("group_members", loaded.pool_id, *group, after, limit)
        await self.add(loaded, found, places=False)
        listed += [(row[8], row[1]) for row in found]
        if len(found) < limit:
            view.heads_more.discard(group)
        else:
            view.heads_more.add(group)

    async def _rows(self, name: str, *values: Any) -> list[Row]:
        found = list(await self._reader.rows(name, *values))
        self.count += len(found)
        return found

    async def _each(self, name: str, keys: Iterable[Row]) -> list[Row]:
        found = list(await self._reader.each(name, list(keys)))
        self.count += len(found)
        return found


def _may_be_told(command: c.Command) -> bool:
    """True if a command can be decided on the pool's standing and the bookings that it names."""
    if isinstance(command, c.Book):
        return not command.units and command.opening is None
    return isinstance(command, c.Confirm | c.Cancel | c.Extend)


def _added(loaded: Loaded, booking: Booking) -> bool:
    """Add a booking as the batch in flight leaves it; False if it is in line, or its units are unknown."""
    if booking.number in loaded.bookings:
        return True
    if booking.state in (WAITING, OFFERED) or any(label not in loaded.units for label in booking.units):
        return False
    loaded.bookings[booking.number] = booking
    loaded.view.load_bookings((booking,))
    return True


# The commands that name one booking.
_OF_A_BOOKING: Final = (
    c.Confirm,
    c.Cancel,
    c.Extend,
    c.Claim,
    c.Decline,
    c.Unreachable,
    c.NoteTold,
    c.NoteDelayed,
    c.NoteReachable,
    c.ChangeBooking,
    c.GiveOffer,
    c.Move,
    c.PutBack,
)
# Of those, the ones that name an offer, too.
_OF_AN_OFFER: Final = (c.Claim, c.Decline, c.Unreachable, c.NoteTold, c.NoteDelayed)


def _labels_in(command: c.Command) -> list[str]:
    """The units that a command names."""
    if isinstance(command, c.Book):
        return list(command.units)
    if isinstance(command, c.CloseUnit):
        return [command.label]
    return [unit["label"] for unit in command.units] if isinstance(command, c.AddUnits) else []
