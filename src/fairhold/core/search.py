"""Looking along the line, in order, for the first who can be given some room.

Law: everyone who is passed over is passed over for a reason, and the reason is kept. If there are several, it
is the first of these:

  1. attempts used up: it can never be asked again, whatever comes, so it is closed on the way;
  2. of its whole group: cannot be reached; does not fit; wants another unit; had its turn this round. One
     speaks for all, and nobody behind it in the group is looked at: so a line of a hundred thousand is
     never walked;
  3. not eligible; had its turn at this opening; sleeps until it is too late to answer; too few units go along
     with this one, which takes the longest to find out;
  4. cooldown, last of all: it alone passes by itself, so only who has nothing else in the way is waited for.

Where the line is served by itself, nobody is asked: then only what fits and who is eligible counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from typing import Any, Final, NamedTuple

from fairhold.core import events as e
from fairhold.core import line
from fairhold.core.model import UNREACHABLE, Booking, Group, Instant, Opening, Quota, Unit
from fairhold.core.openings import opening_of, seats_aside
from fairhold.core.quiet import sent_at
from fairhold.core.room import best_available, best_company, free_units, need_all_units, room, suits
from fairhold.core.view import View
from fairhold.core.work import Work

# So many are named for each reason; beyond that they are counted. See decision 43.
SKIPS_KEPT: Final = 200
_NEVER: Final = 2**63 - 1


class Slot(NamedTuple):
    """Room that could be given: so many seats of a quota, or one unit of it."""

    quota: Quota
    unit: Unit | None
    room: int
    opening: Opening | None
    # What is free beside the unit, by ordinal and in order, itself included.
    free: Mapping[int, Unit] = {}

    @property
    def key(self) -> tuple[str, str | None]:
        return self.quota.key, self.unit.label if self.unit else None


# What two units of a quota must have in common so that whoever is passed over at one is so at the other.
Kind = tuple[str, Instant | None, str, int | None]


def kind_of(view: View, slot: Slot) -> Kind:
    """The kind of a slot's unit; a line is looked along once for all of a kind."""
    assert slot.unit is not None
    policy, opening = view.pool.policy, slot.opening
    # An opening makes a difference if it remembers who had a turn, if it may have had all its tries, or if
    # staff have freed it.
    counts = policy.turns == "opening" or policy.tries_max is not None
    own = opening is not None and (counts or opening.state != "open")
    number = opening.number if opening is not None and own else None
    return slot.quota.key, slot.unit.starts_at, repr(slot.unit.attributes), number


class Found(NamedTuple):
    """Who can be given how much, which units if they have names, and who was passed over for it."""

    booking: Booking
    quantity: int
    units: tuple[str, ...]
    skipped: e.Skipped = ()


@dataclass(slots=True)
class Search:
    """What came of looking along the line for one slot."""

    slot: Slot
    found: Found | None = None
    skipped: list[dict[str, Any]] = field(default_factory=list)
    passed: dict[str, int] = field(default_factory=dict)
    had_turn: bool = False
    cooldown_ends_at: Instant | None = None

    def skip(self, reason: str, who: Booking | Group) -> None:
        passed = self.passed[reason] = self.passed.get(reason, 0) + 1
        if passed <= SKIPS_KEPT:
            named = {"booking": who.number} if isinstance(who, Booking) else {"group": who._asdict()}
            self.skipped.append({**named, "reason": reason})

    @property
    def reasons(self) -> e.Skipped:
        """Who was passed over and why; where there were very many, how many more, of the slot's quota."""
        quota = self.slot.quota.key
        more = [(reason, passed - SKIPS_KEPT) for reason, passed in self.passed.items()]
        counted = ({"more": n, "reason": reason, "quota": quota} for reason, n in more if n > 0)
        return (*self.skipped, *counted)


def look(work: Work, slot: Slot) -> Search:
    """Along the line, in order, for the first who can be given this slot."""
    view, search = work.view, Search(slot)
    if lost_to_the_line(work, slot):
        return search
    view.appetite = slot.room
    groups = line.groups(view, slot.quota.key)
    along = [line.members(view, group) for group in groups]
    firsts = [(first.place, i, first) for i, group in enumerate(along) if (first := next(group, None))]
    heapify(firsts)
    while firsts:
        _, index, booking = heappop(firsts)
        reason: str | None = "attempts_used_up"
        units: tuple[str, ...] = ()
        if _used_up(view, booking):
            _close(work, booking)
        elif reason := _unfit(view, slot, booking):
            # One speaks for its whole group: nobody else of it is looked at.
            search.had_turn |= reason == "had_turn"
            search.skip(reason, groups[index])
            continue
        else:
            reason, units = _passed_over(work, slot, booking)
        if reason is None:
            quantity = len(units) or min(booking.quantity, slot.room)
            search.found = Found(booking, quantity, units, search.reasons)
            break
        if reason == "cooldown":
            ends = _ready_at(work, booking)
            search.cooldown_ends_at = min(search.cooldown_ends_at or ends, ends)
        search.skip(reason, booking)
        if (following := next(along[index], None)) is not None:
            heappush(firsts, (following.place, index, following))
    return search


def look_for(work: Work, quota: Quota, booking: Booking, opening: Opening | None) -> Found | None:
    """The room that staff could give one waiting booking out of turn; None if there is not enough.

    It is what is free; or, of an opening that was handed back, what was set aside.
    """
    view, units = work.view, tuple[str, ...]()
    if opening is not None:
        seats = seats_aside(work, quota, opening)
        units = (opening.unit,) if opening.unit is not None and seats else ()
    elif quota.by_units:
        units = _best_units(work, quota, booking)
        seats = len(units)
    else:
        seats = room(view, quota, work.now)
    enough = booking.quantity if view.pool.policy.partial != "give_less" else 1
    return Found(booking, len(units) or min(booking.quantity, seats), units) if seats >= enough else None


def _best_units(work: Work, quota: Quota, booking: Booking) -> tuple[str, ...]:
    """As many of the free units as a booking wants, or as there are; those first that are not too late."""
    need_all_units(work.view)
    free = free_units(work.view, quota.key, work.now)
    in_time = [unit for unit in free if not too_late(work, unit, work.now)]
    # Where all are too late, one of them is found all the same: then that is what staff are told.
    suitable = [unit for unit in in_time or free if suits(booking.wants, unit)]
    count = min(booking.quantity, len(suitable))
    return tuple(unit.label for unit in best_available(suitable, count))


def _unfit(view: View, slot: Slot, booking: Booking) -> str | None:
    """Why nobody of this booking's group can be given the slot; None if they may."""
    policy = view.pool.policy
    if booking.reach in UNREACHABLE and policy.promotion == "offer":
        return "unreachable"
    if booking.quantity > slot.room and policy.partial != "give_less":
        return "does_not_fit"
    if slot.unit is not None and not suits(booking.wants, slot.unit):
        return "wants_other"
    if policy.turns == "round" and booking.round >= view.tallies[booking.quota].round:
        return "had_turn"
    return None


def _passed_over(work: Work, slot: Slot, booking: Booking) -> tuple[str | None, tuple[str, ...]]:
    """Why this booking, of a group that fits, is passed over now; None if it is the one, and its units."""
    is_asked = work.view.pool.policy.promotion == "offer"
    if not slot.quota.admits(booking.party):
        return "not_eligible", ()
    if is_asked and _was_offered(work.view, slot.opening, booking):
        return "had_turn", ()
    if is_asked and _sleeps(work, slot.unit, booking):
        return "quiet_hours", ()
    units = _units_for(work, slot, booking)
    if slot.unit is not None and not units:
        return "does_not_fit", ()
    if is_asked and _ready_at(work, booking) > work.now:
        return "cooldown", ()
    return None, units


def _used_up(view: View, booking: Booking) -> bool:
    """Whether a booking was asked as often as the policy allows: that may be less often than it did."""
    policy = view.pool.policy
    if policy.attempts_max is None or policy.promotion != "offer":
        return False
    return booking.attempts >= policy.attempts_max


def _close(work: Work, booking: Booking) -> None:
    """End the place in line of who can never be asked again."""
    at = line.position_of(work.view, booking)
    work.emit(e.Closed(work.now, booking.number, "attempts_used_up", at), by="rule")
    work.tell("attempts_used_up", booking.number)


def why_not(work: Work, slot: Slot, booking: Booking) -> str | None:
    """Why a booking in line is passed over for this slot; None if nothing is in its way."""
    if _used_up(work.view, booking):
        return "attempts_used_up"
    return _unfit(work.view, slot, booking) or _passed_over(work, slot, booking)[0]


def _ready_at(work: Work, booking: Booking) -> Instant:
    """When the booking may be asked: now, or when its cooldown ends."""
    return max(work.now, (booking.offered_at or 0) + work.view.pool.policy.cooldown)


def _sleeps(work: Work, unit: Unit | None, booking: Booking) -> bool:
    """Whether the quiet hours in which the booking may be asked end only when it is too late to answer."""
    if work.view.pool.policy.quiet_hours is None:
        return False
    asked_at = _ready_at(work, booking)
    wakes_at = sent_at(work.view.pool, booking.party, asked_at)
    return wakes_at > asked_at and window_end(work, [unit], wakes_at) <= wakes_at


def _units_for(work: Work, slot: Slot, booking: Booking) -> tuple[str, ...]:
    """The slot's unit and its best company, as many as the booking wants; empty if there are too few."""
    view, count = work.view, booking.quantity
    if slot.unit is None:
        return ()
    if count == 1:
        return (slot.unit.label,)

    def joins(unit: Unit) -> bool:
        return suits(booking.wants, unit) and _open_to(work, slot.quota, unit, booking)

    company = best_company(slot.unit, count, slot.free, joins)
    if len(company) < count and view.pool.policy.partial != "give_less":
        return ()
    return tuple(unit.label for unit in company)


def _open_to(work: Work, quota: Quota, unit: Unit, booking: Booking) -> bool:
    """Whether a unit can go along with another that is given to this booking."""
    opening = opening_of(work.view, quota.key, unit.label)
    if _exhausted(work, opening) or too_late(work, unit, work.now) or _sleeps(work, unit, booking):
        return False
    return not _was_offered(work.view, opening, booking)


def _was_offered(view: View, opening: Opening | None, booking: Booking) -> bool:
    """Whether turns go by opening and the booking had its turn at this one."""
    if opening is None or view.pool.policy.turns != "opening":
        return False
    return view.tried.get((opening.number, booking.number), False)


def anyone(work: Work, slot: Slot) -> bool:
    """Whether a newcomer must leave this slot alone.

    Somebody in line could have it, now or once a turn or a cooldown allows it; or it is about to go to staff.
    """
    view = work.view
    if not slot.room or too_late(work, slot.unit, work.now):
        return False
    if _exhausted(work, slot.opening):
        # What is about to go back to staff is nobody's; what staff have freed is anybody's.
        return view.pool.policy.hand_back and slot.opening is not None and slot.opening.state == "open"
    for group in line.groups(view, slot.quota.key):
        for booking in line.members(view, group):
            if _unfit(view, slot, booking) in ("unreachable", "does_not_fit", "wants_other"):
                break
            if not slot.quota.admits(booking.party) or _was_offered(view, slot.opening, booking):
                continue
            if _sleeps(work, slot.unit, booking):
                continue
            if slot.unit is None or _units_for(work, slot, booking):
                return True
    return False


def lost_to_the_line(work: Work, slot: Slot) -> bool:
    """Whether nobody is asked about a slot any more: all have been who could be, or it is too late."""
    return _exhausted(work, slot.opening) or too_late(work, slot.unit, work.now)


def _exhausted(work: Work, opening: Opening | None) -> bool:
    """Whether the line was asked and said no. A line that is served by itself is not asked."""
    if opening is None or work.view.pool.policy.promotion != "offer":
        return False
    return opening.state == "freed" or tries_spent(work.view, opening, work.now)


def tries_spent(view: View, opening: Opening, now: Instant) -> bool:
    """Whether an opening has had all its tries: so many for each free seat and for each live offer."""
    tries_max = view.pool.policy.tries_max
    if tries_max is None or opening.tries < tries_max:
        return False
    quota = view.pool.quota(opening.quota)
    if opening.unit is not None or quota is None or quota.size is None:
        return True
    seats = room(view, quota, now) + view.tallies[opening.quota].offered
    return opening.tries >= tries_max * max(1, seats)


def too_late(work: Work, unit: Unit | None, at: Instant) -> bool:
    """Whether this instant is too late for the line: it has begun, or an offer would be over at once."""
    return _last_call(work, [unit]) <= at


def window_end(work: Work, units: Sequence[Unit | None], sends_at: Instant | None = None) -> Instant:
    """When an offer sent now, or then, ends: never later than the start less the policy's cut-off."""
    policy = work.view.pool.policy
    sent = work.now if sends_at is None else sends_at
    # Where seats are offered, an offer's length is given and is not nothing.
    assert policy.offer_window, "promotion=offer needs an offer_window"
    return min(sent + policy.offer_window, _last_call(work, units))


def _last_call(work: Work, units: Sequence[Unit | None]) -> Instant:
    pool = work.view.pool
    starts = [at for at in (pool.starts_at, *(unit.starts_at for unit in units if unit)) if at is not None]
    return min(starts) - pool.policy.offer_cutoff if starts else _NEVER
