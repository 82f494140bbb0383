"""What people ask once they have booked: confirm, cancel, extend, claim, decline, change their details.

In each function refusals come first, in order of precedence; after the last of them it must succeed. That
there is such a booking, and such an offer, has been seen to by `decide`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fairhold.core import commands as c
from fairhold.core import events as e
from fairhold.core import line
from fairhold.core.answers import wrong_answer
from fairhold.core.model import (
    BY_STAFF,
    CANCELLED,
    CLOSED,
    CONFIRMED,
    DECLINED,
    DELAYED,
    EXPIRED,
    GOING_ON,
    HAS_SEATS,
    HELD,
    IN_PLAY,
    OFFERED,
    PAGE,
    STRANGERS,
    TOLD,
    UNREACHABLE,
    WAITING,
    Booking,
    Instant,
    Offer,
    Pool,
    confirmed_by_staff,
)
from fairhold.core.policy import LENGTH_MAX, Policy
from fairhold.core.reference import reference
from fairhold.core.refusals import Refusal, hold_expired, invalid, is_whole, not_possible, unknown
from fairhold.core.room import need_all_units
from fairhold.core.view import Need, View
from fairhold.core.work import Done, Work


def confirm(work: Work, command: c.Confirm, booking: Booking) -> Done | Refusal:
    """Refusals, in order: hold_expired, not_possible, not_yours_to_confirm.

    Confirming twice is one yes, said twice. Where staff confirm, a party in line completes its sign-up so.
    """
    completes = command.door in STRANGERS and staff_confirm(work.view.pool, booking)
    if booking.state == CONFIRMED:
        return Done(booking.number, repeated=True)
    if booking.state == EXPIRED:
        return hold_expired()
    if booking.state == WAITING and _may_confirm_in_line(work.view, booking):
        if booking.confirmed_at is not None or (completes and booking.expires_at is None):
            return Done(booking.number, repeated=True)
    elif booking.state == OFFERED:
        return must_be_claimed(booking.number)
    elif booking.state != HELD:
        return not_possible(booking.number, booking.state, "cannot be confirmed")
    elif completes:
        return not_yours_to_confirm(booking)
    return _complete(work, booking) if completes else settle(work, booking)


def staff_confirm(pool: Pool, booking: Booking) -> bool:
    """Return True if only staff may make this booking final.

    What it costs is the price that was locked when it got room, or that it would get room at.
    """
    return confirmed_by_staff(pool.policy.confirm_by, booking.agreed_price(pool.price))


def not_yours_to_confirm(booking: Booking) -> Refusal:
    """Refuse a party that confirms where staff do; the facts say what is to be paid, and until when."""
    facts: dict[str, Any] = {"booking": booking.number, "expires_at": booking.expires_at}
    price = booking.price
    if price is None or not price.amount:
        return Refusal("not_yours_to_confirm", "Staff confirm this booking.", None, facts)
    facts["total"] = {"amount": price.amount * booking.quantity, "currency": price.currency}
    return Refusal("not_yours_to_confirm", "Staff confirm this booking once it is paid.", None, facts)


def must_be_claimed(number: int) -> Refusal:
    return not_possible(number, OFFERED, "must be claimed, not confirmed")


def settle(work: Work, booking: Booking) -> Done:
    """A hold is final; who waits keeps its place, and needs no hold when it gets room."""
    work.emit(e.Confirmed(work.now, booking.number))
    work.tell("confirmed", booking.number, waiting=booking.state == WAITING)
    return Done(booking.number)


def _complete(work: Work, booking: Booking) -> Done:
    """Keep the place of a signup whose party has done its part. Staff confirm it once it has room."""
    work.emit(e.Completed(work.now, booking.number))
    work.tell("confirmed", booking.number, waiting=True)
    return Done(booking.number)


def _may_confirm_in_line(view: View, booking: Booking) -> bool:
    """By the policy; or, whatever the policy has become, because it was told to confirm by its deadline."""
    policy = view.pool.policy
    # What was confirmed counts only where the line is served by itself: elsewhere it will be asked.
    counts = booking.confirmed_at is not None and policy.promotion == "auto"
    return policy.confirm_while_waiting or booking.expires_at is not None or counts


def signup_ends(policy: Policy, ends: Instant | None, *, confirmed: bool) -> Instant | None:
    """When who waits must have confirmed: then, where the policy asks for it, and it has not yet."""
    return ends if policy.confirm_while_waiting and not confirmed else None


def cancel(work: Work, command: c.Cancel, booking: Booking) -> Done | Refusal:
    """Refusals: not_possible. Cancelling twice is one yes, said twice."""
    if booking.state == CANCELLED:
        return Done(booking.number, repeated=True)
    if booking.state not in IN_PLAY:
        return not_possible(booking.number, booking.state, "cannot be cancelled")
    work.emit(e.Cancelled(work.now, booking.number, command.why, line.position_of(work.view, booking)))
    work.tell("cancelled", booking.number, was=booking.state, by=command.by, units=list(booking.units))
    return Done(booking.number)


def extend(work: Work, command: c.Extend, booking: Booking) -> Done | Refusal:
    """Refusals, in order: hold_expired, not_possible, invalid, hold_lifetime_used_up."""
    policy = work.view.pool.policy
    if booking.state == EXPIRED:
        return hold_expired()
    if booking.state != HELD:
        return not_possible(booking.number, booking.state, "cannot be extended")
    assert booking.expires_at is not None, "deadlines_kept"
    window = policy.hold_window if command.window is None else command.window
    if not is_whole(window, LENGTH_MAX):
        return invalid("window", "The extension must be longer than nothing, and at most ten years.")
    ends = booking.expires_at + window
    if not c.is_staff(command.by):
        # A hold must not be renewable for ever: self-service ends at the policy's total lifetime.
        ends = min(ends, lifetime_ends(policy, booking))
        if ends <= booking.expires_at:
            return Refusal("hold_lifetime_used_up", "This hold cannot be extended any further.")
    work.emit(e.Extended(work.now, booking.number, ends))
    work.remind(booking.number)
    return Done(booking.number)


def lifetime_ends(policy: Policy, booking: Booking) -> Instant:
    """Until when the party may extend its hold by itself."""
    return (booking.held_at or booking.created_at) + policy.hold_lifetime_max


def claim(work: Work, command: c.Claim, booking: Booking, offer: Offer) -> Done | Refusal:
    """Exactly one claim of an offer wins; the same person tapping twice gets the same yes twice.

    Refusals, in order: offer_taken, offer_expired, pool_closed, offer_withdrawn, offer_answered, invalid.
    """
    view, policy = work.view, work.view.pool.policy
    if offer.outcome == "claimed":
        got = offer.part or booking.number
        if got not in view.bookings:
            raise Need("booking", got)
        if view.bookings[got].state in HAS_SEATS:
            return Done(got, repeated=True)
    if offer.outcome is not None:
        return answered(view, offer, booking, work.now)
    quantity = offer.quantity if command.quantity is None else command.quantity
    if not is_whole(quantity, offer.quantity):
        return invalid("quantity", f"quantity must be a whole number from 1 to {offer.quantity}.")
    if quantity < offer.quantity and policy.partial != "give_less":
        return invalid("quantity", f"This offer is for all {offer.quantity} or nothing.")
    # Who has confirmed has done so, whatever others have still to do.
    claim_to = HELD if staff_confirm(view.pool, booking) else policy.claim_to
    state = claim_to if booking.confirmed_at is None else CONFIRMED
    ends = work.now + policy.hold_window if state == HELD else None
    taken = (quantity, state, ends, booking.units[:quantity])
    got = booking.number
    part: tuple[int | None, str, int] = (None, "", 0)
    if quantity < booking.quantity:
        # The part is a booking of its own, with the next number; the rest goes on waiting.
        got = view.numbers + 1
        part = (got, reference(view.pool.id, got), booking.arrival)
    work.emit(e.Claimed(work.now, booking.number, command.seq, *taken, *part, _opening_of_seats(view, offer)))
    if state == CONFIRMED:
        work.tell("confirmed", got)
    else:
        work.remind(got)
    return Done(got)


def _opening_of_seats(view: View, offer: Offer) -> int | None:
    """The opening of a quota by number that an offer was made for, if it goes on."""
    for number in offer.openings:
        opening = view.openings.get(number)
        if opening is not None and opening.unit is None and opening.state in GOING_ON:
            return number
    return None


def decline(work: Work, command: c.Decline, booking: Booking) -> Done | Refusal:
    """Refusals, in order: not_possible, unknown, and those of an offer that is over: see `answered`."""
    view = work.view
    seq = booking.offer_seq if command.seq is None else command.seq
    offer = view.offers.get((booking.number, seq))
    if offer is None and command.seq is None:
        return not_possible(booking.number, booking.state, "cannot be declined")
    if offer is None:
        return unknown("offer", seq)
    if offer.outcome == "declined":
        return Done(booking.number, repeated=True)
    if offer.outcome is not None:
        return answered(view, offer, booking, work.now)
    end_offer(work, booking, lapsed=False)
    return Done(booking.number)


def unreachable(work: Work, command: c.Unreachable, booking: Booking, offer: Offer) -> Done:
    """End an offer that no channel can carry. One that is over, or told by staff, is left alone."""
    if offer.outcome is not None or offer.told in (TOLD, BY_STAFF):
        return Done(booking.number, repeated=True)
    end_untold(work, booking, command.reason, command.why)
    if command.contacts not in (None, booking.party.contacts):
        # It has said another address while the letter was on its way to this one.
        work.emit(e.Reachable(work.now, booking.number))
    return Done(booking.number)


def change_booking(work: Work, command: c.ChangeBooking, booking: Booking) -> Done | Refusal:
    """Refusals, in order: not_possible, invalid. Saying what is known already is one yes, said twice."""
    if booking.state not in IN_PLAY:
        return not_possible(booking.number, booking.state, "cannot be changed")
    if command.answers is not None and (refused := wrong_answer(work.view.pool.questions, command.answers)):
        return refused
    said = {name: getattr(command, name) for name in ("name", "contacts", "locale")}
    changed = {name: to for name, to in said.items() if to not in (None, getattr(booking.party, name))}
    details = tuple(changed)
    if command.answers not in (None, booking.answers):
        details += ("answers",)
    if command.told_by_staff is not None and command.told_by_staff != (booking.reach == BY_STAFF):
        details += ("told_by_staff",) if command.told_by_staff else ("told_by_channels",)
    if not details:
        return Done(booking.number, repeated=True)
    # What it was told when it joined had nowhere to go, and so had the link to its booking.
    found = bool(changed.get("contacts")) and not booking.party.contacts
    position = line.position_of(work.view, booking) if found else None
    event = e.BookingChanged(work.now, booking.number, details, position)
    work.emit(event, replace(booking.party, **changed), answers=command.answers)
    if position is not None:
        work.tell("joined", booking.number, position=position, expires_at=booking.expires_at)
    return Done(booking.number)


def note_told(work: Work, command: c.NoteTold, booking: Booking) -> Done:
    """Note that a letter was handed over: an offer counts from then on, and its party can be reached."""
    offer = work.view.offers.get((booking.number, command.seq or 0))
    seq = command.seq if offer is not None and offer.outcome is None and offer.told != TOLD else None
    if seq is None and (booking.reach not in UNREACHABLE or booking.state not in IN_PLAY):
        return Done(booking.number, repeated=True)
    work.emit(e.Told(work.now, booking.number, seq))
    return Done(booking.number)


def note_delayed(work: Work, command: c.NoteDelayed, booking: Booking, offer: Offer) -> Done:
    """Note that an offer is not told yet, so that it does not lapse unless it is."""
    if offer.outcome is not None or offer.told:
        return Done(booking.number, repeated=True)
    work.emit(e.Delayed(work.now, booking.number, command.seq))
    return Done(booking.number)


def note_reachable(work: Work, command: c.NoteReachable, booking: Booking) -> Done:
    """Let a party be asked again that could not be reached."""
    if booking.reach not in UNREACHABLE or booking.state not in IN_PLAY:
        return Done(booking.number, repeated=True)
    work.emit(e.Reachable(work.now, booking.number))
    return Done(booking.number)


def was_never_told(view: View, booking: Booking) -> bool:
    """Return True if the live offer of a booking reached nobody: a channel failed, or none was tried.

    Who came by a page has only the channels to hear from. All others were let in by somebody who tells them.
    """
    told = view.offers[booking.number, booking.offer_seq].told
    return told == DELAYED or (told == "" and booking.door == PAGE)


def end_untold(work: Work, booking: Booking, reason: str, why: str = "", by: str | None = None) -> None:
    """End an offer that reached nobody: it costs nothing, and staff hear whom to call or what to set."""
    round_ = work.view.tallies[booking.quota].round - 1 if booking.attempts > 1 else 0
    seq = booking.offer_seq
    event = e.NotReached(work.now, booking.number, seq, reason, min(booking.round, round_))
    work.emit(event, by=by)
    facts = {"reference": booking.reference, "quota": booking.quota, "seq": seq}
    work.tell_staff("unreachable", **facts, reason=reason, why=why)


def end_offer(work: Work, booking: Booking, *, lapsed: bool) -> None:
    """An offer was declined or ended without an answer: the policy says what becomes of the booking."""
    view, policy = work.view, work.view.pool.policy
    after = policy.after_lapse if lapsed else policy.after_decline
    state, place, arrival = WAITING, booking.place, booking.arrival
    if after == "leave" or view.pool.over(work.now):
        # Where there is no line any more, there is nothing to go back to.
        state = EXPIRED if lapsed else DECLINED
    elif policy.attempts_max is not None and booking.attempts >= policy.attempts_max:
        state = CLOSED
    elif after == "back":
        arrival = view.arrivals + 1
        place = line.place_anew(booking, arrival)
    ended = (work.now, booking.number, booking.offer_seq, state, place, arrival)
    event = e.Lapsed(*ended) if lapsed else e.Declined(*ended)
    work.emit(event, by="clock" if lapsed else None)
    if state == CLOSED:
        work.tell("attempts_used_up", booking.number)
    elif lapsed:
        stays = state == WAITING
        work.tell("lapsed", booking.number, was=OFFERED, still_waiting=stays, units=list(booking.units))


def answered(view: View, offer: Offer, booking: Booking, now: Instant) -> Refusal:
    """A calm no for an offer that is no longer live, with where the party now stands.

    Refusals, in order: offer_taken, offer_expired, pool_closed, offer_withdrawn, offer_answered.
    """
    pool = view.pool
    why = pool.over(now)
    facts = {"booking": booking.number, "still_waiting": booking.state == WAITING}
    if offer.outcome == "lapsed" and _taken_by_another(view, offer, booking):
        return Refusal("offer_taken", "Sorry, this was just filled.", None, facts)
    if offer.outcome == "lapsed":
        return Refusal("offer_expired", "The time to accept this offer has ended.", None, facts)
    taken_back = offer.outcome in ("withdrawn", "unreachable")
    if taken_back and why is not None:
        has = "has started" if why == "started" else f"is {why}"
        return Refusal("pool_closed", f"{pool.name} {has}.", None, facts)
    if taken_back and booking.state != CANCELLED:
        return Refusal("offer_withdrawn", "This is no longer available.", None, facts)
    return Refusal("offer_answered", "This offer has already been answered.", None, facts)


def _taken_by_another(view: View, offer: Offer, booking: Booking) -> bool:
    """Whether somebody else has a unit that was offered. Who has a seat without a name cannot be said."""
    for label in offer.units:
        if label not in view.units:
            need_all_units(view)
        number = view.units[label].booking if label in view.units else None
        if number is None:
            continue
        if number not in view.bookings:
            raise Need("booking", number)
        taker = view.bookings[number]
        if taker.state in HAS_SEATS and taker.party.id != booking.party.id:
            return True
    return False
