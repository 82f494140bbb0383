"""The figures of the whole org."""

from __future__ import annotations

from typing import Final

import msgspec

from fairhold.http.operations import READERS, Call, Operation


class OrgStats(msgspec.Struct):
    """What all pools of the org add up to."""

    pools: int
    waiting: int
    offers_live: int
    seats_taken: int
    active_holds: int
    total_held_seats: int


async def org(call: Call) -> OrgStats:
    found = await call.hf.store.reader().rows("org_stats", call.access.org, call.hf.clock.now())
    return OrgStats(*found[0])


OPERATIONS: Final = (
    Operation(
        "GET",
        "/v1/stats",
        "org_stats",
        "The figures of the org, over all its pools",
        org,
        READERS,
        OrgStats,
        tag="pools",
    ),
)
