"""Which pool? For pages that have one chosen from a list: of very many pools, those with news of late."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from fairhold.console.calls import Call
from fairhold.http.operations import granted
from fairhold.shapes import PoolName, PoolState

_LISTED: Final = 200


async def names(call: Call) -> list[PoolName]:
    """Those with the latest news first."""
    return granted(await call.hf.pool_names(limit=_LISTED))


def usual_zone(pools: Iterable[PoolName | PoolState]) -> str:
    """The zone that most of some pools are in: what is told of all of them at once is told in it."""
    zones = Counter(it.time_zone for it in pools).most_common(1)
    return zones[0][0] if zones else "UTC"


def options(latest: Sequence[PoolName], chosen: PoolState | None) -> list[PoolName | PoolState]:
    """By title; the one that is chosen is among them, however long nothing has happened in it."""
    listed = dict[str, PoolName | PoolState]((it.id, it) for it in latest)
    if chosen is not None:
        listed.setdefault(chosen.id, chosen)
    return sorted(listed.values(), key=lambda it: ((it.title or it.key).casefold(), it.key))
