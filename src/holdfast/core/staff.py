"""What staff ask: make and change pools, open and close units, move, offer, decide on what came back.

In each function refusals come first, in order of precedence; after the last of them it must succeed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from holdfast.core import commands as c
from holdfast.core import events as e
from holdfast.core import line
from holdfast.core.conditions import problem as condition_problem
from holdfast.core.due import over
from holdfast.core.fill import give_offer, promote
from holdfast.core.model import OFFERED, TAKES_ROOM, WAITING, Booking, Opening, Pool, Quota
from holdfast.core.openings import LIVE, opening_of, seats_aside, take_aside
from holdfast.core.policy import Policy, amended
from holdfast.core.refusals import Refusal, invalid, not_enough_room, unknown
from holdfast.core.room import overflow, room, taken
from holdfast.core.search import look_for, window_end
from holdfast.core.view import Need, View
from holdfast.core.work import Done, Work

STATUSES: Final = ("open", "paused", "closed", "cancelled")
SIZE_MAX: Final = 10_000_000
NAMED_MAX: Final = 100


def create_pool(work: Work, command: c.CreatePool) -> Done | Refusal:
    """Refusals: invalid, by field."""
    refused = _wrong_pool(command.pool) or _wrong_units(command.pool, {}, command.units)
    if refused:
        return refused
    work.emit(e.PoolCreated(work.now, command.pool))
    if command.units:
        _emit_units(work, command.units)
    return Done()


def change_pool(work: Work, command: c.ChangePool) -> Done | Refusal:
    """Refusals, in order: invalid, unknown, would_demote. Raising room fills at once."""
    view = work.view
    quotas = list(command.changes.get("quotas", view.pool.quotas))
    for key, size in command.sizes.items():
        index = next((i for i, quota in enumerate(quotas) if quota.key == key), None)
        if index is None:
            return unknown("quota", key)
        if quotas[index].by_units:
            return invalid("quotas", f"The size of {key!r} is its units: open or close units instead.")
        quotas[index] = replace(quotas[index], size=size)
    policy = command.changes.get("policy", view.pool.policy)
    if not isinstance(policy, Policy):
        policy = amended(view.pool.policy, policy)
        if isinstance(policy, Refusal):
            return policy
    made = {"policy": policy, "quotas": tuple(quotas), "version": view.pool.version + 1}
    pool = replace(view.pool, **{**command.changes, **made})
    refused = _wrong_pool(pool) or _quota_in_use(view, pool) or _line_in_use(view, pool)
    if refused:
        return refused
    losers = _losers(view, pool)
    if losers and not command.allow_demotion:
        facts = {"bookings": [booking.number for booking in losers[:NAMED_MAX]], "count": len(losers)}
        sentence = f"{len(losers)} would lose their place. Say allow_demotion to put them first in line."
        return Refusal("would_demote", sentence, "allow_demotion", facts)
    has_line = pool.policy.promotion is not None and over(view, work.now) is None
    # The last of them goes first, so that among the demoted the order of arrival stays.
    for booking in losers:
        _demote(work, booking, has_line=has_line)
    _cut_aside(work, pool)
    larger = pool.open_size > view.pool.open_size
    work.grown |= {quota.key for quota in pool.quotas if larger or _grows(view.pool.quota(quota.key), quota)}
    work.emit(e.PoolChanged(work.now, pool, command.why))
    return Done(facts={"demoted": [booking.number for booking in losers]})


def _wrong_pool(pool: Pool) -> Refusal | None:
    if not pool.quotas:
        return invalid("quotas", "A pool has at least one quota.")
    if len({quota.key for quota in pool.quotas}) != len(pool.quotas):
        return invalid("quotas", "Each quota needs a key of its own.")
    if pool.status not in STATUSES:
        return invalid("status", f"status must be one of: {', '.join(STATUSES)}.")
    if _bad_size(pool.open_size):
        return invalid("open_size", "open_size must be a whole number from 0.")
    for index, quota in enumerate(pool.quotas):
        if not quota.key or len(quota.key) > 100:
            return invalid(f"quotas[{index}].key", "A quota needs a key of 1 to 100 characters.")
        if quota.size is not None and not quota.by_units and _bad_size(quota.size):
            sentence = "size must be a whole number from 0, or null for unlimited."
            return invalid(f"quotas[{index}].size", sentence)
        if quota.eligible is not None and (found := condition_problem(quota.eligible)):
            return invalid(f"quotas[{index}].eligible", f"In a rule of eligibility: {found}.")
    return _wrong_times(pool)


def _wrong_times(pool: Pool) -> Refusal | None:
    if pool.opens_at is not None and pool.closes_at is not None and pool.closes_at <= pool.opens_at:
        return invalid("closes_at", "closes_at must be after opens_at.")
    if pool.opens_at is not None and pool.starts_at is not None and pool.starts_at <= pool.opens_at:
        return invalid(
            "opens_at", "opens_at must be before starts_at: nothing can be booked once it has begun."
        )
    if pool.price is not None and (pool.price.amount < 0 or len(pool.price.currency) != 3):
        return invalid("price", "A price has an amount from 0 and a currency of three letters.")
    return None


def _bad_size(size: object) -> bool:
    return isinstance(size, bool) or not isinstance(size, int) or not 0 <= size <= SIZE_MAX


def _quota_in_use(view: View, pool: Pool) -> Refusal | None:
    for old in view.pool.quotas:
        tally, new = view.tallies[old.key], pool.quota(old.key)
        going = any(o.quota == old.key and o.state in LIVE for o in view.openings.values())
        if new is None and (tally.used or tally.waiting or tally.aside or going or old.by_units):
            return invalid("quotas", f"The quota {old.key!r} is in use and cannot be removed.")
        if new is not None and new.by_units != old.by_units:
            return invalid("quotas", f"The quota {old.key!r} cannot change between a number and units.")
    return None


def _line_in_use(view: View, pool: Pool) -> Refusal | None:
    if pool.policy.promotion is None and (view.waiting or view.offers_live):
        return invalid("policy.promotion", "People are in line here: promotion must say how they are served.")
    return None


def _losers(view: View, pool: Pool) -> list[Booking]:
    """Who must go for the new sizes, in quotas that are over theirs: first offers, which are nobody's seat
    yet, then those who have one; of each the latest to arrive."""
    used = {quota.key: view.tallies[quota.key].used for quota in pool.quotas if quota.key in view.tallies}
    sizes = {q.key: q.size for q in pool.quotas if q.size is not None and not q.by_units and q.key in used}

    def excess() -> int:
        return sum(max(0, used[key] - size) for key, size in sizes.items()) - pool.open_size

    if excess() <= 0:
        return []
    over = {key for key, size in sizes.items() if used[key] > size}
    need = ("takers", (tuple(sorted(over)), excess()))
    if not view.whole and need not in view.asked:
        raise Need(*need)
    losers: list[Booking] = []
    takers = [b for b in view.bookings.values() if b.quota in over and b.state in TAKES_ROOM]
    for booking in sorted(takers, key=lambda b: (b.state != OFFERED, -b.arrival)):
        if excess() <= 0:
            break
        if used[booking.quota] > sizes[booking.quota]:
            used[booking.quota] -= booking.offer_quantity or booking.quantity
            losers.append(booking)
    return losers


def _cut_aside(work: Work, pool: Pool) -> None:
    """Seats that were set aside are the first to go: those that have no room any more where they had it."""
    view = work.view
    sized = [q for q in pool.quotas if q.size is not None and not q.by_units and q.key in view.tallies]
    left, over = dict[str, int](), dict[str, int]()
    for quota in sized:
        tally, old = view.tallies[quota.key], view.pool.quota(quota.key)
        assert quota.size is not None
        own = old.size if old is not None and old.size is not None else quota.size
        overflowed = max(0, tally.used + tally.aside - own)
        left[quota.key] = max(0, min(tally.aside, quota.size + overflowed - tally.used))
        over[quota.key] = max(0, tally.used + left[quota.key] - quota.size)
    excess = sum(over.values()) - pool.open_size
    for key in left:
        cut = max(0, min(excess, left[key], over[key]))
        left[key], excess = left[key] - cut, excess - cut
    for opening in sorted(view.openings.values(), key=lambda o: -o.number):
        going = view.tallies[opening.quota].aside - left.get(opening.quota, view.tallies[opening.quota].aside)
        if opening.state == "handed_back" and opening.unit is None and going > 0:
            take_aside(work, opening, min(going, opening.quantity), "closed")


def _grows(old: Quota | None, new: Quota) -> bool:
    return old is not None and old.size is not None and (new.size is None or new.size > old.size)


def _demote(work: Work, booking: Booking, *, has_line: bool) -> None:
    view = work.view
    others = [view.bookings.get(number) for number in view.by_party.get(booking.party.id, ())]
    in_line = [o for o in others if o and o.number != booking.number and o.state in (WAITING, OFFERED)]
    rest = next((o for o in in_line if o.number == booking.split_from and o.state == WAITING), None)
    if rest is None and (in_line or not has_line):
        # One place in line is all a party may have, and this party has one; or there is no line to go to.
        work.emit(e.Closed(work.now, booking.number, "demoted"))
        work.tell("demoted", booking.number, position=None)
        return
    # Who was only offered room has kept its place.
    place = booking.place if booking.state == OFFERED else line.place_at_front(view)
    position = line.position(view, place)
    if rest is not None:
        part = (booking.number, booking.quantity)
        event = e.Demoted(work.now, rest.number, place, position, rest.expires_at, *part)
    else:
        signup = view.pool.policy.confirm_while_waiting and booking.confirmed_at is None
        ends = booking.expires_at if signup else None
        event = e.Demoted(work.now, booking.number, place, position, ends)
    work.emit(event)
    work.tell("demoted", event.booking, position=position)


def add_units(work: Work, command: c.AddUnits) -> Done | Refusal:
    """Refusals: invalid, by field; exists."""
    refused = _wrong_units(work.view.pool, work.view.units, command.units)
    if refused:
        return refused
    _emit_units(work, command.units)
    return Done()


def _wrong_units(
    pool: Pool, known: Mapping[str, Any], units: tuple[Mapping[str, Any], ...]
) -> Refusal | None:
    seen: set[str] = set()
    for index, unit in enumerate(units):
        where, label = f"units[{index}]", unit.get("label")
        quota = pool.quota(unit.get("quota", ""))
        if not isinstance(label, str) or not 0 < len(label) <= 100:
            return invalid(f"{where}.label", "A unit needs a label of 1 to 100 characters.")
        if quota is None or not quota.by_units:
            return invalid(f"{where}.quota", "A unit belongs to a quota that is made of units.")
        if label in seen or (label in known and not known[label].closed):
            return Refusal("exists", f"There is a unit {label!r} already.", f"{where}.label")
        seen.add(label)
    return None


def _emit_units(work: Work, units: tuple[Mapping[str, Any], ...]) -> None:
    ordinal = work.view.units_made
    made = []
    for unit in units:
        ordinal += 1
        made.append(
            {
                "label": unit["label"],
                "quota": unit["quota"],
                "ordinal": ordinal,
                "starts_at": unit.get("starts_at"),
                "attributes": unit.get("attributes") or {},
            }
        )
    work.emit(e.UnitsAdded(work.now, tuple(made)))


def close_unit(work: Work, command: c.CloseUnit) -> Done | Refusal:
    """Refusals, in order: unknown, unit_taken. Only a free unit can be taken away."""
    unit = work.view.units.get(command.label)
    if unit is None or unit.closed:
        return unknown("unit", command.label)
    if unit.booking is not None:
        return Refusal("unit_taken", f"The unit {unit.label!r} is taken.", "label", {"booking": unit.booking})
    for opening in list(work.view.openings.values()):
        if opening.unit == unit.label and opening.state in LIVE:
            work.emit(e.OpeningEnded(work.now, opening.number, "closed"))
    work.emit(e.UnitClosed(work.now, unit.label))
    return Done()


def offer(work: Work, command: c.GiveOffer) -> Done | Refusal:
    """Refusals, in order: unknown, not_possible, not_enough_room, too_late.

    Of an opening that was handed back, the seats are offered anew: the line is asked if this is a no.
    """
    view = work.view
    booking = view.bookings.get(command.booking)
    if booking is None:
        return unknown("booking", command.booking)
    quota = view.pool.quota(booking.quota)
    if booking.state != WAITING or quota is None:
        facts = {"booking": booking.number, "state": booking.state}
        sentence = f"A booking that is {booking.state} cannot be offered a seat."
        return Refusal("not_possible", sentence, None, facts)
    opening = view.openings.get(command.opening or 0)
    if command.opening is not None and not (opening and _came_back(opening, quota)):
        return unknown("opening", command.opening)
    search = look_for(work, quota, booking, opening)
    if search is None:
        seats = seats_aside(work, quota, opening) if opening else room(view, quota, work.now)
        return not_enough_room(booking.quantity, seats)
    offers = view.pool.policy.promotion == "offer"
    if offers and window_end(work, [view.units[label] for label in search.units]) <= work.now:
        return Refusal("too_late", "It starts too soon for an offer to be answered.")
    if opening is not None:
        take_aside(work, opening, search.quantity, "again")
    if offers:
        give_offer(work, search, command.why or "offered by staff")
    else:
        promote(work, search, by=None)
    return Done(booking.number)


def _came_back(opening: Opening, quota: Quota) -> bool:
    return opening.state == "handed_back" and opening.quota == quota.key


def move(work: Work, command: c.Move) -> Done | Refusal:
    """Refusals, in order: unknown, not_possible, invalid."""
    view = work.view
    booking = view.bookings.get(command.booking)
    if booking is None:
        return unknown("booking", command.booking)
    if booking.state != WAITING:
        facts = {"booking": booking.number, "state": booking.state}
        return Refusal("not_possible", f"A booking that is {booking.state} is not in line.", None, facts)
    if command.to not in ("front", "back", "after"):
        return invalid("to", "to must be front, back or after.")
    other = view.bookings.get(command.after or 0)
    if command.to == "after" and (other is None or other.state != WAITING or other.number == booking.number):
        return unknown("booking", command.after)
    arrival = view.arrivals + 1
    if command.to == "front":
        place: int | None = line.place_at_front(view)
    elif command.to == "back":
        place = line.place_at_back(view, arrival)
    else:
        assert other is not None
        place = line.place_after(view, other)
        if place is None:
            _respread(work, other)
            booking = view.bookings[booking.number]
            place = line.place_after(view, other)
    assert place is not None
    was = line.position(view, booking.place)
    # Taken out of its old place, everyone behind that has moved up by one.
    now_at = line.position(view, place) - (booking.place < place)
    work.emit(e.Moved(work.now, booking.number, place, arrival, now_at, was, command.why))
    return Done(booking.number)


def _respread(work: Work, other: Booking) -> None:
    """Make places behind a booking, by moving the bookings behind it further apart."""
    behind = line.followers(work.view, other.place)
    room_behind = 0
    for count in range(1, len(behind) + 1):
        last = behind[count] if count < len(behind) else None
        room_behind = last.place - other.place if last else (count + 2) * line.GAP
        if room_behind > 4 * (count + 1):
            step = room_behind // (count + 1)
            places = tuple((b.number, other.place + (i + 1) * step) for i, b in enumerate(behind[:count]))
            work.emit(e.Respread(work.now, tuple(reversed(places))), by="rule")
            return


def resolve(work: Work, command: c.Resolve) -> Done | Refusal:
    """Refusals, in order: unknown, invalid."""
    view = work.view
    opening = view.openings.get(command.opening)
    if opening is None or opening.state != "handed_back":
        return unknown("opening", command.opening)
    if command.action not in ("again", "free", "close"):
        return invalid("action", "action must be again, free or close.")
    how = {"again": "again", "free": "freed", "close": "closed"}[command.action]
    quota = view.pool.quota(opening.quota)
    if how == "freed" and quota is not None and opening_of(view, quota, None) is not None:
        # No room has two openings: what is freed beside one that goes on joins it.
        how = "again"
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
