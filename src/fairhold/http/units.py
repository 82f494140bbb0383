"""Units: open more, and close one that is free."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any, Final

import msgspec

from fairhold import ids
from fairhold.core.refusals import Refusal
from fairhold.http.bodies_of_pools import NewUnits
from fairhold.http.operations import READERS, STAFFS, Call, DryRun, Operation, Page, Paging, page
from fairhold.http.pools import LARGE, pool_of, wrong_cursor
from fairhold.shapes import PoolState, optional_datetime


class UnitShape(msgspec.Struct):
    """A unit that is open, and the booking that has it."""

    label: str
    quota: str
    ordinal: int
    starts_at: datetime | None
    attributes: dict[str, Any]
    booking: str | None


async def every(call: Call) -> Page[UnitShape]:
    """In their order; the cursor is the ordinal shown last."""
    limit, cursor, pool_id = call.limit(), call.query.cursor or "0", await pool_of(call)
    if not re.fullmatch(r"[0-9]{1,15}", cursor):
        raise wrong_cursor()
    view = await call.hf.reads.view(pool_id, units=True)
    found = sorted((u for u in view.units.values() if u.ordinal > int(cursor)), key=lambda u: u.ordinal)
    shapes = [
        UnitShape(
            unit.label,
            unit.quota,
            unit.ordinal,
            optional_datetime(unit.starts_at),
            dict(unit.attributes),
            None if unit.booking is None else ids.booking_text(pool_id, unit.booking),
        )
        for unit in found[: limit + 1]
    ]
    return page(shapes, limit, lambda unit: str(unit.ordinal))


async def add(call: Call) -> PoolState | Refusal:
    units = msgspec.to_builtins(call.body.units)
    return await call.hf.add_units(call.path["pool"], units, by=call.by_staff, idempotency_key=call.key)


async def close(call: Call) -> PoolState | Refusal:
    return await call.hf.close_unit(
        call.path["pool"], call.path["label"], by=call.by_staff, idempotency_key=call.key
    )


OPERATIONS: Final = (
    Operation(
        "GET",
        "/v1/pools/{pool}/units",
        "list_units",
        "The open units in their order, and who has them",
        every,
        READERS,
        Page[UnitShape],
        query=Paging,
        codes=("unknown",),
        tag="units",
    ),
    Operation(
        "POST",
        "/v1/pools/{pool}/units",
        "add_units",
        "Open more units; they go to the line at once",
        add,
        STAFFS,
        PoolState,
        body=NewUnits,
        query=DryRun,
        status=201,
        codes=("invalid", "unknown", "exists"),
        tag="units",
        example={
            "units": [
                {"label": "2 pm", "starts_at": "2026-03-07T14:00:00Z", "attributes": {"service": "cut"}}
            ]
        },
        body_max=LARGE,
        idempotent=True,
    ),
    Operation(
        "DELETE",
        "/v1/pools/{pool}/units/{label}",
        "close_unit",
        "Take a free unit away",
        close,
        STAFFS,
        PoolState,
        query=DryRun,
        codes=("unknown", "unit_taken"),
        tag="units",
        idempotent=True,
    ),
)
