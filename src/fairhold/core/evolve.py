"""How each event changes a view. It never refuses: events are facts.

Law: `evolve` is the only way the state in a view changes, in a decision and in a replay alike. So replaying
the log from nothing gives the state that the decisions left. Beside it a view has what no replay needs: when
to wake (`due_at`, which decisions may set earlier than any deadline), and hints for whoever reads the line.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from fairhold.core import events as e
from fairhold.core.model import (
    BY_STAFF,
    CANCELLED,
    CLOSED,
    CONFIRMED,
    DELAYED,
    ENDED,
    EXPIRED,
    HELD,
    LIVE,
    OFFERED,
    TOLD,
    UNREACHABLE,
    WAITING,
    Answers,
    Booking,
    Ending,
    Offer,
    Opening,
    Party,
    Tally,
    Unit,
)
from fairhold.core.view import View

# A booking that is over takes no room; one that lost its offer or its seat has no price either.
_NO_ROOM: Final[Mapping[str, Any]] = {"units": (), "offer_quantity": 0, "expires_at": None}
_NO_OFFER: Final[Mapping[str, Any]] = {**_NO_ROOM, "price": None}
# One that goes on waiting through no fault of its own does so as if never asked.
_NEVER_ASKED: Final[Mapping[str, Any]] = {"attempts": 0, "round": 0, "offered_at": None, "position": None}


def evolve(view: View, event: e.Event, party: Party | None = None, answers: Answers | None = None) -> None:
    """Change the view by the event. `party` and `answers` are the details that the log does not keep."""
    if isinstance(event, e.Joined):
        _joined(view, event, party)
    elif isinstance(event, e.Held):
        _held(view, event, party)
    elif isinstance(event, e.BookingChanged):
        _booking_changed(view, event, party, answers)
    else:
        _EVOLVE[type(event)](view, event)


def _joined(view: View, event: e.Joined, party: Party | None) -> None:
    _count_arrival(view, event)
    who = party or Party(event.party, tags=event.tags, attributes=event.attributes)
    asked = (event.booking, event.reference, who, event.quota, event.quantity, WAITING)
    wishes = {"wants": event.wants, "asked_price": event.asked_price, "expires_at": event.expires_at}
    made = Booking(*asked, event.place, event.arrival, event.priority, **wishes)  # type: ignore[arg-type]
    begun: dict[str, Any] = {"created_at": event.at, "updated_at": event.at, "door": event.door}
    view.put_booking(made._replace(confirmed_at=event.at if event.confirmed else None, **begun))


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
        event.door,
        "",
    )
    # The same as Booking(*fields), which is a function of Python's and costs as much as all the rest.
    view.put_booking(tuple.__new__(Booking, fields))


def _count_arrival(view: View, event: e.Joined | e.Held) -> None:
    if event.booking > view.numbers:
        view.numbers = event.booking
    if event.arrival > view.arrivals:
        view.arrivals = event.arrival


def _pool_made(view: View, event: e.PoolCreated | e.PoolChanged) -> None:
    view.pool = event.pool
    for quota in event.pool.quotas:
        if quota.key not in view.tallies:
            view.put(view.tallies, quota.key, Tally(round=view.round))


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
    given = _given(event, "state", "position", "units", "price", "expires_at")
    _change(view, event, **given, held_at=event.at, confirmed_at=confirmed_at)


def _offered(view: View, event: e.Offered) -> None:
    _change(
        view,
        event,
        **_given(event, "position", "units", "price", "round", "expires_at"),
        state=OFFERED,
        offer_seq=event.seq,
        offer_quantity=event.quantity,
        attempts=view.bookings[event.booking].attempts + 1,
        offered_at=event.at,
    )
    made = (event.booking, event.seq, event.openings, event.quantity, event.units, event.at, event.expires_at)
    offer = Offer(*made, told=_who_tells(view.bookings[event.booking], event))
    view.put(view.offers, (event.booking, event.seq), offer)
    for number in event.openings:
        opening = view.openings[number]
        view.put_opening(opening._replace(tries=opening.tries + 1))
        view.put(view.tried, (number, event.booking), True)


def _who_tells(booking: Booking, event: e.Offered) -> str:
    """Return BY_STAFF if staff tell the party of this offer; empty where the channels do.

    Who of staff offers a seat to a party that no channel can reach tells it of that offer, and of no other.
    """
    by_staff = booking.reach == BY_STAFF or (event.why and booking.reach in UNREACHABLE)
    return BY_STAFF if by_staff else ""


def _claimed(view: View, event: e.Claimed) -> None:
    booking = view.bookings[event.booking]
    _answer_offer(view, event, "claimed", event.part)
    if event.opening is not None:
        opening = view.openings[event.opening]
        view.put_opening(opening._replace(tries=opening.tries - 1))
    confirmed_at = event.at if event.state == CONFIRMED else None
    got = _given(event, "state", "quantity", "units", "expires_at")
    got |= {"offer_quantity": 0, "held_at": event.at, "confirmed_at": confirmed_at}
    if event.part is None:
        _change(view, event, **got)
        return
    # The accepted part becomes a booking of its own; the rest goes on waiting as if never asked.
    rest = booking.quantity - event.quantity
    _change(view, event, **_NO_OFFER, **_NEVER_ASKED, state=WAITING, quantity=rest)
    _clear_turns(view, event.booking)
    view.numbers = max(view.numbers, event.part)
    view.arrivals = max(view.arrivals, event.part_arrival)
    part = booking._replace(
        number=event.part,
        reference=event.part_reference,
        arrival=event.part_arrival,
        created_at=event.at,
        updated_at=event.at,
        split_from=event.booking,
        offer_seq=0,
        **_NEVER_ASKED,
        **got,
    )
    view.put_booking(part)


def _offer_over(view: View, event: e.Declined | e.Lapsed, outcome: str) -> None:
    _answer_offer(view, event, outcome)
    if event.state in ENDED:
        view.put(view.endings, event.booking, Ending(OFFERED))
    view.arrivals = max(view.arrivals, event.arrival)
    _change(view, event, **_NO_OFFER, **_given(event, "state", "place", "arrival"))


def _not_reached(view: View, event: e.NotReached) -> None:
    """Take the offer back as if it had never been made: neither booking nor openings remember a try."""
    booking = view.bookings[event.booking]
    for number in view.offers[booking.number, event.seq].openings:
        opening = view.openings.get(number)
        if opening is not None and opening.state in LIVE:
            view.put_opening(opening._replace(tries=opening.tries - 1))
            view.put(view.tried, (number, booking.number), False)
    _answer_offer(view, event, "unreachable")
    waits = {"state": WAITING, "attempts": booking.attempts - 1, "offered_at": None}
    _change(view, event, **_NO_OFFER, **waits, round=event.round, reach=event.reason)


def _told(view: View, event: e.Told) -> None:
    if event.seq is not None:
        _note_told(view, event.booking, event.seq, TOLD)
    if view.bookings[event.booking].reach in UNREACHABLE:
        _change(view, event, reach="")


def _note_told(view: View, number: int, seq: int, told: str) -> None:
    view.put(view.offers, (number, seq), view.offers[number, seq]._replace(told=told))


def _confirmed(view: View, event: e.Confirmed) -> None:
    # Who confirms in line goes on waiting.
    state = WAITING if view.bookings[event.booking].state == WAITING else CONFIRMED
    _change(view, event, state=state, confirmed_at=event.at, expires_at=None)


def _booking_changed(
    view: View, event: e.BookingChanged, party: Party | None, answers: Answers | None
) -> None:
    given: dict[str, Any] = {"party": party, "answers": answers}
    if "told_by_staff" in event.details:
        given["reach"] = BY_STAFF
        _change_who_tells(view, event.booking, BY_STAFF)
    elif "told_by_channels" in event.details:
        given["reach"] = ""
        _change_who_tells(view, event.booking, "")
    elif "contacts" in event.details and view.bookings[event.booking].reach in UNREACHABLE:
        # Staff who tell it themselves go on doing so.
        given["reach"] = ""
    _change(view, event, **{name: value for name, value in given.items() if value is not None})


def _change_who_tells(view: View, number: int, told: str) -> None:
    """Have staff tell the party of its live offer, or the channels; but not of one that it has heard of."""
    booking = view.bookings[number]
    if booking.state == OFFERED and view.offers[number, booking.offer_seq].told != TOLD:
        _note_told(view, number, booking.offer_seq, told)


def _ended(view: View, event: e.Expired | e.Cancelled | e.Closed, state: str) -> None:
    booking = view.bookings[event.booking]
    if booking.state == OFFERED:
        _answer_offer(view, event, "withdrawn")
    view.put(view.endings, event.booking, Ending(booking.state, booking.units))
    position = booking.position if event.position is None else event.position
    _change(view, event, **_NO_ROOM, state=state, position=position)


def _moved(view: View, event: e.Moved) -> None:
    # The arrival is used up, not given: who loses a seat to a smaller pool is judged by when it came.
    view.arrivals = max(view.arrivals, event.arrival)
    _change(view, event, place=event.place)


def _put_back(view: View, event: e.PutBack) -> None:
    view.arrivals = max(view.arrivals, event.arrival)
    again = _given(event, "state", "place", "units", "expires_at")
    if event.state == WAITING:
        again |= {"price": None, **_NEVER_ASKED, **_keep_price(event)}
        _clear_turns(view, event.booking)
    else:
        again["held_at"] = event.at
    _change(view, event, **again)


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
        view.put(view.endings, event.part, Ending(CLOSED))
    # It lost its room through no fault of its own: it waits as if never asked.
    waits = {**_NO_OFFER, **_NEVER_ASKED, **_given(event, "place", "expires_at"), **_keep_price(event)}
    _change(view, event, **waits, state=WAITING, quantity=booking.quantity + event.quantity)
    _clear_turns(view, event.booking)


def _keep_price(event: e.Demoted | e.PutBack) -> dict[str, Any]:
    """What it costs when it gets room again; None leaves that as it is."""
    return {} if event.asked_price is None else {"asked_price": event.asked_price}


def _round_started(view: View, event: e.RoundStarted) -> None:
    view.round = max(view.round, event.round)
    for key in (event.quota,) if event.quota else tuple(view.tallies):
        view.put(view.tallies, key, view.tallies[key]._replace(round=event.round))


def _opening_started(view: View, event: e.OpeningStarted) -> None:
    view.openings_made = max(view.openings_made, event.opening)
    view.put_opening(Opening(event.opening, event.quota, event.unit, event.at))


def _opening_reduced(view: View, event: e.OpeningReduced) -> None:
    opening = view.openings[event.opening]
    view.add_aside(opening.quota, event.quantity - opening.quantity)
    view.put_opening(opening._replace(quantity=event.quantity))


def _opening_ended(view: View, event: e.OpeningEnded) -> None:
    opening = view.openings[event.opening]
    if opening.state == "handed_back" and opening.unit is None:
        view.add_aside(opening.quota, -opening.quantity)
    view.put_opening(opening._replace(state=event.how))


def _handed_back(view: View, event: e.HandedBack) -> None:
    opening = view.openings[event.opening]
    if opening.unit is None:
        view.add_aside(opening.quota, event.quantity)
    after = opening._replace(state="handed_back", quantity=event.quantity, note=event.note)
    view.put_opening(after)


def _given(event: e.Event, *names: str) -> dict[str, Any]:
    """These fields of the event, which the booking has from now on."""
    return {name: getattr(event, name) for name in names}


def _change(view: View, event: Any, **fields: Any) -> None:
    view.put_booking(view.bookings[event.booking]._replace(updated_at=event.at, **fields))


def _clear_turns(view: View, number: int) -> None:
    """At the openings that go on, the booking counts as never asked; those that are over are past."""
    for opening in view.openings.values():
        if opening.state in LIVE and view.tried.get((opening.number, number)):
            view.put(view.tried, (opening.number, number), False)


def _answer_offer(view: View, event: Any, outcome: str, part: int | None = None) -> None:
    booking = view.bookings[event.booking]
    key = (booking.number, booking.offer_seq)
    offer = view.offers[key]
    view.put(view.offers, key, offer._replace(outcome=outcome, answered_at=event.at, part=part))


_EVOLVE: Final[Mapping[type[e.Event], Callable[[View, Any], None]]] = {
    e.PoolCreated: _pool_made,
    e.PoolChanged: _pool_made,
    e.UnitsAdded: _units_added,
    e.UnitClosed: _unit_closed,
    e.Promoted: _promoted,
    e.Offered: _offered,
    e.Claimed: _claimed,
    e.Declined: partial(_offer_over, outcome="declined"),
    e.Lapsed: partial(_offer_over, outcome="lapsed"),
    e.NotReached: _not_reached,
    e.Told: _told,
    e.Delayed: lambda view, event: _note_told(view, event.booking, event.seq, DELAYED),
    e.Reachable: lambda view, event: _change(view, event, reach=""),
    e.Confirmed: _confirmed,
    e.Completed: lambda view, event: _change(view, event, expires_at=None),
    e.Extended: lambda view, event: _change(view, event, expires_at=event.expires_at),
    e.Expired: partial(_ended, state=EXPIRED),
    e.Cancelled: partial(_ended, state=CANCELLED),
    e.Closed: partial(_ended, state=CLOSED),
    e.Moved: _moved,
    e.PutBack: _put_back,
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
