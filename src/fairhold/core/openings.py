"""Openings: which room is being offered, how often it was tried, and when it goes back to staff.

A unit's opening lasts from its becoming free until someone has it. A quota sized by number has one
opening at a time, from room appearing until it is taken or handed back. While one goes on its room is the
line's (open) or, staff having said so, anybody's (freed); what was handed back is nobody's until they decide.
"""

from __future__ import annotations

from fairhold.core import events as e
from fairhold.core.model import GOING_ON, HAS_SEATS, LIVE, Instant, Opening, Quota, Unit
from fairhold.core.room import is_open, room
from fairhold.core.view import View
from fairhold.core.work import Work


def opening_of(view: View, quota: str, unit: str | None) -> Opening | None:
    """The opening that goes on for this room, if there is one."""
    number = view.going_on.get((quota, unit))
    return None if number is None else view.openings[number]


def handed_back(view: View, number: int | None, quota: str | None = None) -> Opening | None:
    """The opening with this number, if it came back, of this quota or any, and staff have yet to decide."""
    opening = view.openings.get(number or 0)
    if opening is None or opening.state != "handed_back" or quota not in (None, opening.quota):
        return None
    return opening


def goes_on(view: View, quota: str | None = None) -> bool:
    """Whether any opening goes on, of one quota or of all; those that are over may be loaded or not."""
    return any(n is not None and quota in (None, key) for (key, _), n in view.going_on.items())


def ensure_opening(work: Work, quota: str, unit: str | None) -> int:
    """The number of the opening that goes on for this room, or of a new one."""
    if (opening := opening_of(work.view, quota, unit)) is not None:
        return opening.number
    number = work.view.openings_made + 1
    work.emit(e.OpeningStarted(work.now, number, quota, unit), by="rule")
    return number


def open_vacated(work: Work) -> None:
    """What staff would get back opens when it becomes free, though it may be judged only later."""
    view = work.view
    if view.pool.policy.hand_back and view.pool.status in ("open", "paused"):
        for key, label in sorted(work.vacated, key=lambda it: (it[0], it[1] or "")):
            quota, unit = view.pool.quota(key), view.units[label] if label is not None else None
            in_time = unit is None or is_open(unit, work.now)
            if quota is not None and view.tallies[key].waiting and in_time and _still_free(work, quota, unit):
                ensure_opening(work, key, label)
    work.vacated.clear()


def end_outgrown(work: Work) -> None:
    """An opening that nobody is considering ends when more room appears: what is free then is a new one."""
    view = work.view
    for opening in list(view.openings.values()):
        idle = opening.state in GOING_ON and not view.tallies[opening.quota].offered
        if opening.unit is None and idle and opening.quota in work.grown:
            work.emit(e.OpeningEnded(work.now, opening.number, "outgrown"), by="rule")
    work.grown.clear()


def hand_back(
    work: Work, quota: Quota, unit: Unit | None, reasons: e.Skipped, *, too_late: bool, but: int
) -> None:
    """Nobody took this room: set it aside for staff to decide, `but` so many seats, and tell them why."""
    free = _still_free(work, quota, unit) - but
    opening = opening_of(work.view, quota.key, unit.label if unit else None)
    if free <= 0 or opening is None or opening.state != "open":
        return
    tries = opening.tries
    note = f"{tries} offered, nobody took it" if tries else "nobody in line can use it"
    if not tries and too_late:
        note = "too late to be offered"
    work.emit(e.HandedBack(work.now, opening.number, free, note, reasons), by="rule")
    work.tell_staff("handed_back", opening=opening.number, quota=quota.key, unit=opening.unit, note=note)


def seats_aside(work: Work, quota: Quota, opening: Opening) -> int:
    """How many of the seats that were handed back can be had: the unit's time may have come."""
    if opening.unit is not None:
        return int(is_open(work.view.units[opening.unit], work.now))
    return min(opening.quantity, room(work.view, quota, work.now, aside=False))


def take_aside(work: Work, opening: Opening, quantity: int, how: str) -> None:
    """Take seats out of what was handed back; the rest of them stays aside."""
    if opening.unit is None and quantity < opening.quantity:
        work.emit(e.OpeningReduced(work.now, opening.number, opening.quantity - quantity))
    else:
        work.emit(e.OpeningEnded(work.now, opening.number, how))


def _still_free(work: Work, quota: Quota, unit: Unit | None) -> int:
    """The seats that nobody was given since they were looked at; what has no limit has none to hand back."""
    if unit is not None:
        return int(work.view.units[unit.label].booking is None)
    return 0 if quota.size is None else room(work.view, quota, work.now)


def end_openings(work: Work) -> None:
    """An opening ends when its room is taken, or when there is nothing left to give or to decide."""
    for opening in [o for o in work.view.openings.values() if o.state in LIVE]:
        if _moot(work, opening):
            work.emit(e.OpeningEnded(work.now, opening.number, "moot"), by="rule")
        elif opening.state in GOING_ON and _taken(work, opening):
            work.emit(e.OpeningEnded(work.now, opening.number, "taken"), by="rule")
        elif opening.state == "handed_back" and (begins_at := _begins_at(work.view, opening)) is not None:
            # From then on staff have nothing to decide, and it is not among what they must.
            work.view.wake(begins_at)


def _begins_at(view: View, opening: Opening) -> Instant | None:
    unit = view.units[opening.unit] if opening.unit is not None else None
    starts = [at for at in (view.pool.starts_at, unit.starts_at if unit else None) if at is not None]
    return min(starts, default=None)


def _moot(work: Work, opening: Opening) -> bool:
    """Whether the unit's time has come, or the pool is over before staff have decided."""
    # One that goes on stays: a closed pool gives nothing away, and may be opened again.
    if opening.state == "handed_back" and work.view.pool.over(work.now) is not None:
        return True
    return opening.unit is not None and not is_open(work.view.units[opening.unit], work.now)


def _taken(work: Work, opening: Opening) -> bool:
    """Whether its room is taken by a hold or a confirmation; an offer takes it only for a while."""
    view, quota = work.view, work.view.pool.quota(opening.quota)
    if opening.unit is not None:
        number = view.units[opening.unit].booking
        return number in view.bookings and view.bookings[number].state in HAS_SEATS
    if quota is None:
        return True
    # A seat of the open share may be offered in another quota.
    sharing = [q for q in view.pool.quotas if not q.by_units] if view.pool.open_size else [quota]
    return not (any(view.tallies[q.key].offered for q in sharing) or room(view, quota, work.now))
