"""Fairhold gives out scarce seats fairly.

It holds them while someone decides, queues people when there are none, offers a freed one to the next in
turn, and can prove that no seat was ever given twice.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fairhold.clock import SystemClock, TestClock
    from fairhold.core.model import Party, Price, Wants
    from fairhold.core.refusals import Refusal
    from fairhold.errors import FairholdError, Refused
    from fairhold.library import Fairhold, granted
    from fairhold.records import LogEntry, Message, Opening, Stats, Totals
    from fairhold.shapes import Booking, Explanation, Outcome, PoolState
    from fairhold.sync import SyncFairhold, open_sync

__version__ = "0.1.0"

__all__ = [
    "Booking",
    "Explanation",
    "Fairhold",
    "FairholdError",
    "LogEntry",
    "Message",
    "Opening",
    "Outcome",
    "Party",
    "PoolState",
    "Price",
    "Refusal",
    "Refused",
    "Stats",
    "SyncFairhold",
    "SystemClock",
    "TestClock",
    "Totals",
    "Wants",
    "granted",
    "open_sync",
]

# What stands where. Names are imported when they are first used, so that the command line starts at once.
_HOMES = {
    "clock": ("SystemClock", "TestClock"),
    "core.model": ("Party", "Price", "Wants"),
    "core.refusals": ("Refusal",),
    "errors": ("FairholdError", "Refused"),
    "library": ("Fairhold", "granted"),
    "records": ("LogEntry", "Message", "Opening", "Stats", "Totals"),
    "shapes": ("Booking", "Explanation", "Outcome", "PoolState"),
    "sync": ("SyncFairhold", "open_sync"),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
