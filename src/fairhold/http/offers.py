"""Offers, by their tokens. Looking changes nothing, however often: only POST acts."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from fairhold import tokens
from fairhold.clock import to_datetime
from fairhold.core.refusals import Refusal
from fairhold.http.bodies_of_bookings import Plain
from fairhold.http.operations import ASKERS, EVERYONE, Call, DryRun, Operation
from fairhold.http.problems import Problem
from fairhold.http.showing import shown
from fairhold.shapes import Booking


class OfferShape(msgspec.Struct):
    """An offer as its holder sees it.

    `outcome` is live, claimed, declined, lapsed, withdrawn, or unreachable if nobody could be told of it.
    """

    seq: int
    quantity: int
    units: tuple[str, ...]
    outcome: str
    offered_at: datetime
    expires_at: datetime
    seconds_left: int
    booking: Booking
    pool_key: str
    pool_title: str
    starts_at: datetime | None
    time_zone: str


class ClaimBody(Plain, kw_only=True):
    """How much of the offer; without it, all."""

    quantity: Annotated[int, Meta(ge=1, le=2**31 - 1)] | None = None


async def one(call: Call) -> OfferShape:
    found = tokens.offer_of_token(call.hf.secret, call.path["token"])
    async with call.hf.reads.at_one_moment() as reads:
        offer = await reads.offer(*found, call.access.org) if found else None
        if offer is None or found is None:
            raise Problem("unknown", "This link is not one of ours, or not whole.", "token")
        pool_id, number, _ = found
        booking = await reads.booking(pool_id, number)
        assert booking is not None
        pool, now = (await reads.view(pool_id)).pool, call.hf.clock.now()
    left = max(0, -(-(offer.expires_at - now) // 1000)) if offer.outcome is None else 0
    return OfferShape(
        seq=offer.seq,
        quantity=offer.quantity,
        units=offer.units,
        outcome=offer.outcome or ("live" if left else "lapsed"),
        offered_at=to_datetime(offer.offered_at),
        expires_at=to_datetime(offer.expires_at),
        seconds_left=left,
        booking=shown(booking, call),
        pool_key=pool.key,
        pool_title=pool.title,
        starts_at=None if pool.starts_at is None else to_datetime(pool.starts_at),
        time_zone=pool.time_zone,
    )


async def claim(call: Call) -> Booking | Refusal:
    answer = await call.hf.claim(
        call.path["token"], call.body.quantity, by=call.by(), idempotency_key=call.key
    )
    return shown(answer, call)


async def decline(call: Call) -> Booking | Refusal:
    token = call.path["token"]
    if not tokens.is_for_an_offer(token):
        # The library would take it for a booking; here only a token will do.
        raise Problem("unknown", "This link is not one of ours, or not whole.", "token")
    answer = await call.hf.decline(token, by=call.by(), idempotency_key=call.key)
    return shown(answer, call)


_OFFER: Final = "/v1/offers/{token}"
_NO: Final = ("unknown", "offer_taken", "offer_expired", "pool_closed", "offer_withdrawn", "offer_answered")


def _act(name: str, summary: str, handle: Any, body: type[Plain], *codes: str) -> Operation:
    return Operation(
        "POST",
        f"{_OFFER}/{name}",
        f"{name}_offer",
        summary,
        handle,
        ASKERS,
        Booking,
        body=body,
        query=DryRun,
        codes=(*_NO, *codes),
        tag="offers",
        idempotent=True,
    )


OPERATIONS: Final = (
    Operation(
        "GET",
        _OFFER,
        "get_offer",
        "An offer, by its token; looking at it changes nothing",
        one,
        EVERYONE,
        OfferShape,
        codes=("unknown",),
        tag="offers",
    ),
    _act(
        "claim",
        "Take what was offered: one claim wins, tapping twice is one yes",
        claim,
        ClaimBody,
        "invalid",
    ),
    _act("decline", "Say no to an offer; it goes to the next in turn at once", decline, Plain),
)
