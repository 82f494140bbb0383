"""An offer's page, for who has its link: yes, or no. Looking changes nothing, for mail scanners look too."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from datetime import datetime
from typing import NamedTuple

from fairhold import tokens
from fairhold.clock import to_datetime
from fairhold.core.model import CONFIRMED, HAS_SEATS, HELD, OFFERED, TAKES_ROOM, WAITING, Offer
from fairhold.core.obey import answered
from fairhold.core.refusals import Refusal
from fairhold.pages import details as form
from fairhold.pages import live, promises
from fairhold.pages.answers import Answer, see_other
from fairhold.pages.calls import Call, gone
from fairhold.pages.tickets import starts
from fairhold.pages.turns import turn_of
from fairhold.reads import Reads
from fairhold.shapes import Booking, PoolState, total_of
from fairhold.store import rows


class _Sight(NamedTuple):
    """What there is to see of an offer, at one moment. `mine` is what was taken, if that was a part.

    `by_staff` if staff make final what is taken.
    """

    offer: Offer
    state: str
    booking: Booking
    mine: Booking
    pool: PoolState
    starts: datetime | None
    by_staff: bool

    @property
    def settles(self) -> bool:
        """True if a yes makes it final."""
        return promises.yes_settles(self.pool, self.booking, by_staff=self.by_staff)


async def look(call: Call) -> Answer:
    return _page(call, await _sight(call, await call.offer_key()))


def _page(
    call: Call,
    sight: _Sight,
    *,
    status: int = 200,
    said: Mapping[str, str] | None = None,
    errors: Mapping[str, str] | None = None,
) -> Answer:
    offer, state, booking, mine, pool, starts_at, by_staff = sight
    token, speech = call.path["token"], call.speech(pool.time_zone, booking.party.locale)
    mine_token = tokens.edit_token(call.hf.secret, mine.id)
    rest_token = tokens.edit_token(call.hf.secret, booking.id)
    waits_on = booking.state in (WAITING, OFFERED)
    gives_less = pool.policy["partial"] == "give_less" and offer.quantity > 1
    price = mine.price if mine.state in TAKES_ROOM else mine.price or booking.price or pool.price
    quantity = mine.quantity if state == "claimed" else offer.quantity
    return call.page(
        "offer.html",
        speech,
        here=f"/o/{token}",
        private=True,
        status=status,
        offer=offer,
        state=state,
        booking=booking,
        mine=mine,
        held=mine.state == HELD,
        confirmed=mine.state == CONFIRMED,
        waiting=booking.state == WAITING,
        offered=booking.state == OFFERED,
        has_seats=booking.state in HAS_SEATS,
        settles=sight.settles,
        by_staff=by_staff,
        missing=not mine.party.name or form.missing(pool, mine),
        pool=pool,
        title=pool.title or pool.key,
        quota=next((it for it in pool.quotas if it.key == booking.quota), None),
        seconds_left=_left(call, offer),
        until=to_datetime(offer.expires_at),
        starts=starts_at,
        fields=form.fields(pool, booking, phone=form.asks_phone(call, booking), said=said, errors=errors)
        if _asks(sight)
        else (),
        taken=(said or {}).get("quantity", ""),
        turn_now=turn_of(pool, booking, call.now),
        quantity=quantity,
        total=total_of(price, quantity),
        costs=price is not None and price.amount > 0,
        each=price if quantity > 1 else None,
        no_ends_it=_no_ends_it(pool, booking),
        choices=range(offer.quantity, 0, -1) if gives_less else (),
        no=call.query.get("no") == "invalid",
        claim_url=call.url(f"/o/{token}/claim"),
        decline_url=call.url(f"/o/{token}/decline"),
        booking_url=call.url(f"/b/{mine_token}"),
        rest_url=call.url(f"/b/{rest_token}") if mine is not booking and waits_on else "",
        calendar_url=call.url(f"/b/{mine_token}/calendar.ics"),
        code_url=call.url(f"/b/{mine_token}/code.svg").partition("?")[0],
        stream=call.url(f"/o/{token}/stream").partition("?")[0],
        seen=_seen(state, booking, mine),
    )


async def _sight(call: Call, key: tuple[int, int, int]) -> _Sight:
    pool_id, number, _ = key
    async with call.hf.reads.at_one_moment() as reads:
        offer, booking = await reads.offer(*key, call.access.org), await reads.booking(pool_id, number)
        if offer is None or booking is None:
            raise gone()
        state, mine = await _state(call, reads, key, offer), booking
        if state == "claimed" and offer.part is not None:
            # A part of what was offered became a booking of its own; the rest waits on.
            mine = await reads.booking(pool_id, offer.part) or booking
        starts_at = await starts(reads, pool_id, offer.units or mine.units)
        pool = await reads.pool(pool_id)
        terms = await promises.terms_of(reads, pool, mine)
        return _Sight(offer, state, booking, mine, pool, starts_at, terms.by_staff)


async def _state(call: Call, reads: Reads, key: tuple[int, int, int], offer: Offer) -> str:
    """live, claimed, declined, or the code of what one would be told: see `answered`."""
    if offer.outcome in ("claimed", "declined"):
        return str(offer.outcome)
    if offer.outcome is None:
        return "live" if offer.expires_at > call.now else "offer_expired"
    view = await reads.view(key[0], units=bool(offer.units))
    takers = {unit.booking for label in offer.units if (unit := view.units.get(label))} - {None}
    numbers = [(key[0], number) for number in {key[1], *takers}]
    view.load_bookings(map(rows.booking_of, await reads.reader().each("bookings_by_number", numbers)))
    return answered(view, offer, view.bookings[key[1]], call.now).code


def _asks(sight: _Sight) -> bool:
    """Whether the yes settles it, so that what is still to be said must come with it."""
    booking, settles = sight.booking, sight.state == "live" and sight.settles
    return settles and (not booking.party.name or form.missing(sight.pool, booking))


def _no_ends_it(pool: PoolState, booking: Booking) -> bool:
    """Whether there is no way back into the line after a no."""
    last = pool.policy["attempts_max"]
    return pool.policy["after_decline"] == "leave" or (last is not None and booking.attempts >= last)


def _left(call: Call, offer: Offer) -> int:
    return max(0, -(-(offer.expires_at - call.now) // 1000))


def _seen(state: str, booking: Booking, mine: Booking) -> str:
    return live.digest(state, booking.state, booking.position, mine.state)


async def watch(call: Call) -> AsyncIterator[bytes]:
    key = await call.offer_key()

    async def seen() -> str:
        sight = await _sight(call, key)
        return _seen(sight.state, sight.booking, sight.mine)

    return await live.stream(call, key[0], seen)


async def back(call: Call) -> Answer:
    """Who reloads after answering comes back to the page: looking acts on nothing."""
    await call.offer_key()
    return see_other(call.url(f"/o/{call.path['token']}"))


async def claim(call: Call) -> Answer:
    """Keep what was still to be said, and take it, or part of it. What became of it is on the page."""
    sight = await _sight(call, await call.offer_key())
    if _asks(sight):
        errors = await form.keep(call, sight.pool, sight.booking)
        if errors and not isinstance(errors, Refusal):
            return _page(call, sight, status=422, said=call.form, errors=errors)
    asked = call.form.get("quantity", "")
    quantity = int(asked) if asked.isascii() and asked.isdigit() and len(asked) < 7 else None
    answer = await call.hf.claim(call.path["token"], quantity)
    wrong = isinstance(answer, Refusal) and answer.code == "invalid"
    return see_other(call.url(f"/o/{call.path['token']}", **({"no": "invalid"} if wrong else {})))


async def decline(call: Call) -> Answer:
    """Say no: the place goes to the next in turn at once."""
    await call.offer_key()
    await call.hf.decline(call.path["token"])
    return see_other(call.url(f"/o/{call.path['token']}"))
