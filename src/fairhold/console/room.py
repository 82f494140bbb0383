"""How full a pool is, as bars show it: what is confirmed, held, offered, set aside and free."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from fairhold.shapes import PoolState, QuotaRoom

# In the order in which they stand in a bar.
TAKEN: Final = ("confirmed", "held", "offered")


def fill_of(pool: PoolState) -> dict[str, Any]:
    """The whole pool in one bar; a size of None is unlimited."""
    used = sum(quota.used for quota in pool.quotas)
    aside = sum(aside_of(quota) for quota in pool.quotas)
    sizes = [quota.size for quota in pool.quotas]
    size = None if None in sizes else sum(it or 0 for it in sizes) + pool.open_size
    return {
        "used": used,
        "aside": aside,
        "size": size,
        "free": None if size is None else max(0, size - used - aside),
        "parts": _parts(size, [("confirmed", used), ("aside", aside)]),
    }


def aside_of(quota: QuotaRoom) -> int:
    """What waits for a decision of staff: of units, those that are neither taken nor free."""
    if not quota.by_units:
        return quota.set_aside
    return max(0, (quota.size or 0) - quota.used - (quota.room or 0))


def quota_of(pool: PoolState, quota: QuotaRoom, seats: Mapping[str, int]) -> dict[str, Any]:
    """A quota in one bar. What overflows into the open share makes the bar longer than its size."""
    counts = [(state, seats.get(state, 0)) for state in TAKEN]
    shown = quota.size
    if shown is not None:
        shown = max(shown, quota.used + aside_of(quota))
    over = 0 if quota.size is None or quota.by_units else max(0, quota.used - quota.size)
    shared = min(over, pool.open_size)
    return {
        "key": quota.key,
        "title": quota.title or quota.key,
        "named": len(pool.quotas) > 1 or bool(quota.title and quota.title != quota.key),
        "size": quota.size,
        "room": quota.room,
        "used": quota.used,
        "own": quota.used - shared,
        "shared": shared,
        "aside": aside_of(quota),
        "waiting": quota.waiting,
        "by_units": quota.by_units,
        "eligible": quota.eligible,
        "parts": _parts(shown, [*counts, ("aside", aside_of(quota))]),
        **dict(counts),
    }


def _parts(size: int | None, counts: list[tuple[str, int]]) -> list[tuple[str, float, float]]:
    """Of each that there is: what it is, where it begins and how long it is, in hundredths of the bar."""
    whole = size or max(1, sum(count for _, count in counts)) * (2 if size is None else 1)
    at, made = 0.0, []
    for name, count in counts:
        if count:
            length = round(100 * count / max(whole, 1), 2)
            made.append((name, round(at, 2), length))
            at += length
    return made
