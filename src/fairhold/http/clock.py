"""The test clock, over HTTP: only there with --test-clock."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from fairhold.clock import from_datetime, to_datetime
from fairhold.core.model import Instant
from fairhold.core.refusals import Refusal, idempotency_mismatch
from fairhold.errors import CommandFailed
from fairhold.http.bodies_of_pools import Moment
from fairhold.http.operations import READERS, STAFFS, Body, Call, Operation
from fairhold.http.problems import Problem, invalid, later

_ADVANCE_MAX_S: Final = 10 * 366 * 86_400


class ClockBody(Body, kw_only=True):
    """How far to go, or where to."""

    advance_s: Annotated[int, Meta(ge=0, le=_ADVANCE_MAX_S)] | None = None
    now: Moment | None = None


class ClockShape(msgspec.Struct):
    """What time it is."""

    now: datetime


async def read(call: Call) -> ClockShape:
    return ClockShape(to_datetime(call.hf.clock.now()))


async def advance(call: Call) -> ClockShape | Refusal:
    """When this answers, all that fell due on the way has happened, in order, each at its own instant."""
    body: ClockBody = call.body
    if call.key is not None and (before := call.service.clock_moves.get((call.access.org, call.key))):
        if before[0] != body:
            return idempotency_mismatch()
        return before[1]
    if (body.advance_s is None) == (body.now is None):
        raise invalid("advance_s", "Say advance_s or now, one of them.")
    now = call.hf.clock.now()
    target = now + (body.advance_s or 0) * 1000 if body.now is None else from_datetime(body.now)
    if not now <= target <= now + _ADVANCE_MAX_S * 1000:
        raise invalid("now", "The clock only goes forward, and at most ten years at once.")
    if call.service.stopping:
        raise later("unavailable", "This process is being stopped.")
    await _moved(call, target)
    answer = ClockShape(to_datetime(call.hf.clock.now()))
    if call.key is not None:
        # A test clock lives and ends with its process, and so do these.
        call.service.clock_moves[call.access.org, call.key] = (body, answer)
    return answer


async def _moved(call: Call, target: Instant) -> None:
    """Let the time come. It may take longer than anybody waits who wants this process to stop."""
    service = call.service
    moving = asyncio.create_task(_in_turn(call, target))
    service.cut_short.add(moving)
    try:
        await moving
    except CommandFailed as error:
        raise Problem("failed", str(error)) from error
    except asyncio.CancelledError:
        if not service.stopping:
            raise
        detail = "This process is being stopped, and the clock has gone only part of the way."
        raise later("unavailable", detail) from None
    finally:
        service.cut_short.discard(moving)
        moving.cancel()


async def _in_turn(call: Call, target: Instant) -> None:
    async with call.service.clock_moving:
        await call.hf.advance(target)


OPERATIONS: Final = (
    Operation(
        "GET",
        "/v1/clock",
        "read_clock",
        "What time it is for the service",
        read,
        READERS,
        ClockShape,
        tag="clock",
    ),
    Operation(
        "POST",
        "/v1/clock",
        "advance_clock",
        "Move the clock on; all that falls due on the way happens first, in order",
        advance,
        STAFFS,
        ClockShape,
        body=ClockBody,
        codes=("invalid",),
        tag="clock",
        example={"advance_s": 60},
        idempotent=True,
    ),
)
