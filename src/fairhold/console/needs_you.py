"""Needs you: openings that nobody took, people to tell or whom nothing reached, holds about to lapse."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Final

from fairhold.console import booking as desk
from fairhold.console import live
from fairhold.console.calls import Call
from fairhold.console.page import Page
from fairhold.http.operations import granted
from fairhold.overview import LISTED_MAX, HandedBack, Needs
from fairhold.pages.answers import Answer
from fairhold.records import Opening
from fairhold.shapes import Booking, PoolState

_ACTIONS: Final = {"again": "opening_again", "free": "opening_free", "close": "opening_closed"}


async def look(call: Call) -> Answer:
    async with call.hf.at_one_moment() as hf:
        needs = await hf.needs()
        names = {it.pool for it in needs.openings} | {it.pool for it in needs.holds}
        names |= {it.pool for it in (*needs.to_tell, *needs.passed_over)}
        names |= {it.pool for it in (*needs.unreached, *needs.dead)}
        pools = {name: granted(await hf.pool(name)) for name in names}
        lines = {it.pool: granted(await hf.line(it.pool, limit=50)) for it in needs.openings}
    return await call.show(
        "needs_you.html",
        "needs",
        here="/console/needs",
        needs=needs,
        pools=pools,
        speeches={name: call.speech(pool.time_zone) for name, pool in pools.items()},
        passed_over=[(it, pools[it.pool], _has_room(pools[it.pool], it)) for it in needs.passed_over],
        openings=[(it, pools[it.pool], _candidates(call, lines[it.pool], it)) for it in needs.openings],
        needs_count=needs.count,
        now=call.now,
        stream=call.url("/console/needs/stream").partition("?")[0],
        seen=_seen(needs),
    )


def _candidates(call: Call, line: Sequence[Booking], it: HandedBack) -> list[Booking]:
    """Those in line whom an opening could be offered to."""
    if not call.may_act:
        return []
    seats = max(1, it.opening.quantity)
    return [booking for booking in line if booking.quota == it.opening.quota and booking.quantity <= seats]


def _has_room(pool: PoolState, booking: Booking) -> bool:
    """Return True if what is free in a booking's quota could be offered to its party now."""
    return any(it.key == booking.quota and (it.room is None or it.room > 0) for it in pool.quotas)


def _seen(needs: Needs) -> str:
    return live.digest(
        [(it.pool, it.opening.number, it.opening.quantity) for it in needs.openings],
        [(it.id, it.expires_at) for it in needs.to_tell],
        [(it.id, it.reach) for it in needs.passed_over],
        [(it.message.id, it.message.attempts) for it in (*needs.unreached, *needs.dead)],
        [(it.booking.state, it.booking.expires_at) for it in needs.unreached if it.booking is not None],
        [(it.id, it.expires_at) for it in needs.holds],
    )


async def watch(call: Call) -> AsyncIterator[bytes]:
    async def seen() -> str:
        return _seen(await call.hf.needs())

    return await live.stream(call, seen)


async def back(call: Call) -> Answer:
    return call.to("/console/needs")


async def resolve(call: Call) -> Answer:
    """Decide on an opening: offer it again, leave it free, close it, or offer it to one person."""
    action, to = call.form.get("action", ""), call.form.get("to", "")
    number = call.path["opening"]
    opening = int(number) if number.isascii() and number.isdigit() and len(number) < 10 else -1
    there = f"/console/pools/{call.path['pool']}" if call.form.get("back") == "pool" else "/console/needs"
    if action == "to":
        answer: object = await call.hf.offer(to, opening=opening, by=call.by)
        return call.done(there, answer, await desk.offered(call, answer))
    was = {it.number: it for it in granted(await call.hf.openings(call.path["pool"]))}.get(opening)
    answer = await call.hf.resolve(call.path["pool"], opening, action, by=call.by)
    told = _ACTIONS.get(action, "")
    if action == "again" and was is not None and isinstance(answer, PoolState):
        told = await _asked(call, was, answer)
    return call.done(there, answer, told)


async def _asked(call: Call, was: Opening, pool: PoolState) -> str:
    """What came of offering it along the line again: somebody is asked, nobody can be, or nobody waits."""
    now = {(it.quota, it.unit): it.state for it in granted(await call.hf.openings(pool.id))}
    if now.get((was.quota, was.unit)) == "handed_back":
        return "opening_came_back"
    waits = any(quota.key == was.quota and quota.waiting for quota in pool.quotas)
    return "opening_again" if waits or pool.offers_live else "opening_free"


async def replay(call: Call) -> Answer:
    """Send a dead letter again, to those who were not reached."""
    answer = await call.hf.replay(call.path["message"])
    pool = call.path["message"].partition("-")[0]
    there = f"/console/pools/{pool}/messages" if call.form.get("back") == "pool" else "/console/needs"
    return call.done(there, answer, "replayed")


async def dismiss(call: Call) -> Answer:
    """Put a dead letter away."""
    answer = await call.hf.dismiss(call.path["message"], by=call.by)
    return call.done("/console/needs", answer, "dismissed")


async def letters(call: Call) -> Answer:
    """Send dead letters again, or put them away: all that were on the page, and none that came since."""
    seen = call.form.get("letters", "").split()[:LISTED_MAX]
    again = call.form.get("act") == "again"
    for letter in seen:
        # One that was sent or put away meanwhile is refused, and that is well.
        await (call.hf.replay(letter) if again else call.hf.dismiss(letter, by=call.by))
    return call.to("/console/needs", told="replayed_all" if again else "dismissed_all")


PAGES: Final = (
    Page("/console/needs", "console_needs", look),
    Page("/console/needs/stream", "console_needs_stream", watch),
    Page("/console/needs/letters", "console_letters", back, letters),
    Page("/console/pools/{pool}/openings/{opening}", "console_opening", back, resolve),
    Page("/console/messages/{message}/replay", "console_replay", back, replay),
    Page("/console/messages/{message}/dismiss", "console_dismiss", back, dismiss),
)
