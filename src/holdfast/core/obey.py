"""What people ask: book, confirm, cancel, extend, claim, decline.

In each function refusals come first, in order of precedence; after the last of them it must succeed.
"""

from __future__ import annotations

from holdfast.core import commands as c
from holdfast.core import events as e
from holdfast.core import line
from holdfast.core.conditions import matches
from holdfast.core.fill import fill, line_could_use
from holdfast.core.model import (
    CANCELLED,
    CLOSED,
    CONFIRMED,
    DECLINED,
    EXPIRED,
    HELD,
    IN_PLAY,
    OFFERED,
    WAITING,
    Booking,
    Offer,
    Quota,
    Unit,
    is_whole,
)
from holdfast.core.policy import LENGTH_MAX
from holdfast.core.reference import reference
from holdfast.core.refusals import Refusal, invalid, not_enough_room, unknown
from holdfast.core.room import best_available, free_units, is_open, room, suits
from holdfast.core.view import Need, View
from holdfast.core.work import Done, Work


def book(work: Work, command: c.Book) -> Done | Refusal:
    """Hold room if there is some that nobody in line could use; else wait, or be refused.

    Refusals, in order: invalid, unknown, pool_closed, pool_paused, not_open_yet, not_eligible,
    already_waiting, already_holding, unit_taken, not_enough_room.
    """
    view = work.view
    quota = _quota_for(view, command)
    if isinstance(quota, Refusal):
        return quota
    refused = _wrong_request(view, command, quota) or _not_open(work, command)
    if refused:
        return refused
    if quota.eligible and not matches(quota.eligible, command.party.tags, command.party.attributes):
        return Refusal("not_eligible", f"{quota.title or quota.key} is not open to this party.", "quota")
    known = _already_there(work, command, quota)
    if known:
        return known
    if command.opening is not None:
        return _book_opening(work, command, quota)
    if view.waiting:
        # Whatever has just become free belongs to the line first.
        fill(work)
    units = _units_for(work, command, quota)
    if isinstance(units, Refusal):
        return units
    if units is not None:
        return _hold(work, command, quota, units)
    if (command.if_full or view.pool.policy.if_full) == "refuse":
        free = room(view, quota, work.now)
        return not_enough_room(command.quantity, free if free < command.quantity else 0)
    return _join(work, command, quota)


def _quota_for(view: View, command: c.Book) -> Quota | Refusal:
    if command.quota is None:
        if len(view.pool.quotas) == 1:
            return view.pool.quotas[0]
        named = {view.units[label].quota for label in command.units if label in view.units}
        if len(named) != 1:
            keys = ", ".join(quota.key for quota in view.pool.quotas)
            return invalid("quota", f"This pool has several quotas; say which: {keys}.")
        (key,) = named
    else:
        key = command.quota
    return view.pool.quota(key) or unknown("quota", key)


def _wrong_request(view: View, command: c.Book, quota: Quota) -> Refusal | None:
    quantity, policy = command.quantity, view.pool.policy
    if not is_whole(quantity, policy.quantity_max):
        return invalid("quantity", f"quantity must be a whole number from 1 to {policy.quantity_max}.")
    if command.if_full not in (None, "refuse", "wait"):
        return invalid("if_full", "if_full must be refuse or wait.")
    if command.if_full == "wait" and policy.promotion is None:
        return invalid("if_full", "This pool has no line to wait in.")
    if command.wants is not None and not quota.by_units:
        return invalid("wants", "Only a quota made of units can be wanted by attributes or time.")
    if not command.units:
        return None
    if not quota.by_units:
        return invalid("units", f"The quota {quota.key!r} is not made of units.")
    if len(set(command.units)) != len(command.units) or len(command.units) != quantity:
        return invalid("units", "Name each unit once, and as many as the quantity.")
    for label in command.units:
        if label not in view.units:
            return unknown("unit", label)
        if view.units[label].quota != quota.key:
            return invalid("units", f"The unit {label!r} is not in the quota {quota.key!r}.")
    return None


def _not_open(work: Work, command: c.Book) -> Refusal | None:
    pool, now = work.view.pool, work.now
    if pool.status in ("closed", "cancelled"):
        return Refusal("pool_closed", f"{pool.title or pool.key} is {pool.status}.")
    if command.by.startswith("staff"):
        return None
    if pool.status == "paused":
        return Refusal("pool_paused", f"{pool.title or pool.key} is paused for the moment.")
    if pool.opens_at is not None and now < pool.opens_at:
        facts = {"opens_at": pool.opens_at}
        return Refusal("not_open_yet", f"{pool.title or pool.key} is not open yet.", None, facts)
    ended = [at for at in (pool.closes_at, pool.starts_at) if at is not None and at <= now]
    return Refusal("pool_closed", f"{pool.title or pool.key} is closed.") if ended else None


def _already_there(work: Work, command: c.Book, quota: Quota) -> Done | Refusal | None:
    """A doubled join gets the first one; another place in line, or one hold too many, is refused."""
    view = work.view
    numbers = view.by_party.get(command.party.id)
    if not numbers:
        return None
    mine = [booking for number in numbers if (booking := view.bookings.get(number))]
    for booking in mine:
        if booking.state in (WAITING, OFFERED):
            if _same_terms(booking, command, quota):
                return Done(booking.number, repeated=True)
            facts = {"booking": booking.number}
            return Refusal("already_waiting", "This party is already in line here.", "party", facts)
    holds = [booking for booking in mine if booking.state == HELD]
    holds_max = view.pool.policy.holds_per_party_max
    if holds_max is not None and len(holds) >= holds_max:
        facts = {"booking": holds[-1].number}
        return Refusal("already_holding", "This party already has a live hold here.", "party", facts)
    return None


def _same_terms(booking: Booking, command: c.Book, quota: Quota) -> bool:
    asked = (quota.key, command.quantity, command.wants)
    same = (booking.quota, booking.quantity, booking.wants) == asked
    return same and not command.units and command.opening is None


def _units_for(work: Work, command: c.Book, quota: Quota) -> tuple[str, ...] | Refusal | None:
    """The units a newcomer gets (none for a quota by number); None when there is no room for them."""
    view, quantity = work.view, command.quantity
    if not quota.by_units:
        if room(view, quota, work.now) < quantity or line_could_use(work, quota, quantity):
            return None
        return ()
    free = free_units(view, quota.key, work.now)
    if view.tallies[quota.key].waiting:
        free = [unit for unit in free if not line_could_use(work, quota, 1, unit)]
    if command.units:
        return _named_units(command.units, free)
    best = best_available([unit for unit in free if suits(command.wants, unit)], quantity)
    return tuple(unit.label for unit in best) or None


def _named_units(labels: tuple[str, ...], free: list[Unit]) -> tuple[str, ...] | Refusal:
    free_labels = {unit.label for unit in free}
    taken = [label for label in labels if label not in free_labels]
    if taken:
        return Refusal("unit_taken", f"Not free: {', '.join(taken)}.", "units", {"units": taken})
    return labels


def _hold(work: Work, command: c.Book, quota: Quota, units: tuple[str, ...]) -> Done:
    view = work.view
    number, arrival = view.numbers + 1, view.arrivals + 1
    event = e.Held(
        work.now,
        number,
        reference(view.pool.id, number),
        command.party.id,
        command.party.tags,
        command.party.attributes,
        quota.key,
        command.quantity,
        arrival,
        line.place_of(0, arrival),
        units,
        command.price or view.pool.price,
        None if command.confirmed else work.now + view.pool.policy.hold_window,
        command.confirmed,
    )
    work.emit(event, command.party)
    if command.confirmed:
        work.tell("confirmed", number)
    return Done(number)


def _join(work: Work, command: c.Book, quota: Quota) -> Done:
    view, policy = work.view, work.view.pool.policy
    number, arrival = view.numbers + 1, view.arrivals + 1
    priority = line.priority_of(policy, command.party) if policy.priority_rules else 0
    place = line.place_of(priority, arrival)
    event = e.Joined(
        work.now,
        number,
        reference(view.pool.id, number),
        command.party.id,
        command.party.tags,
        command.party.attributes,
        quota.key,
        command.quantity,
        priority,
        arrival,
        place,
        line.position(view, place),
        command.wants,
        command.price,
        work.now + policy.hold_window if policy.confirm_while_waiting else None,
    )
    work.emit(event, command.party)
    work.tell("joined", number, position=event.position, expires_at=event.expires_at)
    return Done(number)


def _book_opening(work: Work, command: c.Book, quota: Quota) -> Done | Refusal:
    """Staff give a handed-back opening to someone."""
    opening = work.view.openings.get(command.opening or 0)
    if opening is None or opening.state != "handed_back" or opening.quota != quota.key:
        return unknown("opening", command.opening)
    if opening.unit is not None:
        seats = int(is_open(work.view.units[opening.unit], work.now))
    else:
        # The pool may have become smaller since they were set aside.
        seats = min(opening.quantity, room(work.view, quota, work.now, aside=False))
    if command.quantity > seats:
        return not_enough_room(command.quantity, seats)
    work.emit(e.OpeningEnded(work.now, opening.number, "taken"))
    return _hold(work, command, quota, (opening.unit,) if opening.unit else ())


def confirm(work: Work, command: c.Confirm) -> Done | Refusal:
    """Refusals, in order: unknown, hold_expired, not_possible. Confirming twice is one yes, said twice."""
    booking = work.view.bookings.get(command.booking)
    if booking is None:
        return unknown("booking", command.booking)
    if booking.state == CONFIRMED:
        return Done(booking.number, repeated=True)
    if booking.state == EXPIRED:
        return Refusal("hold_expired", "Booking hold has expired.")
    if booking.state == WAITING and work.view.pool.policy.confirm_while_waiting:
        if booking.confirmed_at is not None:
            return Done(booking.number, repeated=True)
    elif booking.state != HELD:
        return _not_possible(booking, "confirmed")
    work.emit(e.Confirmed(work.now, booking.number))
    work.tell("confirmed", booking.number, waiting=booking.state == WAITING)
    return Done(booking.number)


def cancel(work: Work, command: c.Cancel) -> Done | Refusal:
    """Refusals, in order: unknown, not_possible. Cancelling twice is one yes, said twice."""
    view = work.view
    booking = view.bookings.get(command.booking)
    if booking is None:
        return unknown("booking", command.booking)
    if booking.state == CANCELLED:
        return Done(booking.number, repeated=True)
    if booking.state not in IN_PLAY:
        return _not_possible(booking, "cancelled")
    at = line.position(view, booking.place) if booking.state == WAITING else None
    work.emit(e.Cancelled(work.now, booking.number, command.why, at))
    work.tell("cancelled", booking.number, was=booking.state, by=command.by)
    return Done(booking.number)


def extend(work: Work, command: c.Extend) -> Done | Refusal:
    """Refusals, in order: unknown, hold_expired, not_possible, invalid, hold_lifetime_used_up."""
    policy = work.view.pool.policy
    booking = work.view.bookings.get(command.booking)
    if booking is None:
        return unknown("booking", command.booking)
    if booking.state == EXPIRED:
        return Refusal("hold_expired", "Booking hold has expired.")
    if booking.state != HELD or booking.expires_at is None:
        return _not_possible(booking, "extended")
    window = policy.hold_window if command.window is None else command.window
    if not is_whole(window, LENGTH_MAX):
        return invalid("window", "The extension must be longer than nothing, and at most ten years.")
    ends = booking.expires_at + window
    if not command.by.startswith("staff"):
        # A hold must not be renewable for ever: self-service ends at the policy's total lifetime.
        ends = min(ends, (booking.held_at or booking.created_at) + policy.hold_lifetime_max)
        if ends <= booking.expires_at:
            return Refusal("hold_lifetime_used_up", "This hold cannot be extended any further.")
    work.emit(e.Extended(work.now, booking.number, ends))
    return Done(booking.number)


def claim(work: Work, command: c.Claim) -> Done | Refusal:
    """Exactly one claim of an offer wins; the same person tapping twice gets the same yes twice.

    Refusals, in order: unknown, offer_expired, offer_answered, offer_taken, invalid.
    """
    view, policy = work.view, work.view.pool.policy
    offer = view.offers.get((command.booking, command.seq))
    booking = view.bookings.get(command.booking)
    if offer is None or booking is None:
        return unknown("offer", command.seq)
    if offer.outcome == "claimed":
        got = offer.part or booking.number
        if got not in view.bookings:
            raise Need("booking", got)
        if view.bookings[got].state in (HELD, CONFIRMED):
            return Done(got, repeated=True)
    if offer.outcome is not None:
        return _over(offer, booking)
    quantity = offer.quantity if command.quantity is None else command.quantity
    if not is_whole(quantity, offer.quantity):
        return invalid("quantity", f"quantity must be a whole number from 1 to {offer.quantity}.")
    if quantity < offer.quantity and policy.partial != "give_less":
        return invalid("quantity", f"This offer is for all {offer.quantity} or nothing.")
    part = quantity < booking.quantity
    number, arrival = view.numbers + 1, view.arrivals + 1
    event = e.Claimed(
        work.now,
        booking.number,
        command.seq,
        quantity,
        policy.claim_to,
        work.now + policy.hold_window if policy.claim_to == HELD else None,
        booking.units[:quantity],
        number if part else None,
        reference(view.pool.id, number) if part else "",
        arrival if part else 0,
    )
    work.emit(event)
    got = number if part else booking.number
    if policy.claim_to == CONFIRMED:
        work.tell("confirmed", got)
    return Done(got)


def decline(work: Work, command: c.Decline) -> Done | Refusal:
    """Refusals, in order: unknown, not_possible, offer_expired, offer_answered, offer_taken."""
    view = work.view
    booking = view.bookings.get(command.booking)
    if booking is None:
        return unknown("booking", command.booking)
    seq = booking.offer_seq if command.seq is None else command.seq
    offer = view.offers.get((booking.number, seq))
    if offer is None:
        return _not_possible(booking, "declined") if command.seq is None else unknown("offer", seq)
    if offer.outcome == "declined":
        return Done(booking.number, repeated=True)
    if offer.outcome is not None:
        return _over(offer, booking)
    end_offer(work, booking, lapsed=False)
    return Done(booking.number)


def end_offer(work: Work, booking: Booking, *, lapsed: bool) -> None:
    """An offer was declined or its window ended: the policy says what becomes of the booking."""
    view, policy = work.view, work.view.pool.policy
    after = policy.after_lapse if lapsed else policy.after_decline
    state, place, arrival = WAITING, booking.place, booking.arrival
    if after == "leave":
        state = EXPIRED if lapsed else DECLINED
    elif policy.attempts_max is not None and booking.attempts >= policy.attempts_max:
        state = CLOSED
    elif after == "back":
        arrival = view.arrivals + 1
        place = line.place_of(booking.priority, arrival)
    kind = e.Lapsed if lapsed else e.Declined
    event = kind(work.now, booking.number, booking.offer_seq, state, place, arrival)
    work.emit(event, by="clock" if lapsed else None)
    if state == CLOSED:
        work.tell("attempts_used_up", booking.number)
    elif lapsed:
        work.tell("lapsed", booking.number, was=OFFERED, still_waiting=state == WAITING)


def _over(offer: Offer, booking: Booking) -> Refusal:
    """A calm no for an offer that is no longer live, with where the party now stands."""
    facts = {"booking": booking.number, "still_waiting": booking.state == WAITING}
    if offer.outcome == "lapsed":
        return Refusal("offer_expired", "The time to accept this offer has ended.", None, facts)
    if offer.outcome == "withdrawn" and booking.state != CANCELLED:
        return Refusal("offer_taken", "Sorry, this was just filled.", None, facts)
    return Refusal("offer_answered", "This offer has already been answered.", None, facts)


def _not_possible(booking: Booking, done: str) -> Refusal:
    facts = {"booking": booking.number, "state": booking.state}
    return Refusal("not_possible", f"A booking that is {booking.state} cannot be {done}.", None, facts)
