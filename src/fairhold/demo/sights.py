"""What the demo's page shows of a pool: who sits where, who is asked, who waits; and what happened last."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final, NamedTuple

from fairhold.cli.narrate import QUIET, Narrator, names_in, numbers_in
from fairhold.core.model import CONFIRMED, HELD, OFFERED, WAITING
from fairhold.demo.pools import KEYS
from fairhold.library import Fairhold, granted
from fairhold.shapes import Booking, PoolState, with_tokens

_SHOWN_MAX: Final = 200
_NEWS_MAX: Final = 9
# Of no interest to who only looks on.
_UNTOLD: Final = QUIET | {"BookingChanged"}


class Seat(NamedTuple):
    """One seat, or one place in line. `key` names who has it, so that the page can show them moving."""

    key: str
    state: str
    who: str = ""
    unit: str = ""
    link: str = ""
    left_s: int | None = None


class Group(NamedTuple):
    """Seats that belong together, under a title."""

    title: str
    seats: Sequence[Seat]


class Sight(NamedTuple):
    """A pool as the page shows it."""

    pool: PoolState
    groups: Sequence[Group]
    line: Sequence[Seat]
    handed_back: Sequence[str]

    @property
    def title(self) -> str:
        return self.pool.title


class News(NamedTuple):
    """Something that happened, in a sentence."""

    at: datetime
    pool: str
    sentence: str
    tone: str


class Due(NamedTuple):
    """What falls due next by itself, and in how many seconds."""

    left_s: int
    sentence: str


async def sights(hf: Fairhold) -> list[Sight]:
    return [await _sight(hf, key) for key in KEYS]


async def _sight(hf: Fairhold, key: str) -> Sight:
    async with hf.at_one_moment() as one:
        return await _seen(one, key)


async def _seen(hf: Fairhold, key: str) -> Sight:
    pool = granted(await hf.pool(key))
    bookings = [
        with_tokens(booking, hf.secret)
        for state in (CONFIRMED, HELD, OFFERED)
        for booking in granted(await hf.bookings(key, state=state, limit=_SHOWN_MAX))
    ]
    line = [with_tokens(booking, hf.secret) for booking in granted(await hf.line(key, limit=30))]
    openings = [it for it in granted(await hf.openings(key)) if it.state == "handed_back"]
    return Sight(
        pool,
        await _groups(hf, pool, bookings, [it.unit or "" for it in openings]),
        [_seat(booking) for booking in line],
        [f"{it.unit or it.quantity}: {it.note}" for it in openings],
    )


async def _groups(
    hf: Fairhold, pool: PoolState, bookings: Sequence[Booking], aside: Sequence[str]
) -> list[Group]:
    found = []
    for quota in pool.quotas:
        title = quota.title if len(pool.quotas) > 1 else ""
        if quota.by_units:
            found.append(Group(title, await _by_units(hf, pool, bookings, aside)))
            continue
        own = [b for b in bookings if b.quota == quota.key and b.placement == "quota"]
        seats = [_seat(b, part) for b in own for part in range(b.quantity)]
        found.append(Group(title, _filled_up(quota.key, seats, quota.size or 0)))
    if pool.open_size:
        seats = [_seat(b, part) for b in bookings if b.placement == "open" for part in range(b.quantity)]
        found.append(Group("Shared by all", _filled_up("open", seats, pool.open_size)))
    return found


def _filled_up(key: str, seats: list[Seat], size: int) -> list[Seat]:
    return [*seats, *(Seat(f"free-{key}-{n}", "free", "free") for n in range(size - len(seats)))]


async def _by_units(
    hf: Fairhold, pool: PoolState, bookings: Sequence[Booking], aside: Sequence[str]
) -> list[Seat]:
    """The units that are still to come, each with who has it."""
    pool_id = await hf.reads.pool_id(pool.id, hf.org)
    assert pool_id is not None
    view = await hf.reads.view(pool_id, units=True)
    taken = {unit: booking for booking in bookings for unit in booking.units}
    now, found = hf.clock.now(), []
    for unit in sorted(view.units.values(), key=lambda it: (it.starts_at or 0, it.label)):
        if unit.starts_at is not None and unit.starts_at <= now:
            continue
        if unit.label in taken:
            seat = _seat(taken[unit.label], taken[unit.label].units.index(unit.label))
            found.append(seat._replace(unit=unit.label))
        elif unit.label in aside:
            found.append(Seat(f"unit-{unit.label}", "aside", "needs staff", unit.label))
        else:
            found.append(Seat(f"unit-{unit.label}", "free", "free", unit.label))
    return found


def _seat(booking: Booking, part: int = 0) -> Seat:
    name = booking.party.name or "Somebody new"
    link = f"/o/{booking.offer.token}" if booking.offer is not None else f"/b/{booking.edit_token}"
    key = booking.id if not part else f"{booking.id}-{part}"
    return Seat(key, booking.state, name, link=link, left_s=booking.seconds_left)


def next_due(found: Sequence[Sight]) -> Due | None:
    """The first deadline that somebody on the page has, in words."""
    seats = [
        (seat, sight)
        for sight in found
        for seat in (*(s for g in sight.groups for s in g.seats), *sight.line)
    ]
    timed = [(seat.left_s, seat, sight) for seat, sight in seats if seat.left_s is not None]
    if not timed:
        return None
    left, seat, sight = min(timed, key=lambda it: it[0])
    what = {OFFERED: "offer", HELD: "hold", WAITING: "time to confirm"}[seat.state]
    return Due(left, f"{seat.who}’s {what} ({sight.title}) ends")


async def news(hf: Fairhold) -> list[News]:
    """What happened last, in all pools, the newest first."""
    found: list[News] = []
    for key in KEYS:
        pool = granted(await hf.pool(key))
        pool_id = await hf.reads.pool_id(key, hf.org)
        assert pool_id is not None
        last = await hf.reads.log_seq(pool_id)
        log = granted(await hf.log(key, after=max(0, last - 3 * _NEWS_MAX), limit=3 * _NEWS_MAX))
        narrator = Narrator(await names_in(hf, key, numbers_in(entry.facts for entry in log)))
        for entry in log:
            told = narrator.tell(entry.event, entry.facts, entry.by)
            if entry.event not in _UNTOLD:
                found.append(News(entry.at, pool.title, told.alone, told.tone))
    # Of what happened at one instant the last stands first, too.
    found = [*reversed(found)]
    return sorted(found, key=lambda it: it.at, reverse=True)[:_NEWS_MAX]
