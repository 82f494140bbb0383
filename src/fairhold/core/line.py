"""The line: the waiting bookings of a pool in order, and the position of each.

Law: the line is ordered by `place`, one integer made of priority (higher first) and arrival. Arrival
is a number given under the pool's lock, so no clock ever demotes anyone. Positions are contiguous
from 1: a position is the number of waiting bookings with a lower place, plus one. Nothing is
renumbered, so a departure costs the same in a line of ten and of a hundred thousand.

A line is never loaded whole. A position is what was counted in the database before a place, plus who entered
there in this transaction, less who has left. Who is next is asked by groups: the first members of each as
loaded, merged with those who entered since; who turns out to have left is passed by.

Between two arrivals there are 2**20 free places for staff moves. Every move uses up one arrival
number too, so that no later arrival can ever be given a place that a move has taken.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from typing import Final

from fairhold.core.conditions import matches
from fairhold.core.model import (
    KEEPS_PLACE,
    NOT_REACHED,
    UNREACHABLE,
    WAITING,
    Booking,
    Group,
    Party,
)
from fairhold.core.policy import PRIORITY_MAX, Policy
from fairhold.core.view import HIGHEST, Need, View

GAP: Final = 2**20
_TIER: Final = 2**52


def priority_of(policy: Policy, party: Party) -> int:
    """The sum of the priority rules that a party meets, kept within bounds."""
    total: int = sum(
        rule["add"] for rule in policy.priority_rules if matches(rule["when"], party.tags, party.attributes)
    )
    return max(-PRIORITY_MAX, min(PRIORITY_MAX, total))


def place_of(priority: int, arrival: int) -> int:
    return (PRIORITY_MAX - priority) * _TIER + arrival * GAP


def place_at_back(view: View, arrival: int) -> int:
    """Behind everyone who is in line or has ever been."""
    return max(view.last_place // _TIER * _TIER + arrival * GAP, view.last_place + GAP)


def place_anew(booking: Booking, arrival: int) -> int:
    """Behind everyone of its own priority; but whom staff moved behind others stays behind them."""
    return max(place_of(booking.priority, arrival), booking.place // _TIER * _TIER + arrival * GAP)


def place_at_front(view: View) -> int:
    """Before everyone who is in line or has ever been."""
    return view.first_place - GAP if view.first_place < HIGHEST else place_of(0, view.arrivals)


def place_after(view: View, other: Booking) -> int | None:
    """Just behind another booking; None when the places there are used up."""
    behind = followers(view, other.place)
    gap = behind[0].place - other.place if behind else 2 * GAP
    return other.place + min(gap, GAP) // 2 if gap > 1 else None


def followers(view: View, place: int, least: int = 1) -> list[Booking]:
    """The next behind a place that keep a place of their own, in order: at least so many, or all."""
    # Further back some may be known and others not: who is next there cannot be told.
    up_to = HIGHEST if view.whole else view.reached.get(place, place)
    behind = [b for b in view.bookings.values() if place < b.place <= up_to and b.state in KEEPS_PLACE]
    if len(behind) < least and up_to < HIGHEST:
        raise Need("followers", (place, least))
    return sorted(behind, key=lambda b: b.place)


def position(view: View, place: int) -> int:
    """The position that a waiting booking with this place has, or would have."""
    before = _loaded_before(view, place)
    return before + bisect_left(view.added, place) - bisect_left(view.removed, place) + 1


def position_of(view: View, booking: Booking) -> int | None:
    """A booking's position, while it is in line."""
    return position(view, booking.place) if booking.state == WAITING else None


def _loaded_before(view: View, place: int) -> int:
    if view.loaded_waiting == 0:
        return 0
    if place > view.loaded_last_place:
        return view.loaded_waiting
    if view.prefix and (view.prefix_whole or place <= view.prefix[-1]):
        return bisect_left(view.prefix, place)
    # Whoever arrives now at one priority stands behind the same people: one question for all of them. Which
    # arrival a place is of, `place_of` says.
    if view.loaded_arrivals < place % _TIER // GAP <= view.arrivals + 1:
        place = place - place % _TIER + (view.loaded_arrivals + 1) * GAP
    if (known := view.base.get(place)) is not None:
        return known
    raise Need("position", place)


def groups(view: View, quota: str) -> list[Group]:
    """The groups of the line that may have members, of one quota."""
    if view.heads is None:
        raise Need("heads")
    found = dict.fromkeys((*view.heads, *view.fresh))
    return [group for group in found if group.quota == quota]


def members(view: View, group: Group) -> Iterator[Booking]:
    """The bookings of a group, in the order of the line."""
    if view.heads is None:
        raise Need("heads")
    loaded, fresh = view.heads.get(group, ()), view.fresh.get(group, ())
    # Those at the head who have left stay left, unless this command is taken back or they enter again: pass
    # them by for good.
    i, j = view.gone.get(group, 0), view.gone_fresh.get(group, 0)
    while i < len(loaded) and view.bookings[loaded[i][1]].state != WAITING:
        i += 1
    while j < len(fresh) and not _stands(view, group, *fresh[j]):
        j += 1
    view.gone[group], view.gone_fresh[group] = i, j
    while True:
        if i == len(loaded) and group in view.heads_more:
            raise Need("more", group)
        if i < len(loaded) and (j == len(fresh) or loaded[i] <= fresh[j]):
            place, number = loaded[i]
            # Who left the line and came back to the same place is in both.
            j += j < len(fresh) and fresh[j] == loaded[i]
            i += 1
        elif j < len(fresh):
            place, number = fresh[j]
            j += 1
        else:
            return
        if _stands(view, group, place, number):
            yield view.bookings[number]


def _stands(view: View, group: Group, place: int, number: int) -> bool:
    """Whether a booking is still in line, at this place and in this group."""
    booking = view.bookings.get(number)
    if booking is None or booking.state != WAITING or booking.place != place:
        return False
    # The quota and the wants of a booking never change.
    not_reached = group.wants.startswith(NOT_REACHED)
    same = booking.quantity == group.quantity and booking.round == group.round
    return same and (booking.reach in UNREACHABLE) is not_reached
