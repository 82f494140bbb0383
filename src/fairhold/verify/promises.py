"""What is always true of a pool, each promise stated once and judged in the plainest way there is.

A promise takes a whole view, at rest after a decision, and the instant; it answers what is wrong and
where, one sentence each. It counts and sorts the bookings themselves and trusts none of the sums,
sorted lists and groups that the rules keep to be fast: so it would notice if one of them lied.

`told` is judged on a decision, and so is the other half of `nobody_jumps`: see fairness.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from typing import Any, Final

from fairhold.core import events as e
from fairhold.core.line import position
from fairhold.core.model import (
    CLOSED,
    CONFIRMED,
    GOING_ON,
    HELD,
    IN_PLAY,
    OFFERED,
    TAKES_ROOM,
    WAITING,
    Booking,
    Instant,
    Tally,
)
from fairhold.core.room import is_open, room, taken
from fairhold.core.view import View
from fairhold.core.work import Decision
from fairhold.verify.fairness import could_have, in_line, in_state, seats_of, serves

Promise = Callable[[View, Instant], list[str]]


def broken(view: View, now: Instant) -> list[str]:
    """Every promise that does not hold, by name, with what is wrong and where."""
    return [f"{name}: {wrong}" for name, promise in PROMISES.items() for wrong in promise(view, now)]


def no_oversell(view: View, now: Instant) -> list[str]:
    """The overflow is at most the open size, and no unit is taken by two bookings."""
    used: Counter[str] = Counter()
    taken: Counter[str] = Counter()
    for booking in in_state(view, TAKES_ROOM):
        used[booking.quota] += seats_of(booking)
        taken.update(booking.units)
    sizes = {quota.key: quota for quota in view.pool.quotas}
    wrong = [f"the quota {key} is gone, with {used[key]} taken" for key in used if key not in sizes]
    wrong += [f"unit {label} is taken {count} times" for label, count in taken.items() if count > 1]
    overflow = sum(
        max(0, used[quota.key] - quota.size)
        for quota in view.pool.quotas
        if quota.size is not None and not quota.by_units
    )
    if overflow > view.pool.open_size:
        wrong.append(f"the overflow is {overflow}, the open size {view.pool.open_size}")
    return wrong


def one_live_offer(view: View, now: Instant) -> list[str]:
    """A booking has at most one live offer: one if it is offered, and then its latest; else none."""
    live: defaultdict[int, list[int]] = defaultdict(list)
    for (number, seq), offer in view.offers.items():
        if offer.outcome is None:
            live[number].append(seq)
    wrong = []
    for booking in view.bookings.values():
        expected = [booking.offer_seq] if booking.state == OFFERED else []
        if live[booking.number] != expected:
            wrong.append(
                f"booking {booking.number} is {booking.state} with live offers {live[booking.number]}"
            )
        elif expected:
            offer = view.offers[booking.number, booking.offer_seq]
            says = (offer.quantity, offer.units, offer.expires_at)
            if says != (booking.offer_quantity, booking.units, booking.expires_at):
                wrong.append(f"booking {booking.number} and its live offer differ")
    return wrong


def one_place_in_line(view: View, now: Instant) -> list[str]:
    """At most one booking of a party is waiting or offered."""
    places: defaultdict[str, list[int]] = defaultdict(list)
    for booking in in_state(view, (WAITING, OFFERED)):
        places[booking.party.id].append(booking.number)
    return [f"party {party} has bookings {found}" for party, found in places.items() if len(found) > 1]


def contiguous(view: View, now: Instant) -> list[str]:
    """The positions of the waiting are 1..n in the order of their places, and no two share a place."""
    line = in_line(view)
    wrong = [
        f"booking {booking.number} is at position {found} and should be at {expected}"
        for expected, booking in enumerate(line, 1)
        if (found := position(view, booking.place)) != expected
    ]
    places: defaultdict[int, list[int]] = defaultdict(list)
    for booking in in_state(view, (WAITING, OFFERED)):
        places[booking.place].append(booking.number)
    return wrong + [f"bookings {found} share a place" for found in places.values() if len(found) > 1]


def _at_rest(view: View, now: Instant) -> bool:
    """Whether the line can be given anything, and a fill in pieces has come to its end."""
    return serves(view) and (view.due_at is None or view.due_at > now)


def nobody_jumps(view: View, now: Instant) -> list[str]:
    """No room is free that someone waiting could be given now."""
    return [
        f"booking {booking.number} waits though there is room for it in {booking.quota}"
        for booking in (in_line(view) if _at_rest(view, now) else ())
        if could_have(view, booking, now)
    ]


def nobody_waits_for_luck(view: View, now: Instant) -> list[str]:
    """Where only a cooldown keeps free room from someone, the pool is due no later than its end."""
    wrong = []
    for booking in in_line(view) if _at_rest(view, now) else ():
        ends = (booking.offered_at or 0) + view.pool.policy.cooldown
        if ends > now and could_have(view, booking, ends) and (view.due_at is None or view.due_at > ends):
            wrong.append(f"the cooldown of booking {booking.number} ends at {ends}; due at {view.due_at}")
    return wrong


def nobody_forgets(view: View, now: Instant) -> list[str]:
    """Under hand_back, free room with an opening is somebody's in line, or it is with staff."""
    wrong = []
    for opening in view.openings.values() if view.pool.policy.hand_back and _at_rest(view, now) else ():
        quota, unit = view.pool.quota(opening.quota), view.units[opening.unit] if opening.unit else None
        if opening.state != "open" or quota is None or (unit is None and quota.size is None):
            continue
        if unit is not None:
            free = unit.booking is None and is_open(unit, now)
        else:
            offered = [b for b in in_state(view, (OFFERED,)) if b.quota == quota.key]
            free = not offered and room(view, quota, now) > 0
        units = (unit.label,) if unit else ()
        # Where no seat of the quota's own is left, its room is the open share, which is any quota's.
        shared = unit is None and taken(view, quota.key) >= (quota.size or 0)
        waiting = [b for b in in_line(view) if b.quota == quota.key or (shared and _by_number(view, b))]
        if free and not any(could_have(view, b, now, units, later=True) for b in waiting):
            wrong.append(f"opening {opening.number} is free, nobody can use it, and staff do not have it")
    return wrong


def _by_number(view: View, booking: Booking) -> bool:
    quota = view.pool.quota(booking.quota)
    return quota is not None and not quota.by_units and quota.size is not None


def tallies_add_up(view: View, now: Instant) -> list[str]:
    """A quota's tally is what its bookings and its handed-back openings add up to."""
    counted = {key: Tally(round=tally.round) for key, tally in view.tallies.items()}
    for booking in in_state(view, IN_PLAY):
        waits, offered = booking.state == WAITING, booking.state == OFFERED
        old = counted[booking.quota]
        counted[booking.quota] = Tally(
            old.used + seats_of(booking), old.waiting + waits, old.offered + offered, old.aside, old.round
        )
    for opening in view.openings.values():
        if opening.state == "handed_back" and opening.unit is None:
            old = counted[opening.quota]
            counted[opening.quota] = old._replace(aside=old.aside + opening.quantity)
    return [
        f"{key} has {view.tallies[key]}, and its bookings add up to {tally}"
        for key, tally in counted.items()
        if tally != view.tallies[key]
    ]


def units_agree(view: View, now: Instant) -> list[str]:
    """A unit names the booking that names it, and who takes room in a quota by units has a unit per seat."""
    wrong = []
    by_units = {quota.key for quota in view.pool.quotas if quota.by_units}
    named = {}
    for booking in view.bookings.values():
        named.update(dict.fromkeys(booking.units, booking.number))
        seats = seats_of(booking) if booking.quota in by_units else 0
        if len(booking.units) != seats:
            wrong.append(f"booking {booking.number} needs {seats} units and has {list(booking.units)}")
    aside = {opening.unit for opening in view.openings.values() if opening.state == "handed_back"}
    for label, unit in view.units.items():
        if unit.booking != named.get(label):
            wrong.append(f"unit {label} names booking {unit.booking}, and {named.get(label)} names it")
        if unit.booking is not None and (unit.closed or label in aside):
            wrong.append(f"unit {label} is taken though it is closed or handed back")
    return wrong


def openings_end(view: View, now: Instant) -> list[str]:
    """An opening goes on only while its room is free or offered, and no room has two."""
    wrong = []
    going_on = [o for o in view.openings.values() if o.state in GOING_ON]
    for opening in going_on:
        if opening.unit is not None:
            unit = view.units[opening.unit]
            taker = view.bookings[unit.booking].state if unit.booking is not None else None
            over = unit.closed or taker in (HELD, CONFIRMED)
        else:
            quota = view.pool.quota(opening.quota)
            offers = [b for b in in_state(view, (OFFERED,)) if not b.units]
            offered = any(view.pool.open_size or b.quota == opening.quota for b in offers)
            over = quota is None or not (offered or room(view, quota, now))
        if over:
            wrong.append(f"opening {opening.number} goes on though its room is taken")
    twice = Counter((opening.quota, opening.unit) for opening in going_on)
    return wrong + [f"{key} has {count} openings at once" for key, count in twice.items() if count > 1]


def deadlines_kept(view: View, now: Instant) -> list[str]:
    """An offer and a hold have a deadline, a confirmation has none, and due_at is no later than any.

    A line's deadline is the start.
    """
    wrong, starts_at = [], view.pool.starts_at
    has_line = starts_at is not None and in_state(view, (WAITING, OFFERED))
    if has_line and (view.due_at is None or view.due_at > max(starts_at or 0, now)):
        wrong.append(f"the line ends at {starts_at}, and the pool is due at {view.due_at}")
    for booking in in_state(view, IN_PLAY):
        ends = booking.expires_at
        if booking.state != WAITING and (ends is None) != (booking.state == CONFIRMED):
            wrong.append(f"booking {booking.number} is {booking.state} and ends at {ends}")
        if ends is not None and (view.due_at is None or view.due_at > ends):
            wrong.append(f"booking {booking.number} ends at {ends}, and the pool is due at {view.due_at}")
    return wrong


PROMISES: Final[Mapping[str, Promise]] = {
    promise.__name__: promise
    for promise in (
        no_oversell,
        one_live_offer,
        one_place_in_line,
        contiguous,
        nobody_jumps,
        nobody_waits_for_luck,
        nobody_forgets,
        tallies_add_up,
        units_agree,
        openings_end,
        deadlines_kept,
    )
}


def told(decision: Decision) -> list[str]:
    """What must be told is told, once each, and nothing else is."""
    due: Counter[tuple[str, int | None]] = Counter()
    for entry in decision.entries:
        due.update(messages_for(entry.event))
    sent = Counter((message.kind, message.booking) for message in decision.messages)
    for number in filter(None, (reminded_by(entry.event) for entry in decision.entries)):
        # A reminder may be, and need not.
        due["hold_ending", number] = min(1, sent["hold_ending", number])
    return [
        f"{kind} of booking {booking} is told {sent[kind, booking]} times and should be {due[kind, booking]}"
        for kind, booking in dict.fromkeys((*due, *sent))
        if sent[kind, booking] != due[kind, booking]
    ]


def messages_for(event: Any) -> list[tuple[str, int | None]]:
    """The messages that an event needs, each with its kind and the booking it is about; None is for staff."""
    return [(kind, _told_about(event))] if (kind := _message_for(event)) is not None else []


def reminded_by(event: Any) -> int | None:
    """The booking whose hold an event begins or prolongs; where the policy says so, it is reminded."""
    if isinstance(event, e.Held | e.Promoted | e.Claimed | e.Extended) and event.expires_at is not None:
        return event.part or event.booking if isinstance(event, e.Claimed) else event.booking
    if isinstance(event, e.PutBack) and event.state == HELD:
        return event.booking
    return None


def _message_for(event: Any) -> str | None:
    if isinstance(event, e.Lapsed | e.Declined):
        told_when_it_stays = "lapsed" if isinstance(event, e.Lapsed) else None
        return "attempts_used_up" if event.state == CLOSED else told_when_it_stays
    if isinstance(event, e.Closed):
        return event.why if event.why in ("attempts_used_up", "demoted") else "cancelled"
    if isinstance(event, e.BookingChanged):
        return None if event.position is None else "joined"
    if isinstance(event, e.Held):
        return "confirmed" if event.confirmed else None
    if isinstance(event, e.Claimed):
        return None if event.state == HELD else "confirmed"
    return _MESSAGES.get(type(event))


_MESSAGES: Final[Mapping[type[Any], str]] = {
    e.Joined: "joined",
    e.Promoted: "promoted",
    e.Offered: "offer",
    e.Confirmed: "confirmed",
    e.Completed: "confirmed",
    e.NotReached: "unreachable",
    e.Expired: "lapsed",
    e.Cancelled: "cancelled",
    e.PutBack: "put_back",
    e.Demoted: "demoted",
    e.HandedBack: "handed_back",
}


def _told_about(event: Any) -> int | None:
    if isinstance(event, e.HandedBack | e.NotReached):
        return None
    number: int = event.booking
    return event.part or number if isinstance(event, e.Claimed) else number
