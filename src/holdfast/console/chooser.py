"""Which pool? For pages that have one chosen from a list: of very many pools, those with news of late."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from holdfast.console.calls import Call
from holdfast.http.operations import granted
from holdfast.shapes import PoolName, PoolState

_LISTED: Final = 200


async def names(call: Call) -> list[PoolName]:
    """Those with the latest news first."""
    return granted(await call.hf.pool_names(limit=_LISTED))


def options(latest: Sequence[PoolName], chosen: PoolState | None) -> list[PoolName | PoolState]:
    """By title; the one that is chosen is among them, however long nothing has happened in it."""
    listed = dict[str, PoolName | PoolState]((it.id, it) for it in latest)
    if chosen is not None:
        listed.setdefault(chosen.id, chosen)
    return sorted(listed.values(), key=lambda it: ((it.title or it.key).casefold(), it.key))
