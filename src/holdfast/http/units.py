"""Units: open more, and close one that is free."""

from __future__ import annotations

from typing import Final

import msgspec

from holdfast.core.refusals import Refusal
from holdfast.http.bodies_of_pools import NewUnits
from holdfast.http.operations import STAFFS, Call, DryRun, Operation
from holdfast.http.pools import LARGE
from holdfast.shapes import PoolState


async def add(call: Call) -> PoolState | Refusal:
    units = msgspec.to_builtins(call.body.units)
    return await call.hf.add_units(call.path["pool"], units, by=call.by_staff, idempotency_key=call.key)


async def close(call: Call) -> PoolState | Refusal:
    return await call.hf.close_unit(
        call.path["pool"], call.path["label"], by=call.by_staff, idempotency_key=call.key
    )


OPERATIONS: Final = (
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
