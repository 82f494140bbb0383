"""Rows of the database to values of the core and back. One order of columns, in both dialects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from fairhold.core.events import KINDS, Event
from fairhold.core.model import Booking, Offer, Opening, Party, Pool, Price, Unit, Wants
from fairhold.store.base import Row


class Called(msgspec.Struct, frozen=True):
    """Of all that the config of a pool says, what a list of names needs."""

    title: str
    time_zone: str = "UTC"


_json = msgspec.json.Encoder()
_party = msgspec.json.Decoder(Party)
_wants = msgspec.json.Decoder(Wants)
_price = msgspec.json.Decoder(Price)
_pool = msgspec.json.Decoder(Pool)
_called = msgspec.json.Decoder(Called)
_texts = msgspec.json.Decoder(tuple[str, ...])
_numbers = msgspec.json.Decoder(tuple[int, ...])
_mapping = msgspec.json.Decoder(dict[str, Any])
_events = {name: msgspec.json.Decoder(kind) for name, kind in KINDS.items()}


def text(value: Any) -> str:
    """JSON, as Fairhold stores it."""
    return _json.encode(value).decode()


def optional_text(value: Any) -> str | None:
    return None if value is None else _json.encode(value).decode()


def party_text(party: Party) -> str:
    """A party as it is stored; of many no more is known than their id."""
    if party.name or party.contacts or party.tags or party.attributes or party.locale:
        return text(party)
    return f'{{"id":{text(party.id)}}}'


def booking_of(row: Row) -> Booking:
    """A booking from the columns `{booking}` names; the first of them is its pool."""
    return Booking(
        row[1],
        row[2],
        _party.decode(row[4]),
        row[5],
        row[6],
        row[7],
        row[8],
        row[9],
        row[10],
        row[11],
        None if row[12] is None else _wants.decode(row[12]),
        None if row[13] is None else _price.decode(row[13]),
        None if row[14] is None else _price.decode(row[14]),
        _texts.decode(row[15]) if row[15] != "[]" else (),
        *row[16:27],  # type: ignore[call-arg]  # mypy cannot count what a slice has
        _mapping.decode(row[27]) if row[27] != "{}" else {},
        row[28],
        row[29],
    )


def inserted(pool_id: int, b: Booking, source: str | None = None) -> tuple[Any, ...]:
    return (
        pool_id,
        b.number,
        b.reference,
        b.party.id,
        party_text(b.party),
        text(b.answers) if b.answers else "{}",
        b.quota,
        b.quantity,
        b.state,
        b.place,
        b.arrival,
        b.priority,
        b.position,
        optional_text(b.wants),
        b.line_key,
        optional_text(b.asked_price),
        optional_text(b.price),
        text(b.units) if b.units else "[]",
        *b[14:25],
        source,
        b.door,
        b.reach,
    )


def held(pool_id: int, b: Booking, source: str | None = None) -> tuple[Any, ...] | None:
    """The row of a new booking that got room at once; None if it has more to tell than that."""
    # Taken apart at once: to ask a named tuple for each of its fields costs more than all the rest.
    (
        number,
        reference,
        party,
        quota,
        quantity,
        state,
        place,
        arrival,
        priority,
        position,
        wants,
        asked_price,
        price,
        units,
        offer_seq,
        offer_quantity,
        attempts,
        round_,
        offered_at,
        held_at,
        expires_at,
        confirmed_at,
        created_at,
        updated_at,
        split_from,
        answers,
        door,
        reach,
    ) = b
    if reach or priority or offer_seq or offer_quantity or attempts or round_ or split_from:
        return None
    if position is not None or wants is not None or offered_at is not None:
        return None
    if asked_price != price or not held_at == created_at == updated_at:
        return None
    return (
        pool_id,
        number,
        reference,
        party.id,
        party_text(party),
        text(answers) if answers else "{}",
        quota,
        quantity,
        state,
        place,
        arrival,
        optional_text(price),
        text(units) if units else "[]",
        created_at,
        expires_at,
        confirmed_at,
        source,
        door,
    )


def updated(pool_id: int, old: Booking, b: Booking) -> tuple[Any, ...]:
    return (
        pool_id,
        b.number,
        old.state,
        old.offer_seq,
        b.quantity,
        b.state,
        b.place,
        b.arrival,
        b.position,
        optional_text(b.price),
        text(b.units) if b.units else "[]",
        *b[14:22],
        b.updated_at,
    )


def other_details(old: Booking, b: Booking) -> bool:
    """Whether something has changed that seldom does, and that `updated` does not say."""
    said = old.party is b.party and old.answers is b.answers and old.asked_price is b.asked_price
    return not said or old.reach != b.reach


def details(pool_id: int, b: Booking) -> tuple[Any, ...]:
    said = (party_text(b.party), text(b.answers), optional_text(b.asked_price))
    return (pool_id, b.number, *said, b.reach, b.line_key)


def offer_of(row: Row) -> Offer:
    return Offer(row[1], row[2], _numbers.decode(row[3]), row[4], _texts.decode(row[5]), *row[6:])


def offer_row(pool_id: int, o: Offer) -> tuple[Any, ...]:
    return (pool_id, o.booking, o.seq, text(o.openings), o.quantity, text(o.units), *o[5:])


def unit_of(row: Row) -> Unit:
    return Unit(row[0], row[1], row[2], row[3], _mapping.decode(row[4]), bool(row[5]), row[6])


def unit_row(pool_id: int, u: Unit) -> tuple[Any, ...]:
    return (pool_id, u.label, u.quota, u.ordinal, u.starts_at, text(u.attributes), u.closed)


def opening_of(row: Row) -> Opening:
    return Opening(*row)


def party_of(text: str) -> Party:
    return _party.decode(text)


def pool_of(config: str) -> Pool:
    return _pool.decode(config)


def called(config: str) -> Called:
    return _called.decode(config)


def event_of(kind: str, body: str) -> Event:
    return _events[kind].decode(body)


def texts_of(body: str) -> tuple[str, ...]:
    return _texts.decode(body)


def mapping_of(body: str) -> Mapping[str, Any]:
    return _mapping.decode(body)
