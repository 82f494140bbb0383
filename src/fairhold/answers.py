"""The answer to a command, made from the decision; and how it is kept under an idempotency key."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, Final

import msgspec

from fairhold import ids
from fairhold.core import commands as c
from fairhold.core import model
from fairhold.core.model import HELD, OFFERED, Instant, Party, Price
from fairhold.core.refusals import Refusal, already_waiting
from fairhold.core.view import View
from fairhold.core.work import Decision
from fairhold.shapes import (
    Booking,
    Outcome,
    PoolState,
    booking_shape,
    named_facts,
    pool_shape,
    refusal_shape,
    total_of,
    wanted,
    with_tokens,
)

Answer = Booking | PoolState | Outcome | Refusal

_encoder = msgspec.json.Encoder()
# In whatever order somebody's program names the fields of an object, it says the same.
_orderly = msgspec.json.Encoder(order="deterministic")
_KINDS: Final[dict[str, type[Any]]] = {
    "booking": Booking,
    "pool": PoolState,
    "outcome": Outcome,
    "refusal": Refusal,
}
_NAMES: Final = {kind: name for name, kind in _KINDS.items()}
_decoders = {name: msgspec.json.Decoder(kind) for name, kind in _KINDS.items()}


_NOTHING: Final = Outcome((), ())
# In place of the party of a booking: who that is stands in the booking's row alone.
_NOBODY: Final = msgspec.Raw(b'{"id":""}')
_PARTY: Final = Booking.__struct_fields__.index("party")
_ANSWERS: Final = Booking.__struct_fields__.index("answers")


def answer_of(view: View, command: c.Command, decision: Decision, now: Instant, secret: str) -> Answer:
    """Return what the caller gets: the refusal, the pool as it is now, or its booking."""
    answer = decision.answer
    if isinstance(answer, Refusal):
        pool = command.pool if isinstance(command, c.CreatePool) else view.pool
        return refusal_shape(answer, pool)
    if answer.booking is not None:
        gets_tokens = type(command) is c.Book or view.bookings[answer.booking].state == OFFERED
        return booking_shape(view, answer.booking, now, secret if gets_tokens else None)
    if isinstance(command, c.Tick) and command.by == "clock":
        return _NOTHING
    if isinstance(command, c.Tick | c.Fill):
        return outcome_of(view, decision)
    return pool_shape(view, now)


def for_stranger(decision: Decision) -> Decision:
    """The decision for who only says whom they are: a party's earlier booking is not handed to them."""
    answer = decision.answer
    if isinstance(answer, Refusal) or not answer.repeated or answer.booking is None:
        return decision
    return decision._replace(answer=already_waiting(answer.booking))


def outcome_of(view: View, decision: Decision) -> Outcome:
    """What happens and who is told, in plain data; names of bookings as ids."""
    pool_id = view.pool.id
    events = tuple(
        named_facts(pool_id, {"event": type(e).__name__, "by": by, **_fields(e)})
        for e, by in decision.entries
    )
    messages = tuple(
        named_facts(pool_id, {"kind": m.kind, "to": m.to, "booking": m.booking, "facts": dict(m.facts)})
        for m in decision.messages
    )
    refused = decision.answer if isinstance(decision.answer, Refusal) else None
    return Outcome(events, messages, _no(refusal_shape(refused, view.pool)) if refused is not None else None)


def rehearsed(kept: Answer) -> Outcome:
    """What a request would do that was answered before: nothing, or be refused as it was then."""
    return Outcome((), (), _no(kept) if isinstance(kept, Refusal) else None)


def _no(shape: Refusal) -> dict[str, Any]:
    said = {"refused": shape.code, "sentence": shape.sentence, "facts": dict(shape.facts)}
    return said | ({"field": shape.field} if shape.field else {})


def _fields(event: Any) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.to_builtins(event)
    fields.pop("pool", None)
    return fields


def handed_over(answer: Answer, command: c.Command, secret: str) -> Answer:
    """A kept answer as its caller gets it: who books, or has an offer, gets tokens again."""
    if isinstance(answer, Booking) and (isinstance(command, c.Book) or answer.offer is not None):
        return with_tokens(answer, secret)
    return answer


def encode_answer(answer: Answer) -> str:
    """The answer as it is stored: without tokens, and a booking without the names of its many fields.

    Nor is it stored who booked, and what they have answered and want: `of_row` says so again.
    """
    if isinstance(answer, Booking):
        if _is_new_hold(answer):
            return "held " + _encoder.encode(_essence(answer)).decode()
        offer = answer.offer and msgspec.structs.replace(answer.offer, token="")
        kept: list[Any] = [
            *msgspec.structs.astuple(answer)[:-5],
            None,
            offer,
            None,
            answer.door,
            answer.reach,
        ]
        kept[_PARTY], kept[_ANSWERS] = _NOBODY, {}
        return "booking " + _encoder.encode(kept).decode()
    return f"{_NAMES[type(answer)]} {_encoder.encode(answer).decode()}"


def decode_answer(text: str) -> Answer:
    name, _, body = text.partition(" ")
    if name == "booking":
        fields = dict(zip(Booking.__struct_fields__, msgspec.json.decode(body), strict=False))
        return msgspec.convert(fields, Booking)
    if name == "held":
        return _new_hold(*_essences.decode(body))
    return _decoders[name].decode(body)  # type: ignore[no-any-return]


def of_row(answer: Booking, row: model.Booking) -> Booking:
    """A kept answer, with what its booking's row says of the party and of how it came."""
    wants = None if row.wants is None else wanted(row.wants)
    said = {"party": row.party, "answers": row.answers, "wants": wants, "door": row.door}
    return msgspec.structs.replace(answer, **said)


def digest_of(pool_id: int, command: c.Command) -> bytes:
    """Return what makes two requests the same: the pool, the kind of command and everything it says."""
    return hashlib.sha256(_asked_of(pool_id, type(command).__name__) + _orderly.encode(command)).digest()


@lru_cache(10_000)
def _asked_of(pool_id: int, kind: str) -> bytes:
    return f"{pool_id} {kind} ".encode()


# A new hold ---------------------------------------------------------------------------------------
# Nearly all answers are new holds, and much of such a one follows from the rest of it.

_Essence = tuple[
    str, str, str, Party, int, tuple[str, ...], datetime, Price | None, str | None, dict[str, Any], datetime
]
_essences: Final = msgspec.json.Decoder(_Essence)


def _is_new_hold(b: Booking) -> bool:
    is_new = b.state == HELD and b.updated_at == b.created_at and b.position is None
    if not is_new or b.offered_at is not None or b.split_from is not None:
        return False
    # One that was put back is as it was when it was new, but for the time that has passed.
    assert b.expires_at is not None
    return b.seconds_left == _whole_seconds(b.expires_at - b.created_at)


def _whole_seconds(length: timedelta) -> int:
    """So many seconds, a begun one counted as whole."""
    return length.days * 86_400 + length.seconds + (length.microseconds > 0)


def _essence(b: Booking) -> tuple[Any, ...]:
    return (
        b.pool,
        b.reference,
        b.quota,
        _NOBODY,
        b.quantity,
        b.units,
        b.expires_at,
        b.price,
        b.placement,
        {},
        b.created_at,
    )


def _new_hold(
    pool: str,
    reference: str,
    quota: str,
    party: Party,
    quantity: int,
    units: tuple[str, ...],
    expires_at: datetime,
    price: Price | None,
    placement: str | None,
    answers: Mapping[str, Any],
    created_at: datetime,
) -> Booking:
    return Booking(
        id=ids.id_in_pool(pool, reference),
        reference=reference,
        pool=pool,
        quota=quota,
        party=party,
        quantity=quantity,
        units=units,
        state=HELD,
        position=None,
        ahead=None,
        attempts=0,
        round=0,
        offered_at=None,
        expires_at=expires_at,
        seconds_left=_whole_seconds(expires_at - created_at),
        confirmed_at=None,
        price=price,
        total=total_of(price, quantity),
        placement=placement,
        answers=answers,
        created_at=created_at,
        updated_at=created_at,
    )
