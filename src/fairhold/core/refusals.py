"""A refusal is a well-formed no: a value with a code, a sentence and a status hint. Not an exception.

Every code there is stands in CODES, with the status that HTTP would give it. Where several would
apply, the order of the checks in the code decides, and that order is documented by the command.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

CODES: Final[Mapping[str, int]] = {
    "invalid": 422,
    "unknown": 404,
    "exists": 409,
    "not_open_yet": 409,
    "pool_closed": 409,
    "pool_paused": 409,
    "not_eligible": 403,
    "not_enough_room": 409,
    "unit_taken": 409,
    "already_holding": 409,
    "already_waiting": 409,
    "hold_expired": 410,
    "hold_lifetime_used_up": 409,
    "not_yours_to_confirm": 403,
    "offer_taken": 409,
    "offer_expired": 410,
    "offer_withdrawn": 410,
    "offer_answered": 409,
    "not_possible": 409,
    "too_late": 409,
    "would_demote": 409,
    "changed_meanwhile": 409,
    "idempotency_mismatch": 422,
    "common_password": 422,
    "too_many_requests": 429,
}


SHOWN_MAX: Final = 100


@dataclass(frozen=True, slots=True)
class Refusal:
    """No, because of `code`. `field` names the input at fault; `facts` say what helps next."""

    code: str
    sentence: str
    field: str | None = None
    facts: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def status(self) -> int:
        return CODES[self.code]


def invalid(field: str, sentence: str) -> Refusal:
    return Refusal("invalid", sentence, field)


def unknown(what: str, name: object) -> Refusal:
    return Refusal("unknown", f"There is no {what} {in_short(name)} here.", what)


def in_short(name: object) -> str:
    """A name as a sentence may repeat it: it may be long, or something that has secrets in it."""
    if isinstance(name, str):
        return repr(name if len(name) <= SHOWN_MAX else f"{name[:SHOWN_MAX]}…")
    return repr(name) if is_whole(name, 2**63, -(2**63)) else f"of the kind {type(name).__name__}"


def not_possible(booking: int, state: str, what: str) -> Refusal:
    facts = {"booking": booking, "state": state}
    return Refusal("not_possible", f"A booking that is {state} {what}.", None, facts)


def already_waiting(booking: int) -> Refusal:
    return Refusal("already_waiting", "This party is already in line here.", "party", {"booking": booking})


def hold_expired() -> Refusal:
    return Refusal("hold_expired", "Booking hold has expired.")


def idempotency_mismatch() -> Refusal:
    sentence = "This idempotency key was used before for another request."
    return Refusal("idempotency_mismatch", sentence, "idempotency_key")


def not_enough_room(requested: int, available: int) -> Refusal:
    sentence = f"Not enough seats available. Requested: {requested}, Available: {available}"
    return Refusal("not_enough_room", sentence, "quantity", {"requested": requested, "available": available})


def is_whole(value: object, most: int, least: int = 1) -> bool:
    """Whether this is a whole number within these bounds; true and 1.0 are none."""
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most
