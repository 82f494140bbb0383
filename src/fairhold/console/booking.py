"""A booking, for staff: who, what and where it stands; and everything that can be done about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from fairhold.console import pool as pools
from fairhold.console.calls import Call
from fairhold.console.page import Page
from fairhold.core.model import ENDED, HELD, IN_PLAY, OFFERED, UNREACHABLE
from fairhold.core.refusals import Refusal
from fairhold.http.operations import granted
from fairhold.http.problems import Problem
from fairhold.library import Fairhold
from fairhold.pages import details
from fairhold.pages.answers import Answer
from fairhold.pages.forms import BODY_MAX
from fairhold.shapes import Booking, PoolState


async def look(call: Call) -> Answer:
    return await _page(call)


async def _known(call: Call) -> Booking:
    return granted(await call.hf.booking(call.path["booking"]))


async def _page(
    call: Call,
    *,
    status: int = 200,
    said: Mapping[str, str] | None = None,
    errors: Mapping[str, str] | None = None,
    linked: bool = False,
    **variables: Any,
) -> Answer:
    async with call.hf.at_one_moment() as hf:
        booking = granted(await hf.booking(call.path["booking"], secret=linked))
        pool, line = granted(await hf.pool(booking.pool)), await _line(hf, booking)
    return await pools.shown(
        call,
        "booking_desk.html",
        pool,
        "booking",
        here=f"/console/bookings/{booking.id}",
        status=status,
        booking=booking,
        ended=booking.state in ENDED,
        in_play=booking.state in IN_PLAY,
        passed_over=booking.state != OFFERED and booking.reach in UNREACHABLE,
        hears=await call.can_tell(
            booking.party.contacts, "put_back" if booking.state in ENDED else "cancelled"
        ),
        changing=call.query.get("change") == "yes",
        fields=details.fields(pool, booking, phone=True, said=said, errors=errors),
        answers=_answers(pool, booking),
        line=line,
        link=_link(call, booking),
        links=call.service.settings.pages,
        **variables,
    )


async def _line(hf: Fairhold, booking: Booking) -> list[Booking]:
    """Behind whom one can be put: the line, as far as a list of it can be read."""
    if booking.state != "waiting":
        return []
    found = granted(await hf.line(booking.pool, limit=100))
    return [it for it in found if it.id != booking.id]


def _link(call: Call, booking: Booking) -> str:
    """The page of who booked, for staff to hand on; empty unless it was asked for."""
    if booking.edit_token is None or not call.service.settings.pages:
        return ""
    return f"{call.settings.base_url.rstrip('/')}/b/{booking.edit_token}"


def _answers(pool: PoolState, booking: Booking) -> list[tuple[str, Any]]:
    titles = {question["key"]: question.get("title", question["key"]) for question in pool.questions}
    return [(titles.get(key, key), answer) for key, answer in booking.answers.items()]


async def back(call: Call) -> Answer:
    """Who reloads after a form was sent comes back to the booking: looking acts on nothing."""
    return call.to(f"/console/bookings/{(await _known(call)).id}")


def _there(call: Call, booking: Booking, answer: object, told: str) -> Answer:
    """Back to where the button was: the booking's page or its pool's."""
    to_pool = call.form.get("back") == "pool"
    path = f"/console/pools/{booking.pool}" if to_pool else f"/console/bookings/{booking.id}"
    return call.done("/console/needs" if call.form.get("back") == "needs" else path, answer, told)


async def confirm(call: Call) -> Answer:
    booking = await _known(call)
    return _there(call, booking, await call.hf.confirm(booking.id, by=call.by), "confirmed")


async def extend(call: Call) -> Answer:
    """More time: so many minutes, or one more hold window."""
    booking = await _known(call)
    minutes = _number(call.form.get("minutes", ""))
    answer = await call.hf.extend(booking.id, minutes * 60 if minutes else None, by=call.by)
    return _there(call, booking, answer, "extended")


async def cancel(call: Call) -> Answer:
    booking = await _known(call)
    answer = await call.hf.cancel(booking.id, why=call.form.get("why", "").strip(), by=call.by)
    hears = await call.can_tell(booking.party.contacts, "cancelled")
    return _there(call, booking, answer, "cancelled" if hears else "cancelled_by_you")


async def offer(call: Call) -> Answer:
    """Offer free room now, out of turn; or, of an opening that was handed back, its seats."""
    booking = await _known(call)
    opening = _number(call.form.get("opening", ""))
    why = call.form.get("why", "").strip()
    answer = await call.hf.offer(booking.id, why=why, opening=opening, by=call.by)
    return _there(call, booking, answer, await offered(call, answer))


async def offered(call: Call, answer: object) -> str:
    """Say that a seat is offered, and where no letter reaches its party, that staff are to tell them."""
    if not isinstance(answer, Booking):
        return "offered"
    kind = "offer" if answer.state == OFFERED else "promoted"
    hears = not answer.reach and await call.can_tell(answer.party.contacts, kind)
    return "offered" if hears else "offered_by_you"


async def say_yes(call: Call) -> Answer:
    """They said yes, at the desk or on the phone."""
    booking = granted(await call.hf.booking(call.path["booking"], secret=True))
    if booking.offer is None:
        return _there(call, booking, None, "offer_answered")
    answer = await call.hf.claim(booking.offer.token, by=call.by)
    is_held = isinstance(answer, Booking) and answer.state == HELD
    return _there(call, booking, answer, "claimed_held" if is_held else "claimed")


async def say_no(call: Call) -> Answer:
    booking = await _known(call)
    return _there(call, booking, await call.hf.decline(booking.id, by=call.by), "declined")


async def put_back(call: Call) -> Answer:
    """Undo an end that came by mistake, or that somebody thought better of."""
    booking = await _known(call)
    answer = await call.hf.put_back(booking.id, why=call.form.get("why", "").strip(), by=call.by)
    return _there(call, booking, answer, "put_back")


async def move(call: Call) -> Answer:
    """Move in line, with a reason: to the front, the back, up, down, or behind somebody."""
    booking = await _known(call)
    why, to = call.form.get("why", "").strip(), call.form.get("to", "")
    if not why:
        return _there(call, booking, None, "needs_reason")
    where = await _where(call, booking, to)
    if where is None:
        return _there(call, booking, None, "not_possible")
    answer = await call.hf.move(booking.id, why=why, by=call.by, **where)
    return _there(call, booking, answer, "moved")


async def _where(call: Call, booking: Booking, to: str) -> dict[str, str] | None:
    """What `move` is to be asked; None if there is nowhere to go."""
    if to in ("front", "back"):
        return {"to": to}
    if to.startswith("after:"):
        return {"after": to.removeprefix("after:")}
    if booking.position is None or to not in ("up", "down"):
        return None
    behind = booking.position - 2 if to == "up" else booking.position + 1
    if behind == 0:
        return {"to": "front"}
    found = granted(await call.hf.line(booking.pool, after=behind - 1, limit=1)) if behind > 0 else []
    return {"after": found[0].id} if found else None


async def tell_themselves(call: Call) -> Answer:
    """Staff tell this party of offers themselves, whatever letters can do."""
    booking = await _known(call)
    answer = await call.hf.change_booking(booking.id, told_by_staff=True, by=call.by)
    return _there(call, booking, answer, "told_by_staff")


async def tell_no_more(call: Call) -> Answer:
    """Leave it to letters again."""
    booking = await _known(call)
    answer = await call.hf.change_booking(booking.id, told_by_staff=False, by=call.by)
    return _there(call, booking, answer, "told_by_letters")


async def hand_link(call: Call) -> Answer:
    """Show the party's own link. Who has it acts as the party: no page has it that one only looks at."""
    return await _page(call, linked=True)


async def change(call: Call) -> Answer:
    """What the party says of itself, corrected at the desk."""
    booking = await _known(call)
    pool = granted(await call.hf.pool(booking.pool))
    kept, errors = details.read(pool, booking, call.form, phone=True)
    # At the desk a name alone will do: who has no address is spoken to.
    for name in [name for name, code in errors.items() if code == "missing" and name != "name"]:
        del errors[name]
    contacts = {kind: said for kind, said in kept["contacts"].items() if said}
    if not errors:
        answer = await call.hf.change_booking(booking.id, **kept | {"contacts": contacts}, by=call.by)
        if not isinstance(answer, Refusal):
            return _there(call, booking, answer, "saved")
        if answer.code != "invalid":
            return _there(call, booking, answer, "")
        errors = {"name": "not_kept"}
    return await _page(call, status=422, said=call.form, errors=errors)


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and 0 < len(text) < 8 else None


_ACTS: Final = {
    "confirm": confirm,
    "extend": extend,
    "cancel": cancel,
    "offer": offer,
    "yes": say_yes,
    "no": say_no,
    "move": move,
    "put-back": put_back,
    "details": change,
    "tell": tell_themselves,
    "tell-no-more": tell_no_more,
    "link": hand_link,
}


async def act(call: Call) -> Answer:
    found = _ACTS.get(call.path["act"])
    if found is None:
        raise Problem("unknown", "There is nothing at this address.")
    return await found(call)


PAGES: Final = (
    Page("/console/bookings/{booking}", "console_booking", look),
    Page("/console/bookings/{booking}/{act}", "console_booking_act", back, act, body_max=BODY_MAX),
)
