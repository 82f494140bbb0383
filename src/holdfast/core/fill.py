"""Fill: give free room to the line until none is free or nobody is eligible.

By `auto` the first in line who fits gets the room at once. By `offer` the step is:

  1. no room: stop; as many live offers as the policy allows: stop;
  2. along the line, in order: attempts used up → closed; had its turn → skipped; offered less than
     `cooldown` ago → skipped; not eligible, or does not fit → skipped; otherwise it is the one.
     Every skip has a reason, and the reasons are kept with the event;
  3. found: offered, with a window that ends before the start;
  4. none found, but some had had their turn by round: the next round begins and we look once more.

The step repeats until nothing changes. Each one offers, promotes or closes somebody, or starts a
round that the one before did not, so it ends.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import Any, Final, NamedTuple

from holdfast.core import events as e
from holdfast.core import line
from holdfast.core.conditions import matches
from holdfast.core.due import wake
from holdfast.core.model import CONFIRMED, HELD, Booking, Group, Instant, Opening, Quota, Unit
from holdfast.core.openings import ensure_opening, hand_back, opening_of
from holdfast.core.room import best_available, free_units, overflow, room, suits, taken
from holdfast.core.view import View, group_of
from holdfast.core.work import Work

SKIPS_KEPT: Final = 20


class Slot(NamedTuple):
    """Room that could be given: so many seats of a quota, or one unit of it."""

    quota: Quota
    unit: Unit | None
    room: int
    opening: Opening | None

    @property
    def key(self) -> tuple[str, str | None]:
        return self.quota.key, self.unit.label if self.unit else None


class Search:
    """What looking along the line for one slot has found."""

    __slots__ = ("booking", "cooldown_ends_at", "had_turn", "passed", "quantity", "skipped", "slot", "units")

    def __init__(self, slot: Slot) -> None:
        self.slot = slot
        self.booking: Booking | None = None
        self.quantity = 0
        self.units: tuple[str, ...] = ()
        self.skipped: list[dict[str, Any]] = []
        self.passed = 0
        self.had_turn = False
        self.cooldown_ends_at: Instant | None = None

    def skip(self, reason: str, who: Booking | Group) -> None:
        self.passed += 1
        if len(self.skipped) < SKIPS_KEPT:
            if isinstance(who, Booking):
                self.skipped.append({"booking": who.number, "reason": reason})
            else:
                group = {"quota": who.quota, "quantity": who.quantity, "round": who.round, "wants": who.wants}
                self.skipped.append({"group": group, "reason": reason})

    @property
    def reasons(self) -> tuple[dict[str, Any], ...]:
        more = self.passed - len(self.skipped)
        return (*self.skipped, {"more": more}) if more else tuple(self.skipped)


def fill(work: Work, steps: int | None = None) -> None:
    """Give free room to the line, to the fixed point or for so many steps."""
    view = work.view
    policy = view.pool.policy
    if view.pool.status != "open" or policy.promotion is None or not (view.waiting or view.openings):
        return
    nobody_for: dict[tuple[str, str | None], Search] = {}
    round_began = False
    while steps is None or steps > 0:
        live_max = policy.offers_live_max
        if policy.promotion == "offer" and live_max is not None and view.offers_live >= live_max:
            return
        found = _next(work, nobody_for)
        if found is not None:
            _give(work, found)
            round_began = False
        elif not round_began and any(search.had_turn for search in nobody_for.values()):
            work.emit(e.RoundStarted(work.now, view.round + 1), by="rule")
            nobody_for.clear()
            round_began = True
        else:
            break
        if steps is not None:
            steps -= 1
    else:
        return
    for search in nobody_for.values():
        _leave(work, search)


def line_could_use(work: Work, quota: Quota, quantity: int, unit: Unit | None = None) -> bool:
    """Whether someone waiting could use the room that a newcomer asks for: then the newcomer waits too."""
    view, now = work.view, work.now
    if not view.waiting or view.pool.policy.promotion is None:
        return False
    sharing = [quota]
    if unit is None and view.pool.open_size and _takes_open_share(view, quota, quantity):
        sharing += [other for other in view.pool.quotas if other is not quota and not other.by_units]
    for other in sharing:
        if view.tallies[other.key].waiting:
            slot = Slot(other, unit, room(view, other, now), opening_of(view, other, unit))
            if _anyone(work, slot):
                return True
    return False


def slots(work: Work) -> list[Slot]:
    """All room that is free, where someone waits or an opening goes on."""
    view, found = work.view, []
    for quota in view.pool.quotas:
        goes_on = any(opening.quota == quota.key for opening in view.openings.values())
        if not (goes_on or view.tallies[quota.key].waiting):
            continue
        if quota.by_units:
            units = free_units(view, quota.key, work.now)
            found += [Slot(quota, unit, len(units), opening_of(view, quota, unit)) for unit in units]
        elif free := room(view, quota, work.now):
            found.append(Slot(quota, None, free, opening_of(view, quota, None)))
    return found


def window_end(work: Work, units: tuple[Unit, ...] | list[Unit]) -> Instant:
    """When an offer made now ends: never later than the start less the policy's cut-off."""
    pool = work.view.pool
    ends = work.now + (pool.policy.offer_window or pool.policy.hold_window)
    starts = [unit.starts_at for unit in units if unit.starts_at is not None]
    if pool.starts_at is not None:
        starts.append(pool.starts_at)
    return min([ends, *(start - pool.policy.offer_cutoff for start in starts)])


def give_offer(work: Work, search: Search, why: str = "") -> None:
    """Offer what a search found."""
    view, slot, booking = work.view, search.slot, search.booking
    assert booking is not None
    units = [view.units[label] for label in search.units]
    pieces: list[Unit | None] = [*units] or [None]
    openings = tuple(ensure_opening(work, slot.quota, piece).number for piece in pieces)
    policy = view.pool.policy
    event = e.Offered(
        work.now,
        booking.number,
        booking.offer_seq + 1,
        openings,
        search.quantity,
        search.units,
        booking.asked_price or view.pool.price,
        line.position(view, booking.place),
        view.round if policy.turns == "round" else booking.round,
        window_end(work, units),
        search.reasons,
        why,
        booking.place,
    )
    work.emit(event, by=None if why else "rule")
    work.tell("offer", booking.number, seq=event.seq, offered=event.quantity, expires_at=event.expires_at)


def _next(work: Work, nobody_for: dict[tuple[str, str | None], Search]) -> Search | None:
    """The first in line for any slot. One single unit can be given as soon as somebody is found for it."""
    best: Search | None = None
    for slot in slots(work):
        if slot.key in nobody_for:
            continue
        search = look(work, slot)
        if search.booking is None:
            nobody_for[slot.key] = search
        elif len(search.units) == 1:
            return search
        elif best is None or best.booking is None or search.booking.place < best.booking.place:
            best = search
    return best


def look(work: Work, slot: Slot) -> Search:
    """Along the line, in order, for the first who can be given this slot."""
    view, search = work.view, Search(slot)
    if _exhausted(view, slot) or _too_late(work, slot):
        return search
    view.appetite = slot.room
    along = [line.members(view, group) for group in line.groups(view, slot.quota.key)]
    firsts = [
        (first.place, index, first) for index, group in enumerate(along) if (first := next(group, None))
    ]
    heapify(firsts)
    while firsts:
        _, index, booking = heappop(firsts)
        whole_group = _unfit(view, slot, booking)
        if whole_group is not None:
            search.had_turn |= whole_group == "had_turn"
            search.skip(whole_group, group_of(booking))
            continue
        reason = _passed_over(work, slot, booking, search)
        if reason is None:
            _choose(work, search, booking)
            break
        search.skip(reason, booking)
        if (following := next(along[index], None)) is not None:
            heappush(firsts, (following.place, index, following))
    return search


def look_for(work: Work, quota: Quota, booking: Booking) -> Search | None:
    """The room that staff could give one waiting booking out of turn; None if there is not enough."""
    view, partly = work.view, work.view.pool.policy.partial == "give_less"
    free = room(view, quota, work.now)
    search = Search(Slot(quota, None, free, opening_of(view, quota, None)))
    search.booking = booking
    if not quota.by_units:
        search.quantity = min(booking.quantity, free) if partly else booking.quantity
        return search if 0 < search.quantity <= free else None
    suitable = [unit for unit in free_units(view, quota.key, work.now) if suits(booking.wants, unit)]
    count = min(booking.quantity, len(suitable)) if partly else booking.quantity
    search.units = tuple(unit.label for unit in best_available(suitable, count))
    search.quantity = len(search.units)
    return search if search.quantity else None


def _unfit(view: View, slot: Slot, booking: Booking) -> str | None:
    """Why nobody of this booking's group can be given the slot; None if they may."""
    policy = view.pool.policy
    if booking.quantity > slot.room and policy.partial != "give_less":
        return "does_not_fit"
    if slot.unit is not None and not suits(booking.wants, slot.unit):
        return "wants_other"
    if policy.turns == "round" and booking.round >= view.round:
        return "had_turn"
    return None


def _passed_over(work: Work, slot: Slot, booking: Booking, search: Search) -> str | None:
    """Why this booking, of a group that fits, is passed over now; None if it is the one."""
    view, policy = work.view, work.view.pool.policy
    if _not_eligible(slot.quota, booking):
        return "not_eligible"
    if slot.unit is not None and not _units_for(work, slot, booking):
        return "does_not_fit"
    if policy.promotion != "offer":
        return None
    if policy.attempts_max is not None and booking.attempts >= policy.attempts_max:
        close_used_up(work, booking)
        return "attempts_used_up"
    if slot.opening and _was_offered(view, slot.opening, booking):
        return "had_turn"
    if policy.cooldown and booking.offered_at is not None and booking.offered_at + policy.cooldown > work.now:
        ends = booking.offered_at + policy.cooldown
        search.cooldown_ends_at = min(search.cooldown_ends_at or ends, ends)
        return "cooldown"
    return None


def _choose(work: Work, search: Search, booking: Booking) -> None:
    search.booking = booking
    search.quantity = min(booking.quantity, search.slot.room)
    if search.slot.unit is not None:
        search.units = _units_for(work, search.slot, booking)
        search.quantity = len(search.units)


def _units_for(work: Work, slot: Slot, booking: Booking) -> tuple[str, ...]:
    """The slot's unit and its best company, as many as the booking wants; empty if there are too few."""
    assert slot.unit is not None
    view, count = work.view, booking.quantity
    if count == 1:
        return (slot.unit.label,)
    free = [unit for unit in free_units(view, slot.quota.key, work.now) if suits(booking.wants, unit)]
    company = [unit for unit in free if unit == slot.unit or _open_to(work, slot.quota, unit, booking)]
    if view.pool.policy.partial == "give_less":
        count = min(count, len(company))
    return tuple(unit.label for unit in best_available(company, count, slot.unit))


def _open_to(work: Work, quota: Quota, unit: Unit, booking: Booking) -> bool:
    """Whether a unit can go along with another that is given to this booking."""
    opening = opening_of(work.view, quota, unit)
    slot = Slot(quota, unit, 1, opening)
    if _exhausted(work.view, slot) or _too_late(work, slot):
        return False
    return opening is None or not _was_offered(work.view, opening, booking)


def _was_offered(view: View, opening: Opening, booking: Booking) -> bool:
    """Whether turns go by opening and the booking had its turn at this one."""
    return view.pool.policy.turns == "opening" and (opening.number, booking.number) in view.tried


def close_used_up(work: Work, booking: Booking) -> None:
    """Close a waiting booking that has used up its attempts, and say so."""
    at = line.position(work.view, booking.place)
    work.emit(e.Closed(work.now, booking.number, "attempts_used_up", at), by="rule")
    work.tell("attempts_used_up", booking.number)


def _not_eligible(quota: Quota, booking: Booking) -> bool:
    rule = quota.eligible
    return rule is not None and not matches(rule, booking.party.tags, booking.party.attributes)


def _exhausted(view: View, slot: Slot) -> bool:
    tries_max = view.pool.policy.tries_max
    opening = slot.opening
    return opening is not None and (
        opening.state == "freed" or (tries_max is not None and opening.tries >= tries_max)
    )


def _too_late(work: Work, slot: Slot) -> bool:
    offers = work.view.pool.policy.promotion == "offer"
    return offers and window_end(work, [slot.unit] if slot.unit else []) <= work.now


def _takes_open_share(view: View, quota: Quota, quantity: int) -> bool:
    if quota.size is None or overflow(view) >= view.pool.open_size:
        return False
    return taken(view, quota.key) + quantity > quota.size


def _anyone(work: Work, slot: Slot) -> bool:
    """Whether anyone in line could be given this slot, now or once a turn or a cooldown allows it."""
    view = work.view
    if not slot.room or _exhausted(view, slot) or _too_late(work, slot):
        return False
    for group in line.groups(view, slot.quota.key):
        for booking in line.members(view, group):
            if _unfit(view, slot, booking) in ("does_not_fit", "wants_other"):
                break
            if _not_eligible(slot.quota, booking) or (
                slot.opening is not None and _was_offered(view, slot.opening, booking)
            ):
                continue
            if slot.unit is None or _units_for(work, slot, booking):
                return True
    return False


def _give(work: Work, search: Search) -> None:
    if work.view.pool.policy.promotion == "offer":
        give_offer(work, search)
    else:
        promote(work, search)


def promote(work: Work, search: Search) -> None:
    """Give a waiting booking its room without asking: confirmed if it had been confirmed, else held."""
    view, booking = work.view, search.booking
    assert booking is not None
    confirmed = booking.confirmed_at is not None
    expires_at = None if confirmed else booking.expires_at or work.now + view.pool.policy.hold_window
    event = e.Promoted(
        work.now,
        booking.number,
        CONFIRMED if confirmed else HELD,
        line.position(view, booking.place),
        search.units,
        booking.asked_price or view.pool.price,
        expires_at,
        search.reasons,
        booking.place,
    )
    work.emit(event, by="rule")
    work.tell("promoted", booking.number, state=event.state, expires_at=expires_at)


def _leave(work: Work, search: Search) -> None:
    """Nobody can be given this slot now: wait for a cooldown, hand it back to staff, or leave it free."""
    slot, tally = search.slot, work.view.tallies[search.slot.quota.key]
    if search.cooldown_ends_at is not None:
        wake(work.view, search.cooldown_ends_at)
        return
    tried = slot.opening is not None and slot.opening.state == "open" and slot.opening.tries > 0
    freed = slot.key in work.freed and tally.waiting > 0
    still_offered = slot.unit is None and tally.offered
    if work.view.pool.policy.hand_back and (tried or freed) and not still_offered:
        hand_back(work, slot.quota, slot.unit, search.reasons, too_late=_too_late(work, slot))
