"""Every read. Reads bypass the lane and see what is committed.

What is read in several steps and must agree with itself is read `at_one_moment`; what is asked for very often
is one query.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from copy import copy
from typing import Any, Final, Self

from msgspec.structs import replace

from fairhold import ids, records, tokens
from fairhold.alarm import clock_off_s
from fairhold.clock import Clock, to_datetime
from fairhold.core import model
from fairhold.core.model import IN_PLAY, WAITING, Instant, Offer, Tally
from fairhold.core.obey import lifetime_ends
from fairhold.core.reference import is_reference, number_of
from fairhold.core.refusals import Refusal, invalid, unknown
from fairhold.core.view import View
from fairhold.explained import explained
from fairhold.inputs import KEY
from fairhold.looks import Key, Looks
from fairhold.numbers import DAY, ENTRIES_MAX, Entry, Numbers, Standing, figures
from fairhold.records import LogEntry, Message, Opening, QuotaUse, Stats, Totals
from fairhold.shapes import (
    Booking,
    Explanation,
    PoolName,
    PoolState,
    booking_shape,
    pool_shape,
    with_tokens,
)
from fairhold.store import rows
from fairhold.store.base import Reader, Row, Store

PAGE_MAX: Final = 1_000
_SOON: Final = 5 * 60_000
_LOWEST: Final = -(2**63)


class Reads:
    """Looks things up by what callers call them."""

    def __init__(self, store: Store, clock: Clock, secret: str) -> None:
        self._store = store
        self._clock = clock
        self._secret = secret
        self._moment: Reader | None = None
        self._looks = Looks(self._look)

    def reader(self) -> Reader:
        """For reads of what is committed: by now, or at the moment that this looks at."""
        return self._store.reader() if self._moment is None else self._moment

    @asynccontextmanager
    async def at_one_moment(self) -> AsyncIterator[Self]:
        """The same reads, all of one committed state. Who looks at one moment already stays there."""
        if self._moment is not None:
            yield self
            return
        async with self._store.snapshot() as snapshot:
            frozen = copy(self)
            frozen._moment = snapshot
            yield frozen

    async def pool_id(self, name: str, org: str) -> int | None:
        """The pool of an org, by its id or key."""
        reader = self.reader()
        pool_id = ids.pool_number(name)
        if pool_id is not None:
            found = await reader.rows("pool_org", pool_id)
            if found and found[0][0] == org:
                return pool_id
        by_key = await reader.rows("find_pool", org, name) if KEY.fullmatch(name) else ()
        return by_key[0][0] if by_key else None

    async def booking_key(self, name: object, org: str) -> tuple[int, int] | Refusal:
        """The (pool, number) of an org's booking, by its id, edit token or reference."""
        if not isinstance(name, str):
            return unknown("booking", name)
        key = ids.booking_number(name)
        if key is None and len(name) > ids.BOOKING_LENGTH:
            key = tokens.booking_of_edit_token(self._secret, name)
        reader = self.reader()
        if key is not None:
            found = await reader.rows("pool_org", key[0])
            return key if found and found[0][0] == org else unknown("booking", name)
        matches = []
        pools = await reader.rows("pools_of_org", org) if is_reference(name.upper()) else ()
        for pool_id, numbers in pools:
            number = number_of(pool_id, name.upper())
            if number is not None and 0 < number <= numbers:
                matches.append((pool_id, number))
        if len(matches) > 1:
            # It is one of a kind within its pool alone. Whose booking is over hardly asks for it any more.
            found = await reader.each("bookings_by_number", matches)
            live = [(row[0], row[1]) for row in found if rows.booking_of(row).state in IN_PLAY]
            if len(live) != 1:
                return invalid("booking", f"Bookings of several pools are called {name.upper()}: say its id.")
            matches = live
        return matches[0] if matches else unknown("booking", name)

    async def pool(self, pool_id: int) -> PoolState:
        return pool_shape(await self.view(pool_id, units=True), self._clock.now())

    async def pools(self, org: str, after: int = -1, limit: int = 100) -> list[PoolState]:
        async with self.at_one_moment() as one:
            return await one._states(await one.reader().rows("read_pools", org, after, min(limit, PAGE_MAX)))

    async def latest_pools(self, org: str, skip: int, limit: int) -> list[PoolState]:
        """Those with the latest news first."""
        async with self.at_one_moment() as one:
            return await one._states(await one._latest(org, skip, limit))

    async def pool_names(self, org: str, limit: int) -> list[PoolName]:
        """The names of those with the latest news: one question, and neither units nor tallies."""
        return [_name_of(row) for row in await self._latest(org, 0, limit)]

    async def _latest(self, org: str, skip: int, limit: int) -> Sequence[Row]:
        return await self.reader().rows("latest_pools", org, min(limit, PAGE_MAX), skip)

    async def _states(self, found: Sequence[Row]) -> list[PoolState]:
        views = {view.pool.id: view for view in await self._views(found)}
        if by_units := [pool_id for pool_id, view in views.items() if _has_units(view)]:
            for pool_id, *raw in await self.reader().rows("units_at", by_units):
                views[pool_id].units[raw[0]] = rows.unit_of(raw)
            for pool_id, *raw in await self.reader().rows("openings_at", by_units):
                views[pool_id].load_openings([rows.opening_of(raw)])
        return [pool_shape(view, self._clock.now()) for view in views.values()]

    async def view(self, pool_id: int, *, units: bool = False) -> View:
        """A view of a pool that is good for showing: config, tallies, round, and units if asked for."""
        found = await self.reader().rows("read_pool_now", pool_id)
        view = _view_of(found[0], [row[10:] for row in found])
        if units and _has_units(view):
            async with self.at_one_moment() as one:
                view = await one.view(pool_id)
                await one._load_units(view)
        return view

    async def _load_units(self, view: View) -> None:
        if _has_units(view):
            for raw in await self.reader().rows("units", view.pool.id, 100_000):
                view.units[raw[0]] = rows.unit_of(raw)
            live = await self.reader().rows("openings_live", view.pool.id)
            view.load_openings(rows.opening_of(raw) for raw in live)

    async def booking(self, pool_id: int, number: int, *, secret: bool = False) -> Booking | None:
        """One booking. It is asked for very often: who asks at the same time is answered by the same look."""
        key = (pool_id, number)
        found = await self._looks.ask(key) if self._moment is None else (await self._look([key])).get(key)
        return with_tokens(found, self._secret) if found is not None and secret else found

    async def _look(self, keys: Sequence[Key]) -> dict[Key, Booking]:
        """Bookings of any pools, as they all were at one moment."""
        pools: dict[int, list[Row]] = {}
        found: dict[Key, Booking] = {}
        async with self.at_one_moment() as one:
            for row in await one.reader().each("bookings_by_number", keys):
                pools.setdefault(row[0], []).append(row)
            for view in await one._views(await one.reader().rows("pools_at", list(pools))):
                raw = pools[view.pool.id]
                shaped = await one._shaped(view, raw)
                found |= {(row[0], row[1]): booking for row, booking in zip(raw, shaped, strict=True)}
        return found

    async def _views(self, pools: Sequence[Row]) -> list[View]:
        """Views of pools that were read, with their tallies."""
        tallies: dict[int, list[Row]] = {}
        for row in await self.reader().rows("tallies", [row[0] for row in pools]) if pools else ():
            tallies.setdefault(row[0], []).append(row)
        return [_view_of(row, tallies.get(row[0], [])) for row in pools]

    async def _shaped(self, view: View, raw: Sequence[Row], *, before: int | None = None) -> list[Booking]:
        """Bookings as they are shown. With `before` they are a stretch of the line, behind so many others."""
        bookings = [rows.booking_of(row) for row in raw]
        places = [b.place for b in bookings if b.state == WAITING]
        counted = await self._waiting_before(view.pool.id, places) if before is None else {}
        ahead = iter([counted[place] for place in places] if before is None else range(before, 2**62))
        shaped = self._shapes(view, bookings, [next(ahead) if b.state == WAITING else 0 for b in bookings])
        return await self._placed(view, bookings, shaped)

    def _shapes(self, view: View, bookings: Sequence[model.Booking], ahead: Sequence[int]) -> list[Booking]:
        """Bookings as they are shown, each with how many wait before it, if it waits."""
        view.load_bookings(bookings)
        view.base.update({b.place: n for b, n in zip(bookings, ahead, strict=True) if b.state == WAITING})
        # Positions come from the places alone.
        view.loaded_waiting, view.loaded_last_place = max(1, view.loaded_waiting), 2**63 - 1
        view.loaded_arrivals = 2**63 - 1
        now = self._clock.now()
        return [booking_shape(view, b.number, now) for b in bookings]

    async def _waiting_before(self, pool_id: int, places: list[int]) -> dict[int, int]:
        if not places:
            return {}
        keys = [(pool_id, place) for place in places]
        found = await self.reader().each("waiting_before", keys)
        return {place: before for _, place, before in found}

    async def _placed(
        self, view: View, bookings: Sequence[model.Booking], shaped: list[Booking]
    ) -> list[Booking]:
        """Correct the placement where a quota overflows into the open share: who came last is there."""
        last: set[int] = set()
        for key in {it.quota for it in shaped if it.placement == "open"}:
            quota = view.pool.quota(key)
            assert quota is not None
            assert quota.size is not None
            over = view.tallies[key].used - quota.size
            for number, seats in await self.reader().rows("last_taken", view.pool.id, key, over):
                if over > 0:
                    last.add(number)
                over -= seats
        return [
            replace(it, placement="quota") if it.placement == "open" and b.number not in last else it
            for b, it in zip(bookings, shaped, strict=True)
        ]

    async def bookings(
        self, pool_id: int, state: str | None, party: str | None, after: int, limit: int
    ) -> list[Booking]:
        return await self._listed("read_bookings", pool_id, after, state, party, min(limit, PAGE_MAX))

    async def _listed(self, query: str, pool_id: int, *values: Any) -> list[Booking]:
        """The bookings that a query finds in a pool."""
        async with self.at_one_moment() as one:
            found = await one.reader().rows(query, pool_id, *values)
            return await one._shaped(await one.view(pool_id), found) if found else []

    async def newest(self, pool_id: int, state: str | None, before: int, limit: int) -> list[Booking]:
        """The bookings of a pool before a number, the newest first."""
        return await self._listed("read_bookings_before", pool_id, before, state, min(limit, PAGE_MAX))

    async def bookings_of(self, pool_id: int, numbers: Sequence[int]) -> list[Booking]:
        """Some bookings of a pool, by number."""
        async with self.at_one_moment() as one:
            found = await one.reader().each("bookings_by_number", [(pool_id, n) for n in numbers])
            return await one._shaped(await one.view(pool_id), found) if found else []

    async def next_to_end(self, pool_id: int, state: str, limit: int) -> list[Booking]:
        """The bookings of a pool in a state that has a deadline, those that end first."""
        return await self._listed("read_next_to_end", pool_id, state, min(limit, PAGE_MAX))

    async def bookings_at(self, keys: Sequence[tuple[int, int]]) -> list[Booking]:
        """Some bookings of any pools, by (pool, number), in this order; who is not there is left out."""
        found = await self._look(keys)
        return [found[key] for key in keys if key in found]

    async def line(self, pool_id: int, after: int = 0, limit: int = 100) -> list[Booking]:
        """The line from behind a position, in order."""
        async with self.at_one_moment() as one:
            place = _LOWEST
            if after:
                found = await one.reader().rows("line_place_at", pool_id, after - 1)
                if not found:
                    return []
                place = found[0][0]
            found = await one.reader().rows("read_line", pool_id, place, min(limit, PAGE_MAX))
            return await one._shaped(await one.view(pool_id), found, before=after) if found else []

    async def line_behind(self, pool_id: int, number: int, limit: int) -> list[Booking]:
        """The line from behind a booking, or for number 0 from the head. It may have left meanwhile."""
        async with self.at_one_moment() as one:
            place = _LOWEST
            if number:
                found = await one.reader().each("bookings_by_number", [(pool_id, number)])
                if not found:
                    return []
                place = rows.booking_of(found[0]).place
            return await one._listed("read_line", pool_id, place, min(limit, PAGE_MAX))

    async def org_of(self, pool_id: int) -> str | None:
        """Whose pool this is."""
        found = await self.reader().rows("pool_org", pool_id)
        return found[0][0] if found else None

    async def log_seq(self, pool_id: int) -> int:
        """The last entry of a pool's log: while it stays, nothing has changed."""
        found = await self.reader().rows("read_pool", pool_id)
        return int(found[0][7])

    async def lifetime_ends(self, pool_id: int, number: int) -> Instant:
        """Until when the party of a hold may extend it by itself."""
        async with self.at_one_moment() as one:
            (row,) = await one.reader().each("bookings_by_number", [(pool_id, number)])
            return lifetime_ends((await one.view(pool_id)).pool.policy, rows.booking_of(row))

    async def offer(self, pool_id: int, number: int, seq: int, org: str) -> Offer | None:
        """One offer of an org's booking, live or not."""
        reader = self.reader()
        owner = await reader.rows("pool_org", pool_id)
        if not owner or owner[0][0] != org:
            return None
        found = await reader.each("offers_by_key", [(pool_id, number, seq)])
        return rows.offer_of(found[0]) if found else None

    async def position(self, pool_id: int, number: int) -> int | None:
        """One's own position, as cheaply as it can be had: two index lookups, however long the line is."""
        found = await self.reader().rows("position_of", pool_id, number)
        return found[0][0] if found else None

    async def log(self, pool_id: int, after: int = 0, limit: int = 100) -> list[LogEntry]:
        found = await self.reader().rows("read_log", pool_id, after, min(limit, PAGE_MAX))
        return [records.log_entry(pool_id, row) for row in found]

    async def explain(self, pool_id: int, number: int) -> list[Explanation]:
        """Every decision about a booking, with its reason; and why it does not get a seat that is free."""
        async with self.at_one_moment() as one:
            found = await one.reader().each("bookings_by_number", [(pool_id, number)])
            if not found:
                return []
            booking = rows.booking_of(found[0])
            view = await one.view(pool_id, units=booking.state == WAITING)
            steps = await explained(one.reader(), view, booking, self._clock.now())
        return [Explanation(to_datetime(step.at), *step[1:]) for step in steps]

    async def openings(self, pool_id: int) -> list[Opening]:
        """The openings that go on or wait for staff."""
        return [records.opening(row) for row in await self.reader().rows("openings_live", pool_id)]

    async def messages(
        self, pool_id: int, after: tuple[int, int] = (0, -1), limit: int = 100
    ) -> list[Message]:
        found = await self.reader().rows("read_outbox", pool_id, *after, min(limit, PAGE_MAX))
        return [records.message(row) for row in found]

    async def stats(self, pool_id: int) -> Stats:
        """The figures that staff watch: holds, seats, line, offers."""
        off, now = await clock_off_s(self._store, self._clock), self._clock.now()
        async with self.at_one_moment() as one:
            reader, state = one.reader(), await one.pool(pool_id)
            live, overdue, seats, soon = (await reader.rows("count_holds", pool_id, now, now + _SOON))[0]
            bookings = {row[0]: row[1] for row in await reader.rows("count_states", pool_id)}
            offers = {row[0]: row[1] for row in await reader.rows("count_offers", pool_id)}
        return Stats(
            active_holds=live,
            expired_holds=overdue,
            total_held_seats=seats,
            holds_expiring_soon=soon,
            bookings=bookings,
            waiting=state.waiting,
            offers_live=state.offers_live,
            offers=offers,
            quotas={quota.key: QuotaUse(quota.used, quota.room) for quota in state.quotas},
            clock_ahead_s=off,
        )

    async def numbers(self, pool_id: int, days: int) -> Numbers:
        """What the last days of a pool add up to."""
        async with self.at_one_moment() as one:
            view, now = await one.view(pool_id, units=True), self._clock.now()
            found = await one.reader().rows("log_with_quantities", pool_id, ENTRIES_MAX)
        state = pool_shape(view, now)
        log = [
            Entry(seq, at, kind, booking, rows.mapping_of(body), quantity)
            for seq, at, kind, booking, body, quantity in reversed(found)
        ]
        sizes = [quota.size for quota in state.quotas]
        # Units that start and pass are so many at one time and so many at another.
        passing = any(unit.starts_at is not None for unit in view.units.values())
        capacity = None if None in sizes or passing else sum(filter(None, sizes)) + state.open_size
        used = sum(quota.used for quota in state.quotas)
        standing = Standing(used, state.waiting, state.offers_live, capacity)
        return figures(log, standing, now - days * DAY, now, state.time_zone)

    async def totals(self, org: str) -> Totals:
        """The figures of all pools of an org together."""
        pools = [pool_id for pool_id, _ in await self.reader().rows("pools_of_org", org)]
        return records.totals([await self.stats(pool_id) for pool_id in pools])


def _view_of(row: Row, tallies: Sequence[Row]) -> View:
    view = View(rows.pool_of(row[3]))
    view.due_at, view.round, view.numbers = row[4], row[5], row[6]
    for _, key, *tally in tallies:
        view.tallies[key] = Tally(*tally)
    view.loaded_waiting = view.waiting
    return view


def _name_of(row: Row) -> PoolName:
    called = rows.called(row[3])
    return PoolName(ids.pool_text(row[0]), row[2], called.title, called.time_zone, to_datetime(row[9]))


def _has_units(view: View) -> bool:
    return any(quota.by_units for quota in view.pool.quotas)
