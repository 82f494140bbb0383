"""Room: what is free for a quota; always computed, never stored.

    used(q)   the quantity of a quota's bookings that take room
    overflow  the sum over quotas of max(0, used(q) - size(q)); it never exceeds the open size
    room(q)   max(0, size(q) - used(q)) + open size - overflow

Seats that were handed back to staff count as used here, until staff decide.

Which signups "are in" the quota and which in the open share is derived from their order, so when
someone in a quota cancels, everybody behind moves up with no writing.

A quota by units has no number: its room is its free units, and it takes no part in the open share.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice, pairwise
from typing import Final

from fairhold.core.conditions import matches
from fairhold.core.model import Instant, Quota, Unit, Wants
from fairhold.core.view import Need, View

UNLIMITED: Final = 2**31


def taken(view: View, key: str, *, aside: bool = True) -> int:
    """How many seats of a quota are used, or set aside for staff."""
    tally = view.tallies[key]
    return tally.used + tally.aside if aside else tally.used


def overflow(view: View, *, aside: bool = True) -> int:
    """How much of the open share is taken."""
    total = 0
    for quota in view.pool.quotas:
        if quota.size is not None and not quota.by_units:
            # What `taken` says, said here because every decision passes by.
            tally = view.tallies[quota.key]
            over = tally.used - quota.size + (tally.aside if aside else 0)
            if over > 0:
                total += over
    return total


def room(view: View, quota: Quota, now: Instant, *, aside: bool = True) -> int:
    """How many seats a booking in this quota could have now; `aside` False counts those set aside, too."""
    if quota.by_units:
        return len(free_units(view, quota.key, now))
    if quota.size is None:
        return UNLIMITED
    own = max(0, quota.size - taken(view, quota.key, aside=aside))
    return own + open_room(view, aside=aside) if view.pool.open_size else own


def open_room(view: View, *, aside: bool = True) -> int:
    """How many seats of the open share are free."""
    return max(0, view.pool.open_size - overflow(view, aside=aside))


def sharing_room(view: View, key: str) -> set[str]:
    """The quotas that get room when a seat of this one is freed: every one, if it is of the open share."""
    quota = view.pool.quota(key)
    if quota is None or quota.by_units or quota.size is None or taken(view, key) <= quota.size:
        return {key}
    return {other.key for other in view.pool.quotas if not other.by_units}


def placement(quota: Quota, ahead: int, quantity: int) -> str:
    """ "quota" or "open", for a booking that takes room with `ahead` seats before it in its quota."""
    if quota.by_units or quota.size is None or ahead + quantity <= quota.size:
        return "quota"
    return "open"


def free_units(view: View, quota: str, now: Instant) -> list[Unit]:
    """The units of a quota that can be had, in their order."""
    aside = {opening.unit for opening in view.openings.values() if opening.state == "handed_back"}
    free = [
        unit
        for unit in view.units.values()
        if unit.quota == quota and is_open(unit, now) and unit.booking is None and unit.label not in aside
    ]
    # A unit that was closed and opened again stands where it is listed, not where it stood.
    return sorted(free, key=lambda unit: unit.ordinal)


def by_ordinal(units: Iterable[Unit]) -> dict[int, Unit]:
    """Units by where they stand, so that neighbours are found without a search."""
    return {unit.ordinal: unit for unit in units}


def need_all_units(view: View) -> None:
    """Of a very large pool only the first free units are loaded: before a no or a choice, ask for all."""
    if not view.units_whole:
        raise Need("units")


def is_open(unit: Unit, now: Instant) -> bool:
    return not unit.closed and (unit.starts_at is None or unit.starts_at > now)


def suits(wants: Wants | None, unit: Unit) -> bool:
    """Whether a unit is one that these wants would accept."""
    if wants is None:
        return True
    if wants.attributes is not None and not matches(wants.attributes, (), unit.attributes):
        return False
    if wants.from_at is not None and (unit.starts_at is None or unit.starts_at < wants.from_at):
        return False
    return wants.until_at is None or (unit.starts_at is not None and unit.starts_at <= wants.until_at)


def best_available(units: Sequence[Unit], count: int) -> tuple[Unit, ...]:
    """The first `count` units that stand side by side, else the first ones; empty if there are too few.

    Units are side by side when their ordinals follow each other and they are of one row.
    """
    if len(units) < count:
        return ()
    for start in range(len(units) - count + 1):
        run = units[start : start + count]
        if side_by_side(run):
            return tuple(run)
    return tuple(units[:count])


def best_company(
    unit: Unit, count: int, free: Mapping[int, Unit], joins: Callable[[Unit], bool]
) -> tuple[Unit, ...]:
    """This unit and `count` less one of those free that may join it: side by side, else the first of them.

    Fewer, if there are not so many. Only its neighbours and the first ones are looked at, for of very many
    that are free each may be given with company.
    """
    others = (other for other in free.values() if other is not unit and joins(other))
    first = tuple(islice(others, count - 1))
    count = len(first) + 1
    near = range(unit.ordinal - count + 1, unit.ordinal + count)
    beside = [free[at] for at in near if at in free and (at == unit.ordinal or joins(free[at]))]
    for start in range(len(beside) - count + 1):
        run = beside[start : start + count]
        if unit in run and side_by_side(run):
            return tuple(run)
    return (unit, *first)


def side_by_side(run: Sequence[Unit]) -> bool:
    return all(
        right.ordinal == left.ordinal + 1 and right.attributes.get("row") == left.attributes.get("row")
        for left, right in pairwise(run)
    )
