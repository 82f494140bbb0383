"""nobody_jumps: who in line could have used the room that somebody else was given.

Written from the policy's words. Whatever is not understood here (other conditions, quiet hours) counts as a
reason to be passed over: it is better to miss something than to cry wolf.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sim.standing import Opening, Place, Standing


def passed_over(pool: Standing, number: int, quantity: int, units: Sequence[str], now: int) -> list[int]:
    """Who stood before a waiting booking and could have had what it is given, with their turn and all."""
    it = pool.places[number]
    return [
        other
        for other in pool.line()
        if pool.places[other].place < it.place
        and _share_room(pool, it.quota, pool.places[other].quota, quantity)
        and _has_turn(pool, other, now)
        and _could_use(pool, other, units, now)
    ]


def is_out_of_turn(pool: Standing, number: int, units: Sequence[str], now: int) -> bool:
    """Whether the rules had no room for a booking, or not for it, when they gave it some."""
    it, live_max = pool.places[number], pool.policy["offers_live_max"]
    if pool.policy["quiet_hours"] is not None or it.eligible != pool.eligible[it.quota]:
        return False
    if pool.status != "open" or (live_max is not None and _offers_live(pool) >= live_max):
        return True
    return not _has_turn(pool, number, now) or not _could_use(pool, number, units, now)


def jumped(pool: Standing, quota: str, quantity: int, units: Sequence[str], now: int) -> list[int]:
    """Who was in line when a newcomer got room, and could have used it, be it only once they may be asked."""
    return [
        other
        for other in pool.line()
        if _share_room(pool, quota, pool.places[other].quota, quantity)
        and _could_use(pool, other, units, now)
    ]


def waiting_in_vain(pool: Standing, now: int) -> list[int]:
    """Who waits though there is room, and nothing in the way, once all that was to be done is done."""
    live_max = pool.policy["offers_live_max"]
    if pool.status != "open" or (live_max is not None and _offers_live(pool) >= live_max):
        return []
    may_be_asked = [it for it in pool.line() if _may_be_asked(pool, pool.places[it], now)]
    return [it for it in may_be_asked if _could_use(pool, it, (), now)]


def not_yet_asked(pool: Standing, quota: str, now: int) -> list[int]:
    """Who of a quota has a turn left in its round, and could use what is free."""
    waiting = [number for number in pool.line() if pool.places[number].quota == quota]
    return [it for it in waiting if _has_turn(pool, it, now) and _could_use(pool, it, (), now)]


def has_room(pool: Standing, quota: str, now: int) -> bool:
    """Whether anything of a quota could be given now, to whomever."""
    return bool(pool.free_units(quota, now)) if quota in pool.by_units else pool.room(quota) != 0


def _offers_live(pool: Standing) -> int:
    return sum(1 for it in pool.places.values() if it.state == "offered")


def _share_room(pool: Standing, quota: str, other: str, quantity: int) -> bool:
    """Whether some of what is given in a quota could be used in the other."""
    if quota == other:
        return True
    size = pool.sizes[quota]
    if {quota, other} & pool.by_units or size is None:
        return False
    return pool.used(quota, aside=True) + quantity > size


def _has_turn(pool: Standing, number: int, now: int) -> bool:
    it = pool.places[number]
    had_turn = pool.policy["turns"] == "round" and it.round >= pool.rounds[it.quota]
    return not had_turn and _may_be_asked(pool, it, now)


def _may_be_asked(pool: Standing, it: Place, now: int) -> bool:
    policy = pool.policy
    if policy["promotion"] != "offer":
        return policy["promotion"] is not None
    if it.reach not in ("", "staff"):
        return False
    if policy["attempts_max"] is not None and it.offers >= policy["attempts_max"]:
        return False
    return it.offered_at is None or it.offered_at + policy["cooldown"] <= now


def _could_use(pool: Standing, number: int, units: Sequence[str], now: int) -> bool:
    """Whether there is room that a waiting booking may have; where `units` are named, some of these."""
    it = pool.places[number]
    if pool.policy["quiet_hours"] is not None or pool.policy["promotion"] is None:
        return False
    if it.eligible != pool.eligible[it.quota] or (
        pool.policy["promotion"] == "offer" and it.reach not in ("", "staff")
    ):
        return False
    if it.quota not in pool.by_units:
        room = pool.room(it.quota)
        enough = room is None or room >= _least(pool, it)
        return enough and _is_open_to(pool, number, None, pool.starts_at, now)
    usable = [
        label
        for label in pool.free_units(it.quota, now)
        if _suits(it.wants, pool, label) and _is_open_to(pool, number, label, _start_of(pool, label), now)
    ]
    return len(usable) >= _least(pool, it) and (not units or not set(units).isdisjoint(usable))


def _least(pool: Standing, it: Place) -> int:
    return 1 if pool.policy["partial"] == "give_less" else it.quantity


def _start_of(pool: Standing, label: str) -> int | None:
    starts = [at for at in (pool.starts_at, pool.units[label].starts_at) if at is not None]
    return min(starts, default=None)


def _is_open_to(pool: Standing, number: int, unit: str | None, starts_at: int | None, now: int) -> bool:
    """Whether it is not too late, and the opening is the line's and was not tried, by it or by enough."""
    if starts_at is not None and starts_at - pool.policy["offer_cutoff"] <= now:
        return False
    opening = pool.opening_of(pool.places[number].quota, unit)
    if opening is None or pool.policy["promotion"] != "offer":
        return True
    had_turn = pool.policy["turns"] == "opening" and number in opening.asked
    return opening.state != "freed" and not had_turn and not _is_spent(pool, opening)


def _is_spent(pool: Standing, opening: Opening) -> bool:
    """Whether so many were asked about it as may be: for each seat that is free or offered."""
    tries_max: int | None = pool.policy["tries_max"]
    if tries_max is None:
        return False
    room = pool.room(opening.quota) if opening.unit is None else None
    if room is None:
        return opening.tries >= tries_max
    offers = sum(1 for it in pool.places.values() if it.state == "offered" and it.quota == opening.quota)
    return opening.tries >= tries_max * max(1, room + offers)


def _suits(wants: Mapping[str, Any] | None, pool: Standing, label: str) -> bool:
    if wants is None:
        return True
    unit = pool.units[label]
    begins, ends, condition = wants["from_at"], wants["until_at"], wants["attributes"]
    if begins is not None and (unit.starts_at is None or unit.starts_at < begins):
        return False
    if ends is not None and (unit.starts_at is None or unit.starts_at > ends):
        return False
    if condition is None:
        return True
    understood = set(condition) == {"attribute", "is"}
    return understood and unit.attributes.get(condition["attribute"]) == condition["is"]
