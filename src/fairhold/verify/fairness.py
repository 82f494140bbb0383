"""Who could have had the room: fairness, judged by asking everybody in line, one by one.

The rules look along the line in groups, keep sums and sorted lists, and stop at the first who fits.
Here nothing is fast and nothing is remembered, so that the one can be held against the other.

`passed_over` and `against_the_rules` judge one event of a decision on the view before it.
"""

from __future__ import annotations

from collections.abc import Iterable

from fairhold.core import events as e
from fairhold.core.conditions import matches
from fairhold.core.model import (
    GOING_ON,
    OFFERED,
    TAKES_ROOM,
    UNREACHABLE,
    WAITING,
    Booking,
    Instant,
    Opening,
    Unit,
)
from fairhold.core.quiet import sent_at
from fairhold.core.room import free_units, room, suits
from fairhold.core.search import tries_spent
from fairhold.core.view import View


def passed_over(view: View, event: e.Event, now: Instant) -> list[str]:
    """Who could have used the room that an event gives to somebody behind them, on the view before it."""
    if isinstance(event, e.Held):
        others = [b for b in in_line(view) if _shares(view, event, b)]
        past = [b for b in others if could_have(view, b, now, event.units, later=True)]
        newcomer = f"booking {event.booking} came"
    elif isinstance(event, e.Promoted | e.Offered):
        booking = view.bookings[event.booking]
        ahead = [b for b in in_line(view) if b.place < booking.place and _one_line(view, b, booking)]
        past = [b for b in ahead if _has_turn(view, b) and could_have(view, b, now, event.units)]
        newcomer = f"booking {event.booking} was served"
    else:
        return []
    return [f"{newcomer} before {b.number}, who could have used the room" for b in past]


def against_the_rules(view: View, event: e.Event, now: Instant) -> list[str]:
    """What is wrong with room that the rules gave to someone waiting, on the view before it."""
    if not isinstance(event, e.Promoted | e.Offered):
        return []
    booking, wrong = view.bookings[event.booking], []
    if not serves(view):
        wrong.append("the line could be given nothing")
    if not _has_turn(view, booking):
        wrong.append("it had had its turn in this round")
    if not could_have(view, booking, now, event.units):
        wrong.append("it could not have been given this room")
    if not all(_open_to(view, booking, now, view.units[label], now) for label in event.units):
        wrong.append("one of these units was closed to it")
    if event.expires_at is not None and event.expires_at <= now:
        wrong.append("its time to answer was over before it began")
    return [f"booking {booking.number} was served though {why}" for why in wrong]


def in_state(view: View, states: Iterable[str]) -> list[Booking]:
    return [booking for booking in view.bookings.values() if booking.state in states]


def in_line(view: View) -> list[Booking]:
    return sorted(in_state(view, (WAITING,)), key=lambda booking: booking.place)


def seats_of(booking: Booking) -> int:
    if booking.state == OFFERED:
        return booking.offer_quantity
    return booking.quantity if booking.state in TAKES_ROOM else 0


def serves(view: View) -> bool:
    """Whether the line can be given anything at all: the pool is open and may make one more offer."""
    policy = view.pool.policy
    live_max = policy.offers_live_max
    if policy.promotion is None or view.pool.status != "open":
        return False
    return live_max is None or len(in_state(view, (OFFERED,))) < live_max


def could_have(
    view: View, booking: Booking, now: Instant, units: tuple[str, ...] = (), *, later: bool = False
) -> bool:
    """Whether a waiting booking could be given room now; `later`: now, or once its cooldown has ended.

    Where `units` are named, it must be able to use one of them.
    """
    policy, quota = view.pool.policy, view.pool.quota(booking.quota)
    if quota is None or not _may_ask(view, booking, now, later=later):
        return False
    # Who has to wait for its cooldown is asked at its end, which may be another hour of the day.
    asked_at = max(now, (booking.offered_at or 0) + policy.cooldown) if later else now
    least = 1 if policy.partial == "give_less" else booking.quantity
    if not quota.by_units:
        return room(view, quota, now) >= least and _open_to(view, booking, now, None, asked_at)
    usable = [
        unit.label
        for unit in free_units(view, quota.key, now)
        if suits(booking.wants, unit) and _open_to(view, booking, now, unit, asked_at)
    ]
    return len(usable) >= least and (not units or not set(units).isdisjoint(usable))


def _may_ask(view: View, booking: Booking, now: Instant, *, later: bool) -> bool:
    """Whether the booking itself is ready: eligible, with attempts left, out of its cooldown."""
    policy, quota = view.pool.policy, view.pool.quota(booking.quota)
    party = booking.party
    if quota and quota.eligible is not None and not matches(quota.eligible, party.tags, party.attributes):
        return False
    if policy.promotion != "offer":
        return True
    if booking.reach in UNREACHABLE:
        return False
    if policy.attempts_max is not None and booking.attempts >= policy.attempts_max:
        return False
    return later or booking.offered_at is None or booking.offered_at + policy.cooldown <= now


def _open_to(view: View, booking: Booking, now: Instant, unit: Unit | None, asked_at: Instant) -> bool:
    """Whether this room, or this unit, can still be given to the booking: not tried, not too late."""
    policy, label = view.pool.policy, unit.label if unit else None
    for opening in view.openings.values():
        if (opening.quota, opening.unit) == (booking.quota, label) and _closed_to(
            view, opening, booking, now
        ):
            return False
    starts = [at for at in (view.pool.starts_at, unit.starts_at if unit else None) if at is not None]
    wakes_at = sent_at(view.pool, booking.party, asked_at) if policy.promotion == "offer" else now
    return all(at - policy.offer_cutoff > wakes_at for at in starts)


def _closed_to(view: View, opening: Opening, booking: Booking, now: Instant) -> bool:
    policy = view.pool.policy
    if policy.promotion != "offer" or opening.state not in GOING_ON:
        return False
    had_turn = policy.turns == "opening" and view.tried.get((opening.number, booking.number), False)
    return opening.state == "freed" or had_turn or tries_spent(view, opening, now)


def _has_turn(view: View, booking: Booking) -> bool:
    return view.pool.policy.turns != "round" or booking.round < view.tallies[booking.quota].round


def _shares(view: View, event: e.Held, booking: Booking) -> bool:
    """Whether a newcomer's seats are of a kind that this waiting booking could sit on."""
    mine, other = view.pool.quota(event.quota), view.pool.quota(booking.quota)
    if mine is None or other is None or mine.key == other.key:
        return mine is not None and mine is other
    used = sum(seats_of(b) for b in view.bookings.values() if b.quota == mine.key)
    used += view.tallies[mine.key].aside + event.quantity
    takes_open_share = mine.size is not None and not mine.by_units and used > mine.size
    return takes_open_share and not other.by_units


def _one_line(view: View, one: Booking, other: Booking) -> bool:
    """Quotas sized by number are served together, in order; a quota by units is served on its own."""
    if one.quota == other.quota:
        return True
    quotas = (view.pool.quota(one.quota), view.pool.quota(other.quota))
    return all(quota is not None and not quota.by_units for quota in quotas)
