"""How much waits for a decision of staff, for the navigation of every page."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairhold.console.calls import Call


async def count(call: Call) -> int:
    return await call.hf.needs_count()
