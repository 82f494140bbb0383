"""Every no that HTTP can say, as an RFC 9457 problem: code, sentence, field, and what helps next."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from fairhold.core.refusals import CODES, Refusal
from fairhold.errors import Busy, Closing, Crowded, FairholdError, OutcomeUnknown, Unavailable
from fairhold.instants import in_utc

MEDIA_TYPE: Final = b"application/problem+json"
RETRY_AFTER_S: Final = 1

# The refusals of the library with their statuses, and those that only HTTP knows.
STATUSES: Final[Mapping[str, int]] = {
    **CODES,
    "unauthenticated": 401,
    "forbidden": 403,
    "method_not_allowed": 405,
    "idempotency_in_flight": 409,
    "too_large": 413,
    "unsupported_media_type": 415,
    "failed": 500,
    "unavailable": 503,
    "outcome_unknown": 503,
}

TITLES: Final[Mapping[str, str]] = {
    "invalid": "Something in the request is not as it should be",
    "unknown": "There is no such thing here",
    "exists": "It is there already",
    "not_open_yet": "Not open yet",
    "pool_closed": "The pool is closed",
    "pool_paused": "The pool is paused",
    "not_eligible": "Not for this party",
    "not_enough_room": "Not enough room",
    "unit_taken": "The unit is taken",
    "already_holding": "The party already has a live hold",
    "already_waiting": "The party is already in line",
    "hold_expired": "The hold has expired",
    "hold_lifetime_used_up": "The hold cannot be extended any more",
    "not_yours_to_confirm": "Staff confirm this booking",
    "offer_taken": "Just filled",
    "offer_expired": "The offer has expired",
    "offer_withdrawn": "No longer available",
    "offer_answered": "The offer has been answered",
    "not_possible": "Not possible as things stand",
    "too_late": "Too late",
    "would_demote": "Some would lose their place",
    "changed_meanwhile": "Changed meanwhile",
    "idempotency_mismatch": "The idempotency key was used for another request",
    "common_password": "Too many people use this password",
    "too_many_requests": "Too many requests",
    "unauthenticated": "A key or a session is needed",
    "forbidden": "This key or member may not do that",
    "method_not_allowed": "No such method here",
    "idempotency_in_flight": "The first request with this key is still under way",
    "too_large": "The request is too large",
    "unsupported_media_type": "The body must be JSON",
    "failed": "A mistake of ours",
    "unavailable": "Not available just now",
    "outcome_unknown": "The outcome is not known",
}

_encoder = msgspec.json.Encoder()


class ProblemShape(msgspec.Struct, omit_defaults=True):
    """A problem as it is told; a refusal's facts stand beside these."""

    type: str
    title: str
    status: int
    code: str
    detail: str
    field: str | None = None
    available: int | None = None
    requested: int | None = None
    booking: str | None = None
    who: list[dict[str, Any]] | None = None
    retry_after_s: int | None = None


@dataclass(eq=False)
class Problem(Exception):
    """A no on its way out."""

    code: str
    detail: str
    field: str | None = None
    facts: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    headers: tuple[tuple[bytes, bytes], ...] = ()

    @property
    def status(self) -> int:
        return STATUSES[self.code]

    def body(self) -> bytes:
        told: dict[str, Any] = {
            "type": f"/docs#{self.code}",
            "title": TITLES.get(self.code, self.code),
            "status": self.status,
            "code": self.code,
            "detail": self.detail,
        }
        if self.field is not None:
            told["field"] = self.field
        facts = {name: value for name, value in self.facts.items() if name not in told}
        return _encoder.encode(told | in_utc(facts))


def of_refusal(refusal: Refusal) -> Problem:
    headers: tuple[tuple[bytes, bytes], ...] = ()
    if "retry_after_s" in refusal.facts:
        headers = retry_after(refusal.facts["retry_after_s"])
    return Problem(refusal.code, refusal.sentence, refusal.field, refusal.facts, headers)


def of_error(error: FairholdError) -> Problem:
    """The world's failures: try again, and with which care."""
    if isinstance(error, OutcomeUnknown):
        detail = (
            "The database went away while this was being written. Ask again with the same Idempotency-Key."
        )
        return later("outcome_unknown", detail)
    if isinstance(error, Closing):
        return later("unavailable", "This process is being stopped. Ask again.")
    if isinstance(error, Crowded):
        detail = f"More people ask than can be answered in time. Ask again in {error.retry_after_s} s."
        return later("unavailable", detail, seconds=error.retry_after_s)
    if isinstance(error, Busy):
        return later("unavailable", "This pool is busy just now. Ask again.")
    if isinstance(error, Unavailable):
        return later("unavailable", "The database cannot be reached. Ask again.")
    return Problem("failed", "Something of ours went wrong, and nothing was changed.")


def retry_after(seconds: int) -> tuple[tuple[bytes, bytes], ...]:
    return ((b"retry-after", str(seconds).encode()),)


def later(code: str, detail: str, field: str | None = None, seconds: int = RETRY_AFTER_S) -> Problem:
    """Not now: with the time to come again, in the answer and in its head."""
    return Problem(code, detail, field, {"retry_after_s": seconds}, retry_after(seconds))


def not_found() -> Problem:
    return Problem("unknown", "There is nothing at this address.")


def invalid(name: str | None, detail: str) -> Problem:
    return Problem("invalid", detail, name)
