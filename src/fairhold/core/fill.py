"""Fill: give free room to the line until none is free or nobody is eligible.

By `auto` the first in line who fits gets the room at once. By `offer` the step is:

  1. no room: stop; as many live offers as the policy allows: stop;
  2. along the line, in order: closed, skipped, or the one. Every skip has a reason, and the reasons are kept
     with the event; which they are, and in which order they are asked for, is said in `search`;
  3. found: offered, with a window that ends before the start;
  4. none found, but some had had their turn by round: the next round begins, in the quotas where that is so
     and something is free, and we look once more.

The step repeats until nothing changes. Each one offers, promotes or closes somebody, or starts a
round that the one before did not, so it ends. Where very much room appears at once, it is given out in
pieces: the pool is due again at once, and meanwhile newcomers wait behind the line as ever.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final

from fairhold.core import events as e
from fairhold.core import line
from fairhold.core.model import CONFIRMED, HELD, Quota, Unit
from fairhold.core.openings import end_outgrown, ensure_opening, goes_on, hand_back, open_vacated, opening_of
from fairhold.core.quiet import sent_at
from fairhold.core.room import by_ordinal, free_units, need_all_units, open_room, overflow, room, taken
from fairhold.core.search import (
    Found,
    Kind,
    Search,
    Slot,
    anyone,
    kind_of,
    look,
    lost_to_the_line,
    too_late,
    window_end,
)
from fairhold.core.view import View
from fairhold.core.work import Work

# So many steps are made in one decision; the next tick goes on.
FILL_MAX: Final = 500


def fill(work: Work, steps: int | None = None) -> None:
    """Give free room to the line, to the fixed point or for so many steps."""
    view = work.view
    policy = view.pool.policy
    if work.grown:
        end_outgrown(work)
    if work.vacated:
        open_vacated(work)
    if view.pool.status != "open" or policy.promotion is None or not (view.waiting or goes_on(view)):
        return
    left = RoomLeft(work)
    round_began = False
    for _ in range(FILL_MAX if steps is None else min(steps, FILL_MAX)):
        live_max = policy.offers_live_max
        if policy.promotion == "offer" and live_max is not None and view.offers_live >= live_max:
            # Nothing is handed back meanwhile: some slots were not looked at, and are when an offer is over.
            return
        found = _next(work, left)
        if found is not None:
            give = give_offer if policy.promotion == "offer" else promote
            give(work, found)
            left.take(found)
            round_began = False
        elif not round_began and (keys := left.of_who_had_a_turn()):
            _start_rounds(work, keys)
            left.hope_again()
            round_began = True
        else:
            break
    else:
        # So many steps were asked for, or are enough for one decision; a tick goes on from here.
        view.wake(work.now)
        return
    if _leave(work, left.nobody_for.values()):
        # What went to staff goes along with nothing else any more: nobody's cooldown is waited for in vain.
        fill(work, steps)


def _start_rounds(work: Work, keys: set[str]) -> None:
    """Everyone eligible of these quotas had a turn. The lines of the others are where they were."""
    for quota in work.view.pool.quotas:
        if quota.key in keys:
            number = work.view.tallies[quota.key].round + 1
            work.emit(e.RoundStarted(work.now, number, quota.key), by="rule")


class RoomLeft:
    """The room that one fill gives out, and what is known of it.

    Units are listed once, and those given are struck off: nobody else gives or frees any meanwhile, so to
    list them anew at each of hundreds of steps would show the same.
    """

    def __init__(self, work: Work) -> None:
        self._work = work
        # The slots that nobody can be given, as long as nothing changes for them, each with why.
        self.nobody_for: dict[tuple[str, str | None], Search] = {}
        # By quota and ordinal the units that are free, and those of them that are no such slot.
        self._free: dict[str, dict[int, Unit]] = {}
        self._hopeful: dict[str, dict[int, Unit]] = {}
        # What came of looking for one unit, by its kind.
        self._nobody_alike: dict[Kind, Search] = {}

    def slots(self, quota: Quota) -> Iterator[Slot]:
        """What is free of a quota where someone waits or an opening goes on, and somebody may be found."""
        view, key = self._work.view, quota.key
        if not (view.tallies[key].waiting or goes_on(view, key)):
            return
        if quota.by_units:
            free = self._units(key)
            for unit in list(self._hopeful[key].values()):
                slot = Slot(quota, unit, len(free), opening_of(view, key, unit.label), free)
                if (known := self._nobody_alike.get(kind_of(view, slot))) is not None:
                    self.give_up(replace(known, slot=slot))
                else:
                    yield slot
        elif (key, None) not in self.nobody_for and (seats := room(view, quota, self._work.now)):
            yield Slot(quota, None, seats, opening_of(view, key, None))

    def _units(self, key: str) -> dict[int, Unit]:
        if key not in self._free:
            need_all_units(self._work.view)
            self._free[key] = by_ordinal(free_units(self._work.view, key, self._work.now))
            self._hopeful[key] = dict(self._free[key])
        return self._free[key]

    def give_up(self, search: Search) -> None:
        """Nobody was found for a slot."""
        slot = search.slot
        self.nobody_for[slot.key] = search
        if slot.unit is not None:
            self._nobody_alike[kind_of(self._work.view, slot)] = search
            del self._hopeful[slot.quota.key][slot.unit.ordinal]

    def of_who_had_a_turn(self) -> set[str]:
        """The quotas of which something is free still, for nobody but those who had had their turn."""
        return {
            it.slot.quota.key for it in self.nobody_for.values() if it.had_turn and self._is_free(it.slot)
        }

    def _is_free(self, slot: Slot) -> bool:
        if slot.unit is not None:
            return slot.unit.ordinal in self._free[slot.quota.key]
        return bool(room(self._work.view, slot.quota, self._work.now))

    def hope_again(self) -> None:
        """A round has begun: whoever had had a turn has one again."""
        self.nobody_for.clear()
        self._nobody_alike.clear()
        self._hopeful = {key: dict(units) for key, units in self._free.items()}

    def take(self, found: Found) -> None:
        """This was given."""
        for label in found.units:
            ordinal = self._work.view.units[label].ordinal
            del self._free[found.booking.quota][ordinal]
            self._hopeful[found.booking.quota].pop(ordinal, None)


def _next(work: Work, left: RoomLeft) -> Found | None:
    """The first in line for any slot; None if there is nobody for any of them.

    Where all room is given out anyhow, one single unit can be given as soon as somebody is found for it.
    Where only so many are asked at a time, they must be the first of all who can be.
    """
    every = work.view.pool.policy.offers_live_max is None
    best: Found | None = None
    for quota in work.view.pool.quotas:
        for slot in left.slots(quota):
            search = look(work, slot)
            found = search.found
            if found is None:
                left.give_up(search)
                continue
            if every and len(found.units) == 1:
                return found
            if best is None or found.booking.place < best.booking.place:
                best = found
            if not found.skipped:
                # It is the quota's very first: no other unit is for anybody before.
                break
    return best


def give_offer(work: Work, found: Found, why: str = "") -> None:
    """Offer a waiting booking what was found for it."""
    view, booking, policy = work.view, found.booking, work.view.pool.policy
    openings = tuple(ensure_opening(work, booking.quota, label) for label in found.units or (None,))
    # Who of staff offers it out of turn knows what time it is.
    sends_at = work.now if why else sent_at(view.pool, booking.party, work.now)
    event = e.Offered(
        work.now,
        booking.number,
        booking.offer_seq + 1,
        openings,
        found.quantity,
        found.units,
        booking.asked_price or view.pool.price,
        line.position(view, booking.place),
        view.tallies[booking.quota].round if policy.turns == "round" else booking.round,
        window_end(work, [view.units[label] for label in found.units], sends_at),
        found.skipped,
        why,
        booking.place,
    )
    work.emit(event, by=None if why else "rule")
    facts = {"seq": event.seq, "offered": event.quantity, "expires_at": event.expires_at}
    work.tell("offer", booking.number, due_at=sends_at if sends_at > work.now else None, **facts)


def promote(work: Work, found: Found, *, confirmed: bool = False, by: str | None = "rule") -> None:
    """Give a waiting booking its room without asking: confirmed if it is or had been, else held."""
    view, booking = work.view, found.booking
    confirmed = confirmed or booking.confirmed_at is not None
    expires_at = None if confirmed else booking.expires_at or work.now + view.pool.policy.hold_window
    event = e.Promoted(
        work.now,
        booking.number,
        CONFIRMED if confirmed else HELD,
        line.position(view, booking.place),
        found.units,
        booking.asked_price or view.pool.price,
        expires_at,
        found.skipped,
        booking.place,
    )
    work.emit(event, by=by)
    work.tell("promoted", booking.number, state=event.state, expires_at=expires_at)
    work.remind(booking.number)


def _leave(work: Work, searches: Iterable[Search]) -> bool:
    """Nobody can be given these slots now: wait for a cooldown, hand back to staff, or leave them free.

    Whether something was handed back.
    """
    view, left, kept, before = work.view, [], 0, len(work.entries)
    for search in searches:
        slot, ends_at = search.slot, search.cooldown_ends_at
        # Its opening may have had its last try since: by an offer to somebody of another quota.
        now = slot._replace(opening=opening_of(view, *slot.key))
        if ends_at is None or too_late(work, slot.unit, ends_at) or lost_to_the_line(work, now):
            left.append(search)
            continue
        view.wake(ends_at)
        if _of_number(slot):
            # Whoever is asked then may be asked for any free seat of the open share.
            kept = open_room(view)
    for search in left if view.pool.policy.hand_back else ():
        slot = search.slot
        is_open = slot.opening is not None and slot.opening.state == "open"
        still_offered = slot.unit is None and view.tallies[slot.quota.key].offered
        if is_open and not still_offered:
            late, but = too_late(work, slot.unit, work.now), kept if _of_number(slot) else 0
            hand_back(work, slot.quota, slot.unit, search.reasons, too_late=late, but=but)
    return len(work.entries) > before


def _of_number(slot: Slot) -> bool:
    return slot.unit is None and slot.quota.size is not None


def line_could_use(
    work: Work, quota: Quota, quantity: int, unit: Unit | None = None, free: Mapping[int, Unit] | None = None
) -> bool:
    """Whether someone waiting could use the room that a newcomer asks for: then the newcomer waits too.

    Of a unit, `free` are all that are free there, by ordinal.
    """
    view, now = work.view, work.now
    if view.pool.policy.promotion is None or not view.waiting:
        return False
    sharing = [quota]
    if unit is None and view.pool.open_size and _takes_open_share(view, quota, quantity):
        sharing += [other for other in view.pool.quotas if other is not quota and not other.by_units]
    for other in sharing:
        if view.tallies[other.key].waiting:
            opening = opening_of(view, other.key, unit.label if unit else None)
            seats = room(view, other, now) if free is None else len(free)
            slot = Slot(other, unit, seats, opening, free or {})
            if anyone(work, slot):
                return True
    return False


def _takes_open_share(view: View, quota: Quota, quantity: int) -> bool:
    if quota.size is None or overflow(view) >= view.pool.open_size:
        return False
    return taken(view, quota.key) + quantity > quota.size
