"""Find a booking by what somebody says at the desk: a name, an address, a number, a reference."""

from __future__ import annotations

from typing import Final

from fairhold.console import chooser
from fairhold.console.calls import Call
from fairhold.console.page import Page
from fairhold.core.refusals import Refusal
from fairhold.finding import TEXT_MAX
from fairhold.pages.answers import Answer
from fairhold.shapes import Booking, PoolState

HERE: Final = "/console/find"
SHOWN: Final = 50


async def look(call: Call) -> Answer:
    """Who says a reference or an id is there at once; for anything else all who fit are listed."""
    asked = sought(call)
    if asked and not isinstance(exact := await call.hf.booking(asked.replace(" ", "")), Refusal):
        return call.to(f"/console/bookings/{exact.id}")
    found = await by(call, asked)
    asked_for = {name: await call.hf.pool(name) for name in dict.fromkeys(it.pool for it in found[:SHOWN])}
    pools = {name: it for name, it in asked_for.items() if isinstance(it, PoolState)}
    return await call.show(
        "find.html",
        "find",
        here=HERE,
        asked=asked,
        found=found[:SHOWN],
        more=len(found) > SHOWN,
        pools=pools,
        speech=call.speech(chooser.usual_zone(pools.values())),
        now=call.now,
    )


def sought(call: Call) -> str:
    return call.query.get("q", "").strip()[:TEXT_MAX]


async def by(call: Call, asked: str, pool: PoolState | None = None) -> list[Booking]:
    """Those who fit, and one more if there are too many to show. What cannot be looked for fits nobody."""
    found = await call.hf.find(asked, pool=pool.id if pool else None, limit=SHOWN + 1) if asked else []
    return [] if isinstance(found, Refusal) else found


PAGES: Final = (Page(HERE, "console_find", look),)
