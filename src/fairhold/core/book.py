"""Booking: a hold when there is room that nobody in line could use, else a place in line, or a no.

Refusals come first, in order of precedence; after the last of them it must succeed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairhold.core import commands as c
from fairhold.core import events as e
from fairhold.core import line
from fairhold.core.conditions import problem as condition_problem
from fairhold.core.fill import fill, line_could_use, promote
from fairhold.core.model import (
    HELD,
    KEEPS_PLACE,
    OFFERED,
    STRANGERS,
    WAITING,
    Booking,
    Instant,
    Pool,
    Quota,
    Unit,
    Wants,
)
from fairhold.core.obey import must_be_claimed, settle, signup_ends
from fairhold.core.openings import handed_back, seats_aside, take_aside
from fairhold.core.policy import Policy
from fairhold.core.reference import reference
from fairhold.core.refusals import Refusal, already_waiting, invalid, is_whole, not_enough_room, unknown
from fairhold.core.room import (
    best_available,
    by_ordinal,
    free_units,
    need_all_units,
    room,
    side_by_side,
    suits,
)
from fairhold.core.search import Found
from fairhold.core.view import View
from fairhold.core.work import Done, Work


def book(work: Work, command: c.Book) -> Done | Refusal:
    """Hold room if there is some that nobody in line could use; else wait, or be refused.

    Refusals, in order: invalid, unknown, pool_closed, pool_paused, not_open_yet, not_eligible,
    already_waiting, not_possible, already_holding, unit_taken, not_enough_room.
    """
    view = work.view
    quota = _quota_for(view, command)
    if isinstance(quota, Refusal):
        return quota
    refused = _wrong_request(view, command, quota) or _wrong_opening(view, command, quota)
    refused = refused or not_open_to(view.pool, command.by, work.now)
    if refused:
        return refused
    if not quota.admits(command.party):
        return Refusal("not_eligible", f"{quota.title or quota.key} is not open to this party.", "quota")
    known = _already_there(work, command, quota)
    if known:
        return known
    if command.opening is not None:
        return _book_opening(work, command, quota)
    if view.pool.policy.promotion is not None and (view.openings or view.waiting):
        # Whatever has just become free belongs to the line first.
        fill(work)
    units = _units_for(work, command, quota)
    if isinstance(units, Refusal):
        return units
    if units is not None:
        return _hold(work, command, quota, units)
    if (command.if_full or view.pool.policy.if_full) == "refuse" or view.pool.over(work.now):
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
    quantity, if_full, wants, policy = command.quantity, command.if_full, command.wants, view.pool.policy
    most = quantity_max(policy, command.door)
    if not is_whole(quantity, most):
        return invalid("quantity", f"quantity must be a whole number from 1 to {most}.")
    if if_full not in (None, "refuse", "wait"):
        return invalid("if_full", "if_full must be refuse or wait.")
    if if_full == "wait" and policy.promotion is None:
        return invalid("if_full", "This pool has no line to wait in.")
    if wants is not None and (refused := _wrong_wants(wants, quota)):
        return refused
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


def quantity_max(policy: Policy, door: str) -> int:
    """Return how many seats one booking may be for that is asked by this door."""
    most = policy.quantity_max
    return min(most, policy.party_quantity_max) if door in STRANGERS else most


def _wrong_wants(wants: Wants, quota: Quota) -> Refusal | None:
    if not quota.by_units:
        return invalid("wants", "Only a quota made of units can be wanted by attributes or time.")
    if wants.attributes is not None and (found := condition_problem(wants.attributes, of_unit=True)):
        return invalid("wants.attributes", f"In wants: {found}.")
    if wants.from_at is not None and wants.until_at is not None and wants.until_at < wants.from_at:
        return invalid("wants.until_at", "until_at must not be before from_at.")
    return None


def _wrong_opening(view: View, command: c.Book, quota: Quota) -> Refusal | None:
    if command.opening is None:
        return None
    opening = handed_back(view, command.opening, quota.key)
    if opening is None:
        return unknown("opening", command.opening)
    if command.units and command.units != (opening.unit,):
        return invalid("units", f"What came back is {opening.unit!r}.")
    return None


def not_open_to(pool: Pool, by: str, now: Instant) -> Refusal | None:
    """Staff may book before it opens, while it is paused and after it closes, unless it is over for good."""
    refused = not_open(pool, now)
    if refused and c.is_staff(by) and pool.status not in ("closed", "cancelled"):
        return None
    return refused


def not_open(pool: Pool, now: Instant) -> Refusal | None:
    """Why nobody can sign up by themselves now."""
    if pool.status in ("closed", "cancelled"):
        return Refusal("pool_closed", f"{pool.name} is {pool.status}.")
    if pool.status == "paused":
        return Refusal("pool_paused", f"{pool.name} is paused for the moment.")
    if pool.opens_at is not None and now < pool.opens_at:
        facts = {"opens_at": pool.opens_at}
        return Refusal("not_open_yet", f"{pool.name} is not open yet.", None, facts)
    if (pool.closes_at is None or now < pool.closes_at) and (pool.starts_at is None or now < pool.starts_at):
        return None
    return Refusal("pool_closed", f"{pool.name} is closed.")


def _already_there(work: Work, command: c.Book, quota: Quota) -> Done | Refusal | None:
    """A doubled join gets the first one; another place in line, or one hold too many, is refused."""
    mine = work.view.of_party(command.party.id)
    if not mine:
        return None
    for booking in mine:
        if booking.state in KEEPS_PLACE and not _waits_for_this(booking, command, quota):
            if _same_terms(booking, command, quota):
                return _same_again(work, command, booking)
            return already_waiting(booking.number)
    return already_holding(work.view, mine)


def _same_again(work: Work, command: c.Book, booking: Booking) -> Done | Refusal:
    """The booking that is there; confirmed from now on, if staff say so and it only waits."""
    if not command.confirmed or booking.confirmed_at is not None:
        return Done(booking.number, repeated=True)
    if booking.state == OFFERED:
        return must_be_claimed(booking.number)
    return settle(work, booking)


def already_holding(view: View, mine: list[Booking]) -> Refusal | None:
    """Whether a party that has these bookings may not hold one more."""
    holds = [booking for booking in mine if booking.state == HELD]
    holds_max = view.pool.policy.holds_per_party_max
    if holds_max is not None and len(holds) >= holds_max:
        facts = {"booking": holds[-1].number}
        return Refusal("already_holding", "This party already has a live hold here.", "party", facts)
    return None


def _waits_for_this(booking: Booking, command: c.Book, quota: Quota) -> bool:
    """Whether staff give what came back to a booking that is in line for just that."""
    same = (booking.quota, booking.quantity) == (quota.key, command.quantity)
    same = same and command.price in (None, booking.asked_price)
    return command.opening is not None and booking.state == WAITING and same


def _same_terms(booking: Booking, command: c.Book, quota: Quota) -> bool:
    asked = (quota.key, command.quantity, command.wants)
    same = (booking.quota, booking.quantity, booking.wants) == asked
    # Who has had seats waits at their price, which it never asked for.
    had_seats = booking.held_at is not None and command.price is None
    same = same and (had_seats or booking.asked_price == command.price)
    return same and command.if_full != "refuse" and not command.units and command.opening is None


def _units_for(work: Work, command: c.Book, quota: Quota) -> tuple[str, ...] | Refusal | None:
    """The units a newcomer gets (none for a quota by number); None when there is no room for them."""
    view, quantity = work.view, command.quantity
    if not quota.by_units:
        if room(view, quota, work.now) < quantity or line_could_use(work, quota, quantity):
            return None
        return ()
    free = free_units(view, quota.key, work.now)
    if view.tallies[quota.key].waiting:
        beside = by_ordinal(free)
        free = [unit for unit in free if not line_could_use(work, quota, 1, unit, beside)]
    if command.units:
        return named_units(command.units, free)
    best = best_available([unit for unit in free if suits(command.wants, unit)], quantity)
    if not best or not side_by_side(best):
        need_all_units(view)
    return tuple(unit.label for unit in best) or None


def named_units(labels: tuple[str, ...], free: list[Unit]) -> tuple[str, ...] | Refusal:
    free_labels = {unit.label for unit in free}
    taken = [label for label in labels if label not in free_labels]
    if taken:
        return Refusal("unit_taken", f"Not free: {', '.join(taken)}.", "units", {"units": taken})
    return labels


def _hold(work: Work, command: c.Book, quota: Quota, units: tuple[str, ...]) -> Done:
    view, confirmed = work.view, command.confirmed
    number, arrival = view.numbers + 1, view.arrivals + 1
    event = e.Held(
        *_asked(work, command, quota, number),
        arrival,
        line.place_of(0, arrival),
        units,
        command.price or view.pool.price,
        None if confirmed else work.now + view.pool.policy.hold_window,
        confirmed,
        command.door,
    )
    work.emit(event, command.party)
    if confirmed:
        work.tell("confirmed", number)
    else:
        work.remind(number)
    return Done(number)


def _join(work: Work, command: c.Book, quota: Quota) -> Done:
    view, policy = work.view, work.view.pool.policy
    number, arrival = view.numbers + 1, view.arrivals + 1
    priority = line.priority_of(policy, command.party) if policy.priority_rules else 0
    place = line.place_of(priority, arrival)
    event = e.Joined(
        *_asked(work, command, quota, number),
        priority,
        arrival,
        place,
        line.position(view, place),
        command.wants,
        command.price,
        signup_ends(policy, work.now + policy.hold_window, confirmed=command.confirmed),
        command.confirmed,
        command.door,
    )
    work.emit(event, command.party)
    work.tell("joined", number, position=event.position, expires_at=event.expires_at)
    return Done(number)


def _asked(
    work: Work, command: c.Book, quota: Quota, number: int
) -> tuple[Instant, int, str, str, tuple[str, ...], Mapping[str, Any], str, int]:
    """Who asks for what, as both kinds of new booking begin: `Held` and `Joined`."""
    party = command.party
    made = (work.now, number, reference(work.view.pool.id, number))
    return (*made, party.id, party.tags, party.attributes, quota.key, command.quantity)


def _book_opening(work: Work, command: c.Book, quota: Quota) -> Done | Refusal:
    """Staff give a handed-back opening, or some of its seats, to someone."""
    opening = handed_back(work.view, command.opening, quota.key)
    assert opening is not None, "this was seen to"
    units = (opening.unit,) if opening.unit is not None else ()
    seats = seats_aside(work, quota, opening)
    if command.quantity > seats:
        return not_enough_room(command.quantity, seats)
    take_aside(work, opening, command.quantity, "taken")
    in_line = next(
        (b for b in work.view.of_party(command.party.id) if _waits_for_this(b, command, quota)), None
    )
    if in_line is None:
        return _hold(work, command, quota, units)
    promote(work, Found(in_line, command.quantity, units), confirmed=command.confirmed, by=None)
    return Done(in_line.number)
