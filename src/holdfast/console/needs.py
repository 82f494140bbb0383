"""Needs you: what waits for a decision of staff."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from holdfast.console.calls import Call


async def count(call: Call) -> int:
    """How much waits for staff, for the navigation."""
    return 0
