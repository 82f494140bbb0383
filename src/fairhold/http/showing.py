"""What of a booking each role may see.

An edit token is shown once, to who made the booking. The token of a live offer is shown to staff alone: who
has it can answer for the party. Reads answer without tokens, so nothing is to be taken away there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar, cast

from msgspec.structs import replace

from fairhold.http.operations import Call
from fairhold.shapes import Booking, with_tokens

T = TypeVar("T")


def shown(answer: T, call: Call, *, made: bool = False) -> T:
    """The answer, with no more tokens than its caller may have."""
    return cast(T, _shown(answer, call, made)) if isinstance(answer, Booking) else answer


def _shown(answer: Booking, call: Call, made: bool) -> Booking:
    if answer.offer is not None:
        if not call.is_staff:
            return replace(answer, offer=None, edit_token=answer.edit_token if made else None)
        if not answer.offer.token:
            answer = with_tokens(answer, call.hf.secret)
    return answer if made or answer.edit_token is None else replace(answer, edit_token=None)


def shown_bookings(found: Sequence[Booking], call: Call) -> list[Booking]:
    return [shown(booking, call) for booking in found]
