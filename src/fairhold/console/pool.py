"""A pool as it stands now: its seats, holds, offers and line, with what can be done about each."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, Final

from fairhold import ids
from fairhold.console import find, live
from fairhold.console.calls import Call
from fairhold.console.names import name_of
from fairhold.console.page import Page
from fairhold.console.pools import phase
from fairhold.console.room import quota_of
from fairhold.core.model import HELD, OFFERED, confirmed_by_staff
from fairhold.http.operations import granted
from fairhold.library import Fairhold
from fairhold.overview import UnitNow
from fairhold.pages.answers import Answer
from fairhold.shapes import Booking, PoolState

_SHOWN: Final = 50
_LINE_SHOWN: Final = 100


async def look(call: Call) -> Answer:
    # What is shown must fit together; and were `seen` of a later moment, nobody would look again.
    async with call.hf.at_one_moment() as hf:
        pool = granted(await hf.pool(call.path["pool"]))
        line = granted(await hf.line(pool.id, limit=_LINE_SHOWN + 1))
        openings = granted(await hf.openings(pool.id))
        holds, offers = await _some(hf, pool, HELD), await _some(hf, pool, OFFERED)
        quotas, units = await _quotas(hf, pool), await _units(hf, pool)
        seen = await _seen(hf, pool)
    return await shown(
        call,
        "pool_now.html",
        pool,
        "now",
        holds=holds,
        offers=offers,
        line=line[:_LINE_SHOWN],
        line_more=pool.waiting - _LINE_SHOWN if len(line) > _LINE_SHOWN else 0,
        openings=[it for it in openings if it.state == "handed_back"],
        quotas=quotas,
        units=units,
        by_staff=confirmed_by_staff(pool.policy["confirm_by"], pool.price),
        stream=call.url(f"/console/pools/{pool.id}/stream").partition("?")[0],
        seen=seen,
    )


async def known(call: Call) -> PoolState:
    """The pool of the path, if it is of this org."""
    return granted(await call.hf.pool(call.path["pool"]))


async def shown(call: Call, template: str, pool: PoolState, tab: str, **variables: Any) -> Answer:
    """A page about a pool: all of them have the same head."""
    head: dict[str, Any] = {
        "pool": pool,
        "title": pool.title or pool.key,
        "tab": tab,
        "base": f"/console/pools/{pool.id}",
        "phase": phase(pool, call.now),
        "speech": call.speech(pool.time_zone),
        "public_url": call.url(f"/p/{pool.id}") if pool.page and call.service.settings.pages else "",
        "now": call.now,
    }
    here = f"/console/pools/{pool.id}" + ("" if tab == "now" else f"/{tab}")
    return await call.show(template, "pools", **{"here": here, **head, **variables})


async def _some(hf: Fairhold, pool: PoolState, state: str) -> list[Booking]:
    """Those who have so little time left that it counts, the first to end first."""
    return granted(await hf.next_to_end(pool.id, state, limit=_SHOWN))


async def _quotas(hf: Fairhold, pool: PoolState) -> list[dict[str, Any]]:
    seats = granted(await hf.seats(pool.id))
    return [quota_of(pool, quota, seats.get(quota.key, {})) for quota in pool.quotas]


async def _units(hf: Fairhold, pool: PoolState) -> list[UnitNow]:
    by_units = any(quota.by_units for quota in pool.quotas)
    return granted(await hf.units(pool.id, closed=True)) if by_units else []


async def _seen(hf: Fairhold, pool: PoolState) -> str:
    pool_id = ids.pool_number(pool.id)
    assert pool_id is not None
    return live.digest(await hf.reads.log_seq(pool_id))


async def watch(call: Call) -> AsyncIterator[bytes]:
    pool = await known(call)

    async def seen() -> str:
        return await _seen(call.hf, pool)

    return await live.stream(call, seen)


async def bookings(call: Call) -> Answer:
    """All bookings of a pool, the newest first; or those in one state, or those who fit what was asked."""
    pool, asked = await known(call), find.sought(call)
    state = call.query.get("state", "") if call.query.get("state", "") in STATES else ""
    if asked:
        found = [it for it in await find.by(call, asked, pool) if not state or it.state == state]
    else:
        found = await _newest(call, pool, state)
    last = ids.booking_number(found[_SHOWN - 1].id) if len(found) > _SHOWN and not asked else None
    return await shown(
        call,
        "pool_bookings.html",
        pool,
        "bookings",
        bookings=found[:_SHOWN],
        asked=asked,
        too_many=len(found) > _SHOWN,
        state=state,
        states=STATES,
        more=last[1] if last else "",
    )


async def _newest(call: Call, pool: PoolState, state: str) -> list[Booking]:
    said = call.query.get("before", "")
    before = int(said) if said.isascii() and said.isdigit() and len(said) < 18 else None
    return granted(
        await call.hf.newest_bookings(pool.id, state=state or None, before=before, limit=_SHOWN + 1)
    )


STATES: Final = ("confirmed", "held", "offered", "waiting", "cancelled", "expired", "declined", "closed")


async def messages(call: Call) -> Answer:
    """What was told to whom about a pool, and how it fared."""
    pool = await known(call)
    before = call.query.get("before") or None
    async with call.hf.at_one_moment() as hf:
        found = granted(await hf.newest_messages(pool.id, before=before, limit=_SHOWN + 1))
        people = await hf.bookings_by_id([it.booking for it in found[:_SHOWN] if it.booking])
        fates = await hf.fates([it.id for it in found[:_SHOWN]])
    return await shown(
        call,
        "pool_messages.html",
        pool,
        "messages",
        messages=[(it, people.get(it.booking or "")) for it in fates],
        more=found[_SHOWN - 1].id if len(found) > _SHOWN else "",
    )


async def printed(call: Call) -> Answer:
    """A list to print: who has a place, and who waits."""
    everyone: list[Booking] = []
    async with call.hf.at_one_moment() as hf:
        pool = granted(await hf.pool(call.path["pool"]))
        for state in ("confirmed", "held"):
            after = 0
            while page := granted(await hf.bookings(pool.id, state=state, after=after, limit=500)):
                everyone += page
                number = ids.booking_number(page[-1].id)
                assert number is not None
                after = number[1]
        line = granted(await hf.line(pool.id, limit=500))
    # Who has no name yet comes last.
    everyone.sort(key=lambda it: (not (name := name_of(it.party.id, it.party.name)), name.casefold()))
    return await shown(call, "pool_list.html", pool, "list", everyone=everyone, line=line)


PAGES: Final = (
    Page("/console/pools/{pool}", "console_pool", look),
    Page("/console/pools/{pool}/stream", "console_pool_stream", watch),
    Page("/console/pools/{pool}/bookings", "console_pool_bookings", bookings),
    Page("/console/pools/{pool}/messages", "console_pool_messages", messages),
    Page("/console/pools/{pool}/list", "console_pool_list", printed),
)
