"""Undo: a booking that has ended is put back where it was, as near as the line allows."""

from __future__ import annotations

from holdfast.console.calls import Call
from holdfast.core.model import ENDED
from holdfast.core.refusals import Refusal
from holdfast.shapes import Booking


async def put_back(call: Call, booking: Booking, why: str) -> Booking | Refusal:
    """Book anew for the same party and, if that means to wait, move it to the position it had last."""
    if booking.state not in ENDED:
        return Refusal("not_possible", "Only what has ended can be put back.")
    made = await call.hf.book(
        booking.pool,
        booking.party,
        booking.quantity,
        quota=booking.quota,
        by=call.by,
        idempotency_key=f"console put back {booking.id} {booking.updated_at.isoformat()}",
    )
    if isinstance(made, Refusal) or made.state != "waiting":
        return made
    asked = {"why": why or "put back", "by": call.by}
    ahead = (booking.position or 1) - 1
    if ahead == 0:
        return await call.hf.move(made.id, "front", **asked)
    found = await call.hf.line(booking.pool, after=ahead - 1, limit=1)
    if isinstance(found, Refusal) or not found or found[0].id == made.id:
        return made
    return await call.hf.move(made.id, after=found[0].id, **asked)
