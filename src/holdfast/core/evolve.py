"""How each event changes a view. It never refuses: events are facts.

Law: `evolve` is the only way a view changes, in a decision and in a replay alike. So replaying the
log from nothing gives the state that the decisions left.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from holdfast.core import events as e
from holdfast.core.model import (
    CANCELLED,
    CLOSED,
    CONFIRMED,
    EXPIRED,
    HELD,
    OFFERED,
    WAITING,
    Answers,
    Booking,
    Offer,
    Opening,
    Party,
    Tally,
    Unit,
)
from holdfast.core.view import View


def evolve(view: View, event: e.Event, party: Party | None = None, answers: Answers | None = None) -> View:
    """The view after the event. `party` and `answers` are the details that the log does not keep."""
    if isinstance(event, e.Joined):
        _joined(view, event, party)
    elif isinstance(event, e.Held):
        _held(view, event, party)
    elif isinstance(event, e.BookingChanged):
        _booking_changed(view, event, party, answers)
    else:
        _EVOLVE[type(event)](view, event)
    return view


def _joined(view: View, event: e.Joined, party: Party | None) -> None:
    _count_arrival(view, event)
    view.put_booking(
        Booking(
            event.booking,
            event.reference,
            party or Party(event.party, tags=event.tags, attributes=event.attributes),
            event.quota,
            event.quantity,
            WAITING,
            event.place,
            event.arrival,
            event.priority,
            wants=event.wants,
            asked_price=event.asked_price,
            expires_at=event.expires_at,
            created_at=event.at,
            updated_at=event.at,
        )
    )


def _held(view: View, event: e.Held, party: Party | None) -> None:
    _count_arrival(view, event)
    fields: tuple[Any, ...] = (
        event.booking,
        event.reference,
        party or Party(event.party, tags=event.tags, attributes=event.attributes),
        event.quota,
        event.quantity,
        CONFIRMED if event.confirmed else HELD,
        event.place,
        event.arrival,
        0,
        None,
        None,
        event.price,
        event.price,
        event.units,
        0,
        0,
        0,
        0,
        None,
        event.at,
        event.expires_at,
        event.at if event.confirmed else None,
        event.at,
        event.at,
        None,
        {},
    )
    # The same as Booking(*fields), which is a function of Python's and costs as much as all the rest.
    view.put_booking(tuple.__new__(Booking, fields))


def _count_arrival(view: View, event: e.Joined | e.Held) -> None:
    if event.booking > view.numbers:
        view.numbers = event.booking
    if event.arrival > view.arrivals:
        view.arrivals = event.arrival


def _pool_created(view: View, event: e.PoolCreated) -> None:
    view.pool = event.pool
    for quota in event.pool.quotas:
        view.put(view.tallies, quota.key, Tally())


def _pool_changed(view: View, event: e.PoolChanged) -> None:
    view.pool = event.pool
    for quota in event.pool.quotas:
        if quota.key not in view.tallies:
            view.put(view.tallies, quota.key, Tally())


def _units_added(view: View, event: e.UnitsAdded) -> None:
    for unit in event.units:
        view.put(view.units, unit["label"], Unit(**unit))
        view.units_made = max(view.units_made, unit["ordinal"])


def _unit_closed(view: View, event: e.UnitClosed) -> None:
    view.put(view.units, event.label, view.units[event.label]._replace(closed=True))


def _promoted(view: View, event: e.Promoted) -> None:
    confirmed_at = view.bookings[event.booking].confirmed_at
    if event.state == CONFIRMED and confirmed_at is None:
        confirmed_at = event.at
    _change(
        view,
        event,
        state=event.state,
        position=event.position,
        units=event.units,
        price=event.price,
        held_at=event.at,
        expires_at=event.expires_at,
        confirmed_at=confirmed_at,
    )


def _offered(view: View, event: e.Offered) -> None:
    booking = view.bookings[event.booking]
    _change(
        view,
        event,
        state=OFFERED,
        position=event.position,
        units=event.units,
        price=event.price,
        offer_seq=event.seq,
        offer_quantity=event.quantity,
        attempts=booking.attempts + 1,
        round=event.round,
        offered_at=event.at,
        expires_at=event.expires_at,
    )
    offer = Offer(
        event.booking, event.seq, event.openings, event.quantity, event.units, event.at, event.expires_at
    )
    view.put(view.offers, (event.booking, event.seq), offer)
    for number in event.openings:
        opening = view.openings[number]
        view.put(view.openings, number, opening._replace(tries=opening.tries + 1))
        view.put(view.tried, (number, event.booking), True)


def _claimed(view: View, event: e.Claimed) -> None:
    booking = view.bookings[event.booking]
    _answer_offer(view, event, "claimed", event.part)
    got: dict[str, Any] = {
        "state": event.state,
        "units": event.units,
        "offer_quantity": 0,
        "expires_at": event.expires_at,
        "held_at": event.at,
        "confirmed_at": event.at if event.state == CONFIRMED else None,
    }
    if event.part is None:
        _change(view, event, quantity=event.quantity, **got)
        return
    # The accepted part becomes a booking of its own; the rest goes on waiting as if never asked.
    _change(
        view,
        event,
        state=WAITING,
        quantity=booking.quantity - event.quantity,
        units=(),
        price=None,
        offer_quantity=0,
        attempts=0,
        round=0,
        offered_at=None,
        expires_at=None,
        position=None,
    )
    _clear_turns(view, event.booking)
    view.numbers = max(view.numbers, event.part)
    view.arrivals = max(view.arrivals, event.part_arrival)
    part = booking._replace(
        number=event.part,
        reference=event.part_reference,
        arrival=event.part_arrival,
        quantity=event.quantity,
        created_at=event.at,
        updated_at=event.at,
        split_from=event.booking,
        position=None,
        offer_seq=0,
        attempts=0,
        round=0,
        offered_at=None,
        **got,
    )
    view.put_booking(part)


def _declined(view: View, event: e.Declined) -> None:
    _offer_over(view, event, "declined")


def _lapsed(view: View, event: e.Lapsed) -> None:
    _offer_over(view, event, "lapsed")


def _offer_over(view: View, event: e.Declined | e.Lapsed, outcome: str) -> None:
    _answer_offer(view, event, outcome)
    view.arrivals = max(view.arrivals, event.arrival)
    _change(
        view,
        event,
        state=event.state,
        place=event.place,
        arrival=event.arrival,
        units=(),
        price=None,
        offer_quantity=0,
        expires_at=None,
    )


def _confirmed(view: View, event: e.Confirmed) -> None:
    state = view.bookings[event.booking].state
    _change(
        view, event, state=WAITING if state == WAITING else CONFIRMED, confirmed_at=event.at, expires_at=None
    )


def _extended(view: View, event: e.Extended) -> None:
    _change(view, event, expires_at=event.expires_at)


def _booking_changed(
    view: View, event: e.BookingChanged, party: Party | None, answers: Answers | None
) -> None:
    given = {"party": party, "answers": answers}
    _change(view, event, **{name: value for name, value in given.items() if value is not None})


def _expired(view: View, event: e.Expired) -> None:
    _end(view, event, EXPIRED)


def _cancelled(view: View, event: e.Cancelled) -> None:
    _end(view, event, CANCELLED)


def _closed(view: View, event: e.Closed) -> None:
    _end(view, event, CLOSED)


def _end(view: View, event: e.Expired | e.Cancelled | e.Closed, state: str) -> None:
    booking = view.bookings[event.booking]
    if booking.state == OFFERED:
        _answer_offer(view, event, "withdrawn")
    position = booking.position if event.position is None else event.position
    _change(view, event, state=state, position=position, units=(), offer_quantity=0, expires_at=None)


def _moved(view: View, event: e.Moved) -> None:
    view.arrivals = max(view.arrivals, event.arrival)
    _change(view, event, place=event.place)


def _respread(view: View, event: e.Respread) -> None:
    for number, place in event.places:
        view.put_booking(view.bookings[number]._replace(place=place))


def _demoted(view: View, event: e.Demoted) -> None:
    booking = view.bookings[event.booking]
    if booking.state == OFFERED:
        _answer_offer(view, event, "withdrawn")
    if event.part is not None:
        part = view.bookings[event.part]
        view.put_booking(part._replace(state=CLOSED, units=(), expires_at=None, updated_at=event.at))
    # It lost its room through no fault of its own: it waits as if never asked.
    _change(
        view,
        event,
        state=WAITING,
        quantity=booking.quantity + event.quantity,
        place=event.place,
        units=(),
        price=None,
        offer_quantity=0,
        attempts=0,
        round=0,
        offered_at=None,
        position=None,
        expires_at=event.expires_at,
    )
    _clear_turns(view, event.booking)


def _round_started(view: View, event: e.RoundStarted) -> None:
    view.round = event.round


def _opening_started(view: View, event: e.OpeningStarted) -> None:
    view.openings_made = max(view.openings_made, event.opening)
    view.put(view.openings, event.opening, Opening(event.opening, event.quota, event.unit, event.at))


def _opening_reduced(view: View, event: e.OpeningReduced) -> None:
    opening = view.openings[event.opening]
    view.add_aside(opening.quota, event.quantity - opening.quantity)
    view.put(view.openings, event.opening, opening._replace(quantity=event.quantity))


def _opening_ended(view: View, event: e.OpeningEnded) -> None:
    opening = view.openings[event.opening]
    if opening.state == "handed_back" and opening.unit is None:
        view.add_aside(opening.quota, -opening.quantity)
    view.put(view.openings, event.opening, opening._replace(state=event.how))


def _handed_back(view: View, event: e.HandedBack) -> None:
    opening = view.openings[event.opening]
    if opening.unit is None:
        view.add_aside(opening.quota, event.quantity)
    view.put(
        view.openings,
        event.opening,
        opening._replace(state="handed_back", quantity=event.quantity, note=event.note),
    )


def _change(view: View, event: Any, **fields: Any) -> None:
    view.put_booking(view.bookings[event.booking]._replace(updated_at=event.at, **fields))


def _clear_turns(view: View, number: int) -> None:
    """At the openings that go on, the booking counts as never asked; those that are over are past."""
    for opening in view.openings.values():
        if opening.state in ("open", "freed", "handed_back") and view.tried.get((opening.number, number)):
            view.put(view.tried, (opening.number, number), False)


def _answer_offer(view: View, event: Any, outcome: str, part: int | None = None) -> None:
    booking = view.bookings[event.booking]
    key = (booking.number, booking.offer_seq)
    offer = view.offers[key]
    view.put(view.offers, key, offer._replace(outcome=outcome, answered_at=event.at, part=part))


_EVOLVE: dict[type[Any], Callable[[View, Any], None]] = {
    e.PoolCreated: _pool_created,
    e.PoolChanged: _pool_changed,
    e.UnitsAdded: _units_added,
    e.UnitClosed: _unit_closed,
    e.Promoted: _promoted,
    e.Offered: _offered,
    e.Claimed: _claimed,
    e.Declined: _declined,
    e.Lapsed: _lapsed,
    e.Confirmed: _confirmed,
    e.Extended: _extended,
    e.Expired: _expired,
    e.Cancelled: _cancelled,
    e.Closed: _closed,
    e.Moved: _moved,
    e.Respread: _respread,
    e.Demoted: _demoted,
    e.RoundStarted: _round_started,
    e.OpeningStarted: _opening_started,
    e.OpeningReduced: _opening_reduced,
    e.OpeningEnded: _opening_ended,
    e.HandedBack: _handed_back,
    # What it redacted is replayed as it stands now.
    e.Erased: lambda view, event: None,
}
