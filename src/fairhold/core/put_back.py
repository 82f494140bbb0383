"""Putting back: staff undo the end of a booking, however it came.

Law: who had seats is first in line for them: it has them again if they are free, else it waits at the head
of the line. Who was in line stands where it stood, or right behind who stands there now. Whoever waits again
does so as if never asked.
"""

from __future__ import annotations

from fairhold.core import commands as c
from fairhold.core import events as e
from fairhold.core import line
from fairhold.core.book import already_holding, named_units, not_open_to
from fairhold.core.model import (
    CLOSED,
    CONFIRMED,
    ERASED,
    HAS_SEATS,
    HELD,
    IN_PLAY,
    KEEPS_PLACE,
    WAITING,
    Booking,
    Ending,
    Quota,
)
from fairhold.core.obey import signup_ends
from fairhold.core.refusals import Refusal, already_waiting, not_enough_room, not_possible, unknown
from fairhold.core.room import free_units, room
from fairhold.core.staff import place_behind
from fairhold.core.view import Need, View
from fairhold.core.work import Done, Work


def put_back(work: Work, command: c.PutBack, booking: Booking) -> Done | Refusal:
    """What is in play already is one yes, said twice.

    Refusals, in order: not_possible, unknown, pool_closed, already_holding; where its seats are not free and
    there is no line: not_enough_room, unit_taken; already_waiting.
    """
    view, pool, number = work.view, work.view.pool, booking.number
    if booking.state in IN_PLAY:
        return Done(number, repeated=True)
    had = _ending(view, number)
    if had.state == CLOSED:
        return not_possible(number, booking.state, "was joined to the rest of its party")
    if booking.party.id.startswith(ERASED):
        return not_possible(number, booking.state, "and whose party was erased cannot be put back")
    quota = pool.quota(booking.quota)
    if quota is None:
        return unknown("quota", booking.quota)
    if refused := not_open_to(pool, command.by, work.now):
        return refused
    view.require("party", booking.party.id)
    mine = view.of_party(booking.party.id)
    if booking.confirmed_at is None and (refused := already_holding(view, mine)):
        return refused
    refused = _no_seats(work, booking, quota, had)
    if refused is None:
        _take_seats_again(work, command, booking, had)
        return Done(number)
    if pool.policy.promotion is None or pool.over(work.now) is not None:
        return refused
    in_line = [other.number for other in mine if other.state in KEEPS_PLACE]
    if in_line:
        return already_waiting(in_line[0])
    _wait_again(work, command, booking, had)
    return Done(number)


def _ending(view: View, number: int) -> Ending:
    if number not in view.endings:
        raise Need("ending", number)
    return view.endings[number]


def _no_seats(work: Work, booking: Booking, quota: Quota, had: Ending) -> Refusal | None:
    """Why it cannot have its seats again; None if it can."""
    view, free = work.view, room(work.view, quota, work.now)
    # The quota may have been made anew since, by units where it was by number.
    other_kind = bool(had.units) is not quota.by_units
    if had.state not in HAS_SEATS or other_kind or (not had.units and free < booking.quantity):
        return not_enough_room(booking.quantity, free if free < booking.quantity else 0)
    found = named_units(had.units, free_units(view, quota.key, work.now))
    return found if isinstance(found, Refusal) else None


def _take_seats_again(work: Work, command: c.PutBack, booking: Booking, had: Ending) -> None:
    held = booking.confirmed_at is None
    state, stands = HELD if held else CONFIRMED, (booking.place, booking.arrival, None)
    expires_at = work.now + work.view.pool.policy.hold_window if held else None
    _emit(work, e.PutBack(work.now, booking.number, state, *stands, had.units, expires_at, command.why))
    work.remind(booking.number)


def _wait_again(work: Work, command: c.PutBack, booking: Booking, had: Ending) -> None:
    view, policy = work.view, work.view.pool.policy
    place = line.place_at_front(view) if had.state in HAS_SEATS else _own_place(work, booking)
    stands = (place, view.arrivals + 1, line.position(view, place))
    confirmed = booking.confirmed_at is not None
    expires_at = signup_ends(policy, work.now + policy.hold_window, confirmed=confirmed)
    price = booking.price if had.state in HAS_SEATS else None
    _emit(work, e.PutBack(work.now, booking.number, WAITING, *stands, (), expires_at, command.why, price))


def _own_place(work: Work, booking: Booking) -> int:
    """The place that it had; or, if somebody was moved there since, the one behind."""
    there = line.followers(work.view, booking.place - 1)
    taken = bool(there) and there[0].place == booking.place
    return place_behind(work, there[0]) if taken else booking.place


def _emit(work: Work, event: e.PutBack) -> None:
    work.emit(event)
    told = {"position": event.position, "expires_at": event.expires_at}
    work.tell("put_back", event.booking, state=event.state, **told)
