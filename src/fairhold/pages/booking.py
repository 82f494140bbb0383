"""A booking's page, for who has its link: where it stands, what happens next, and what can be done."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from datetime import timedelta
from typing import Any, Final

import msgspec

from fairhold.clock import from_datetime
from fairhold.core.commands import is_staff
from fairhold.core.model import ENDED, HELD, IN_PLAY, PAGE, WAITING
from fairhold.core.refusals import Refusal
from fairhold.pages import details as form
from fairhold.pages import live, promises
from fairhold.pages.answers import Answer, see_other
from fairhold.pages.calls import Call, gone
from fairhold.pages.speech import PageSpeech
from fairhold.pages.tickets import starts
from fairhold.pages.turns import turn_of
from fairhold.reads import Reads
from fairhold.reasons import for_party
from fairhold.shapes import Booking, Explanation, PoolState, with_tokens

# What the page says once, after something was done or refused, and in which states it is true: who goes
# back in the browser sees the news of before above what has become of it.
_TOLD: Final = {
    "saved": IN_PLAY,
    "extended": (HELD,),
    "hold_lifetime_used_up": (HELD,),
    "hold_expired": ENDED,
    "not_yours_to_confirm": (HELD,),
    "not_possible": (*IN_PLAY, *ENDED),
    "changed_meanwhile": (*IN_PLAY, *ENDED),
}


async def look(call: Call) -> Answer:
    return await _page(call, *await call.booking_key())


async def _page(
    call: Call,
    pool_id: int,
    number: int,
    *,
    status: int = 200,
    said: Mapping[str, str] | None = None,
    errors: Mapping[str, str] | None = None,
    news: str = "",
) -> Answer:
    async with call.hf.reads.at_one_moment() as reads:
        booking, pool = await _found(reads, pool_id, number)
        by_staff, total = await promises.terms_of(reads, pool, booking)
        needs = _is_theirs_to_confirm(booking, by_staff=by_staff)
        state = _state(booking, needs_confirm=needs, by_staff=by_staff)
        # The script asks often, for many at once when a line moves: while the state stays, its story will do.
        knows_the_story = call.query.get("live") == state and booking.state not in ENDED
        steps = [] if knows_the_story else await reads.explain(pool_id, number)
        extendable = booking.state == HELD and booking.expires_at is not None
        if extendable and booking.expires_at is not None:
            ends = await reads.lifetime_ends(pool_id, number)
            extendable = ends > from_datetime(booking.expires_at)
        starts_at = await starts(reads, pool_id, booking.units) if booking.units else pool.starts_at
    speech, token = call.speech(pool.time_zone, booking.party.locale), call.path["token"]
    story = [told(step, speech, by_staff=by_staff) for step in steps]
    offer = with_tokens(booking, call.hf.secret).offer
    news = news or call.query.get("told", "")
    way = await promises.way_to_tell(call, pool, booking) if booking.state == WAITING else ""
    return call.page(
        "booking.html",
        speech,
        here=f"/embed/b/{token}" if call.embedded else f"/b/{token}",
        private=True,
        status=status,
        state=state,
        booking=booking,
        pool=pool,
        title=pool.title or pool.key,
        quota=next((it for it in pool.quotas if it.key == booking.quota), None),
        needs_confirm=needs,
        by_staff=by_staff,
        total=total,
        way=way,
        gives=_gives(booking, needs_confirm=needs, by_staff=by_staff),
        ended=booking.state in ENDED,
        missing=booking.state in IN_PLAY and (form.missing(pool, booking) or way in promises.THEIRS_TO_MEND),
        mends=way in promises.THEIRS_TO_MEND,
        fields=form.fields(pool, booking, phone=form.asks_phone(call, booking), said=said, errors=errors),
        extendable=extendable,
        turn_now=turn_of(pool, booking, call.now),
        offer_url=call.url(f"/o/{offer.token}") if offer is not None else "",
        starts=starts_at,
        story=story[::-1],
        told=news if _is_still_so(news, booking, by_staff=by_staff) else "",
        act=lambda name: call.booking_url(f"{token}/{name}"),
        full_url=call.url(f"/b/{token}"),
        again_url=call.pool_url(pool.id) if pool.page and call.service.settings.pages else "",
        calendar_url=call.url(f"/b/{token}/calendar.ics"),
        code_url=call.url(f"/b/{token}/code.svg").partition("?")[0],
        stream=call.booking_url(f"{token}/stream").partition("?")[0],
        seen=_seen(booking, pool),
    )


def _is_theirs_to_confirm(booking: Booking, *, by_staff: bool) -> bool:
    """Return True if the party itself has to confirm: its hold, or that it wants its place in line."""
    if booking.state == HELD:
        return not by_staff
    return booking.state == WAITING and booking.expires_at is not None


def _state(booking: Booking, *, needs_confirm: bool, by_staff: bool) -> str:
    """Name how things stand. While that stays, the script on the page leaves forms and story as they are."""
    confirms = "confirm" if needs_confirm else "paid" if by_staff and booking.state == HELD else ""
    return "-".join(filter(None, (booking.state, confirms, booking.reach)))


def _gives(booking: Booking, *, needs_confirm: bool, by_staff: bool) -> str:
    """Say what a party in line will get: the place for good, or a hold that it confirms, or staff."""
    if booking.confirmed_at is not None:
        return "place"
    if by_staff:
        return "hold_of_staff"
    return "place" if needs_confirm else "hold"


def _is_still_so(news: str, booking: Booking, *, by_staff: bool) -> bool:
    """Return True if what was said after something was done is true as things stand."""
    return booking.state in _TOLD.get(news, ()) and (news != "not_yours_to_confirm" or by_staff)


async def _found(reads: Reads, pool_id: int, number: int) -> tuple[Booking, PoolState]:
    async with reads.at_one_moment() as one:
        booking = await one.booking(pool_id, number)
        if booking is None:
            raise gone()
        return booking, await one.pool(pool_id)


def _seen(booking: Booking, pool: PoolState) -> str:
    return live.digest(msgspec.structs.replace(booking, seconds_left=None), pool.status, pool.version)


def told(step: Explanation, speech: PageSpeech, *, by_staff: bool = False) -> dict[str, Any]:
    """A step of the booking's story, with its figures in words of the language.

    `by_staff` if staff confirm the booking: then a program of theirs may have done so, and not its party.
    """
    facts = for_party(step).facts
    return {
        "at": step.at,
        "when": speech.when(step.at),
        "code": step.code,
        "reason": step.reason,
        "by_staff": is_staff(step.by),
        "by_party": not is_staff(step.by) and not by_staff,
        "window": speech.span(facts["window_s"]) if "window_s" in facts else "",
        "until": _until(step, speech) if "window_s" in facts else "",
        "cooldown": speech.span(facts.get("cooldown_s", 0)),
        "units": ", ".join(facts.get("units", ())),
        "quantity": facts.get("quantity") or facts.get("seats", 1),
        "given": "quantity" in facts,
        **{name: facts.get(name, "") for name in ("position", "was", "priority", "to", "seats")},
        "why": facts.get("why", ""),
    }


def _until(step: Explanation, speech: PageSpeech) -> str:
    """When the time of a step ends; the day only if it is not that of the step."""
    return speech.short(step.at + timedelta(seconds=step.facts["window_s"]), from_datetime(step.at))


async def watch(call: Call) -> AsyncIterator[bytes]:
    pool_id, number = await call.booking_key()

    async def seen() -> str:
        return _seen(*await _found(call.hf.reads, pool_id, number))

    return await live.stream(call, pool_id, seen)


async def back(call: Call) -> Answer:
    """Who reloads after a form was sent comes back to the page: looking acts on nothing."""
    await call.booking_key()
    return _there(call)


def _there(call: Call, **query: str) -> Answer:
    return see_other(call.booking_url(call.path["token"], **query))


async def details(call: Call) -> Answer:
    return await _saved(call) or _there(call, told="saved")


async def confirm(call: Call) -> Answer:
    """Keep what was said, then confirm. Doing it twice is one yes."""
    refused = await _saved(call)
    if refused is not None:
        return refused
    answer = await call.hf.confirm(call.path["token"], door=PAGE)
    return _done(call, answer)


async def _saved(call: Call) -> Answer | None:
    """Keep what was said; the page with what is wrong with it, or back to it if it can be changed no more."""
    pool_id, number = await call.booking_key()
    booking, pool = await _found(call.hf.reads, pool_id, number)
    if booking.state not in IN_PLAY:
        return _there(call)
    wrong = await form.keep(call, pool, booking)
    if isinstance(wrong, Refusal):
        return _there(call, told=wrong.code)
    if not wrong:
        return None
    return await _page(call, pool_id, number, status=422, said=call.form, errors=wrong)


async def extend(call: Call) -> Answer:
    """More time, and what was typed meanwhile stays in the form."""
    pool_id, number = await call.booking_key()
    # To reload what came of it does it no second time: it is asked of the deadline that was shown.
    ends = call.form.get("ends", "")
    key = f"page:{pool_id}:{number}:extend:{ends}" if ends.isdecimal() and len(ends) < 20 else None
    answer = await call.hf.extend(call.path["token"], idempotency_key=key)
    news = answer.code if isinstance(answer, Refusal) else "extended"
    if not call.form:
        return _there(call, told=news)
    return await _page(call, pool_id, number, said=call.form, news=news)


async def cancel(call: Call) -> Answer:
    await call.booking_key()
    return _done(call, await call.hf.cancel(call.path["token"]))


def _done(call: Call, answer: Booking | Refusal) -> Answer:
    return _there(call, told=answer.code) if isinstance(answer, Refusal) else _there(call)
