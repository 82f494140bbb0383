"""What the outside sees: pools, bookings and offers as values that turn into JSON as they are.

Instants are aware datetimes in UTC, prices integer minor units. A core `Booking` is a row; the
`Booking` here is that row as its owner, staff or a program may look at it.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from fairhold import ids, tokens
from fairhold.clock import to_datetime, to_text
from fairhold.core import line, model
from fairhold.core.model import ENDED, OFFERED, WAITING, Instant, Party, Pool, Price
from fairhold.core.refusals import Refusal
from fairhold.core.room import UNLIMITED, is_open, need_all_units, placement, room
from fairhold.core.view import View
from fairhold.policy_document import as_document


class Offer(msgspec.Struct, frozen=True):
    """A live offer, for staff and for the message that brings it."""

    seq: int
    token: str
    expires_at: datetime
    quantity: int


class Wanted(msgspec.Struct, frozen=True):
    """What a booking would accept: a condition on a unit's attributes, and when the unit may start."""

    attributes: Mapping[str, Any] | None = None
    from_at: datetime | None = None
    until_at: datetime | None = None


class Booking(msgspec.Struct, frozen=True):
    """A booking: where it stands, and until when.

    `door` is the one that it came by: library, secret_key, public_key, page, console or csv. `reach` is empty
    where letters tell its party of offers; `staff` where staff do; else why nobody can, and offers pass it
    over: no_channel, no_contact, dead_contact or channel_down. An offer that staff make it all the same is
    theirs to tell.
    """

    id: str
    reference: str
    pool: str
    quota: str
    party: Party
    quantity: int
    units: tuple[str, ...]
    state: str
    position: int | None
    ahead: int | None
    attempts: int
    round: int
    offered_at: datetime | None
    expires_at: datetime | None
    seconds_left: int | None
    confirmed_at: datetime | None
    price: Price | None
    total: Price | None
    placement: str | None
    answers: Mapping[str, Any]
    created_at: datetime
    updated_at: datetime
    split_from: str | None = None
    edit_token: str | None = None
    offer: Offer | None = None
    wants: Wanted | None = None
    door: str = model.LIBRARY
    reach: str = ""


class QuotaRoom(msgspec.Struct, frozen=True):
    """A quota and what is free in it; `room` and `size` None are unlimited."""

    key: str
    title: str
    size: int | None
    by_units: bool
    used: int
    room: int | None
    waiting: int
    set_aside: int
    eligible: Mapping[str, Any] | None = None
    round: int = 1


class PoolName(msgspec.Struct, frozen=True):
    """A pool by name, and when it had its latest news."""

    id: str
    key: str
    title: str
    time_zone: str
    updated_at: datetime


class PoolState(msgspec.Struct, frozen=True):
    """A pool: its rules, and how full it is."""

    id: str
    key: str
    org: str
    title: str
    status: str
    policy: Mapping[str, Any]
    quotas: tuple[QuotaRoom, ...]
    open_size: int
    waiting: int
    offers_live: int
    round: int
    opens_at: datetime | None
    closes_at: datetime | None
    starts_at: datetime | None
    time_zone: str
    price: Price | None
    questions: tuple[Mapping[str, Any], ...]
    attributes: Mapping[str, Any]
    version: int
    page: bool = True


class Outcome(msgspec.Struct, frozen=True):
    """What a command would do, or did: what happens and who is told."""

    events: tuple[Mapping[str, Any], ...]
    messages: tuple[Mapping[str, Any], ...]
    answer: Mapping[str, Any] | None = None


class Explanation(msgspec.Struct, frozen=True):
    """One decision about a booking: what, by whom, why, and all of it in a sentence.

    `facts` are the figures of the sentence, for who says it in other words or another language.
    """

    at: datetime
    by: str
    code: str
    reason: str
    sentence: str
    facts: Mapping[str, Any] = {}


def optional_datetime(instant: Instant | None) -> datetime | None:
    return None if instant is None else to_datetime(instant)


def booking_shape(view: View, number: int, now: Instant, secret: str | None = None) -> Booking:
    """Return a booking of a view as it is now; with its tokens, if the secret is given."""
    b, pool_id = view.bookings[number], view.pool.id
    position = line.position(view, b.place) if b.state == WAITING else b.position
    booking_id = ids.id_of_reference(pool_id, b.reference)
    return Booking(
        booking_id,
        b.reference,
        ids.pool_text(pool_id),
        b.quota,
        b.party,
        b.quantity,
        b.units,
        b.state,
        position,
        None if b.state != WAITING or position is None else position - 1,
        b.attempts,
        b.round,
        optional_datetime(b.offered_at),
        optional_datetime(b.expires_at),
        None if b.expires_at is None else max(0, -(-(b.expires_at - now) // 1000)),
        optional_datetime(b.confirmed_at),
        b.price,
        total_of(b.price, b.quantity),
        _placement(view, b),
        b.answers,
        to_datetime(b.created_at),
        to_datetime(b.updated_at),
        ids.booking_text(pool_id, b.split_from) if b.split_from else None,
        None if secret is None else tokens.edit_token(secret, booking_id),
        _live_offer(b, booking_id, secret) if b.state == OFFERED else None,
        None if b.wants is None else wanted(b.wants),
        b.door,
        b.reach,
    )


def total_of(price: Price | None, quantity: int) -> Price | None:
    return Price(price.amount * quantity, price.currency) if price else None


def with_tokens(booking: Booking, secret: str) -> Booking:
    """The booking with its edit token, and the token of its live offer."""
    offer = booking.offer
    if offer is not None:
        offer = Offer(
            offer.seq, tokens.offer_token(secret, booking.id, offer.seq), offer.expires_at, offer.quantity
        )
    return msgspec.structs.replace(booking, edit_token=tokens.edit_token(secret, booking.id), offer=offer)


def _placement(view: View, b: model.Booking) -> str | None:
    """Quota, open or line. Exact for who came last; `reads` corrects it where a quota overflows."""
    state, key = b.state, b.quota
    if state == WAITING:
        return "line"
    if state in ENDED:
        return None
    quota = view.pool.quota(key)
    taken = b.offer_quantity if state == OFFERED else b.quantity
    return placement(quota, view.tallies[key].used - taken, taken) if quota else "quota"


def _live_offer(b: model.Booking, booking_id: str, secret: str | None) -> Offer:
    assert b.expires_at is not None
    token = "" if secret is None else tokens.offer_token(secret, booking_id, b.offer_seq)
    return Offer(b.offer_seq, token, to_datetime(b.expires_at), b.offer_quantity)


def wanted(wants: model.Wants) -> Wanted:
    return Wanted(wants.attributes, optional_datetime(wants.from_at), optional_datetime(wants.until_at))


def pool_shape(view: View, now: Instant) -> PoolState:
    """A pool as it stands."""
    pool = view.pool
    if any(quota.by_units for quota in pool.quotas):
        need_all_units(view)
    return PoolState(
        id=ids.pool_text(pool.id),
        key=pool.key,
        org=pool.org,
        title=pool.title,
        status=pool.status,
        policy=as_document(pool.policy),
        quotas=tuple(_quota_shape(view, quota, now) for quota in pool.quotas),
        open_size=pool.open_size,
        waiting=view.waiting,
        offers_live=view.offers_live,
        round=view.round,
        opens_at=optional_datetime(pool.opens_at),
        closes_at=optional_datetime(pool.closes_at),
        starts_at=optional_datetime(pool.starts_at),
        time_zone=pool.time_zone,
        price=pool.price,
        questions=pool.questions,
        attributes=pool.attributes,
        version=pool.version,
        page=pool.page,
    )


def _quota_shape(view: View, quota: model.Quota, now: Instant) -> QuotaRoom:
    tally, free = view.tallies[quota.key], room(view, quota, now)
    size = quota.size
    if quota.by_units:
        # Who has a unit that has begun still counts among those who have one, so the unit counts, too.
        own = (unit for unit in view.units.values() if unit.quota == quota.key)
        size = sum(unit.booking is not None or is_open(unit, now) for unit in own)
    return QuotaRoom(
        quota.key,
        quota.title,
        size,
        quota.by_units,
        tally.used,
        None if free >= UNLIMITED else free,
        tally.waiting,
        tally.aside,
        quota.eligible,
        tally.round,
    )


def named_facts(pool_id: int, facts: Mapping[str, Any]) -> dict[str, Any]:
    """The facts of an event or message with numbers of bookings made into ids."""
    made = dict(facts)
    for name in ("booking", "part"):
        if isinstance(made.get(name), int):
            made[name] = ids.booking_text(pool_id, made[name])
    if made.get("skipped"):
        made["skipped"] = [named_facts(pool_id, skip) for skip in made["skipped"]]
    return made


def refusal_shape(refusal: Refusal, pool: Pool) -> Refusal:
    """The refusal with numbers of bookings made into ids, and instants into datetimes."""
    facts: dict[str, Any] = {}
    for name, value in refusal.facts.items():
        if name == "booking":
            facts[name] = ids.booking_text(pool.id, value)
        elif name == "bookings":
            facts[name] = [ids.booking_text(pool.id, number) for number in value]
        elif name.endswith("_at"):
            facts[name] = to_text(value)
        else:
            facts[name] = value
    return Refusal(refusal.code, refusal.sentence, refusal.field, facts)
