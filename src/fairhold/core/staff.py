"""What staff ask about the line: offer out of turn, move, decide on what came back.

In each function refusals come first, in order of precedence; after the last of them it must succeed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from fairhold.core import commands as c
from fairhold.core import events as e
from fairhold.core import line
from fairhold.core.fill import give_offer, promote
from fairhold.core.model import WAITING, Booking, Opening, Pool
from fairhold.core.openings import handed_back, opening_of, seats_aside, take_aside
from fairhold.core.refusals import Refusal, invalid, not_enough_room, not_possible, unknown
from fairhold.core.room import overflow, room, taken
from fairhold.core.search import look_for, too_late, window_end
from fairhold.core.view import View
from fairhold.core.work import Done, Work

# What the log says of an offer for which staff gave no reason: it is what tells it from one by the rules.
NO_REASON: Final = "offered by staff"


def offer(work: Work, command: c.GiveOffer, booking: Booking) -> Done | Refusal:
    """Refusals, in order: not_possible, unknown, not_enough_room, too_late.

    Of an opening that was handed back, the seats are offered anew: the line is asked if this is a no.
    """
    view = work.view
    quota = view.pool.quota(booking.quota)
    if booking.state != WAITING or quota is None:
        return not_possible(booking.number, booking.state, "cannot be offered a seat")
    opening = handed_back(view, command.opening, quota.key)
    if opening is None and command.opening is not None:
        return unknown("opening", command.opening)
    found = look_for(work, quota, booking, opening)
    if found is None:
        seats = seats_aside(work, quota, opening) if opening else room(view, quota, work.now)
        # Enough seats that are not wanted are none.
        return not_enough_room(booking.quantity, seats if seats < booking.quantity else 0)
    offers = view.pool.policy.promotion == "offer"
    if offers and window_end(work, [view.units[label] for label in found.units]) <= work.now:
        return _starts_too_soon()
    if opening is not None:
        take_aside(work, opening, found.quantity, "again")
    if offers:
        give_offer(work, found, command.why or NO_REASON)
    else:
        promote(work, found, by=None)
    return Done(booking.number)


def move(work: Work, command: c.Move, booking: Booking) -> Done | Refusal:
    """Refusals, in order: not_possible, invalid, unknown."""
    view = work.view
    if booking.state != WAITING:
        return not_possible(booking.number, booking.state, "is not in line")
    if command.to not in ("front", "back", "after"):
        return invalid("to", "to must be front, back or after.")
    other = view.bookings.get(command.after or 0)
    if command.to == "after" and (other is None or other.state != WAITING or other.number == booking.number):
        return _no_place_behind(command.after, other, booking)
    arrival = view.arrivals + 1
    if command.to == "front":
        place = line.place_at_front(view)
    elif command.to == "back":
        place = line.place_at_back(view, arrival)
    else:
        assert other is not None
        place = place_behind(work, other)
        # Those behind may have been moved apart, and it among them.
        booking = view.bookings[booking.number]
    was = line.position(view, booking.place)
    # Taken out of its old place, everyone behind that has moved up by one.
    now_at = line.position(view, place) - (booking.place < place)
    work.emit(e.Moved(work.now, booking.number, place, arrival, now_at, was, command.why))
    return Done(booking.number)


def _starts_too_soon() -> Refusal:
    return Refusal("too_late", "It starts too soon for an offer to be answered.")


def _no_place_behind(number: int | None, other: Booking | None, booking: Booking) -> Refusal:
    if other is None:
        return unknown("booking", number)
    is_itself = other.number == booking.number
    why = "it is the very booking to move" if is_itself else f"it is {other.state}, and not in line"
    return Refusal("unknown", f"There is no place behind {other.reference}: {why}.", "booking")


def place_behind(work: Work, other: Booking) -> int:
    """A place right behind a booking; where there is none left, those behind are moved apart."""
    place = line.place_after(work.view, other)
    if place is None:
        _respread(work, other)
        place = line.place_after(work.view, other)
    assert place is not None
    return place


def _respread(work: Work, other: Booking) -> None:
    """Make places behind a booking, by moving the bookings behind it further apart."""
    count, behind = 1, line.followers(work.view, other.place, 2)
    # As few of them as leave some places between any two, so that the next move need not do it again; and the
    # more are moved, the more places, so that many have to be moved again only after many more moves.
    while count < len(behind) and behind[count].place - other.place <= (count + 1) * max(4, count):
        count += 1
        if count == len(behind):
            behind = line.followers(work.view, other.place, count + 1)
    at_end = count == len(behind)
    room_behind = (count + 2) * line.GAP if at_end else behind[count].place - other.place
    step = room_behind // (count + 1)
    places = tuple((b.number, other.place + (i + 1) * step) for i, b in enumerate(behind[:count]))
    work.emit(e.Respread(work.now, tuple(reversed(places))), by="rule")


def resolve(work: Work, command: c.Resolve) -> Done | Refusal:
    """Refusals, in order: unknown, invalid, too_late."""
    view = work.view
    opening = handed_back(view, command.opening)
    if opening is None:
        return unknown("opening", command.opening)
    if command.action not in ("again", "free", "close"):
        return invalid("action", "action must be again, free or close.")
    unit = view.units[opening.unit] if opening.unit is not None else None
    if command.action == "again" and too_late(work, unit, work.now):
        return _starts_too_soon()
    how = {"again": "again", "free": "freed", "close": "closed"}[command.action]
    if how == "freed" and opening_of(view, opening.quota, None) is not None:
        # No room has two openings: what is freed beside one that goes on joins it.
        how = "again"
    if command.action == "again":
        # It becomes free for the line, not for a newcomer: if nobody can be asked, it comes back.
        work.vacate(opening.quota, (opening.unit,) if opening.unit is not None else ())
    work.emit(e.OpeningEnded(work.now, opening.number, how))
    if command.action == "close" and opening.unit is not None:
        work.emit(e.UnitClosed(work.now, opening.unit))
    elif command.action == "close":
        work.emit(e.PoolChanged(work.now, _smaller(view, opening), "handed back and closed"))
    return Done()


def _smaller(view: View, opening: Opening) -> Pool:
    """The pool without an opening's seats: they are its quota's own first, then of the open share."""
    pool, quota = view.pool, view.pool.quota(opening.quota)
    if quota is None or quota.size is None:
        return replace(pool, version=pool.version + 1)
    own = min(opening.quantity, max(0, quota.size - taken(view, quota.key)))
    shared = min(opening.quantity - own, max(0, pool.open_size - overflow(view)))
    quotas = tuple(replace(q, size=q.size - own) if q is quota and q.size else q for q in pool.quotas)
    return replace(pool, quotas=quotas, open_size=pool.open_size - shared, version=pool.version + 1)
