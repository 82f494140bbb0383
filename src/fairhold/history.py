"""Looking back along a pool's log: page by page from its end, all of it or what somebody wants to know.

Every page looks at so many entries at most, whatever it looks for; where the next one goes on is said even if
this one has found nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from fairhold import records
from fairhold.core.commands import is_staff
from fairhold.records import LogEntry
from fairhold.store.base import Reader

# What can be looked for, by name: the kinds of events that belong together for those who ask.
TOPICS: Final[Mapping[str, frozenset[str]]] = {
    "signups": frozenset(
        {"Joined", "Held", "Confirmed", "Completed", "Extended", "Expired", "BookingChanged"}
    ),
    "offers": frozenset(
        {
            *("Offered", "Claimed", "Declined", "Lapsed", "Promoted", "RoundStarted"),
            *("NotReached", "Told", "Delayed", "Reachable"),
        }
    ),
    "ends": frozenset({"Cancelled", "Expired", "Closed", "Demoted", "PutBack"}),
    "seats": frozenset({"OpeningStarted", "OpeningReduced", "OpeningEnded", "HandedBack", "UnitsAdded"}),
    "pool": frozenset({"PoolCreated", "PoolChanged", "UnitsAdded", "UnitClosed", "Erased"}),
}
ACTORS: Final = ("staff", "party", "rule")
SCANNED_MAX: Final = 2_000
_AT_ONCE: Final = 500
_LAST: Final = 2**62
# What gives a unit to a booking, and what takes it away again without naming it.
_GIVES: Final = frozenset({"Held", "Promoted", "Offered", "Claimed", "PutBack"})


class HistoryPage(msgspec.Struct, frozen=True):
    """Entries of a log, the newest first; `earlier` is where to go on, and None at the beginning."""

    entries: tuple[LogEntry, ...]
    earlier: int | None


async def page(
    reader: Reader,
    pool_id: int,
    *,
    before: int | None = None,
    limit: int = 50,
    topic: str | None = None,
    actor: str | None = None,
    unit: str | None = None,
) -> HistoryPage:
    """One page of what happened in a pool."""
    found: list[LogEntry] = []
    last, scanned = _LAST if before is None else before, 0
    holders = _Holders(unit) if unit is not None else None
    # Who wants everything reads no more than is shown.
    at_once = _AT_ONCE if topic or actor or unit else min(limit, _AT_ONCE)
    while scanned < SCANNED_MAX:
        rows = await reader.rows("log_before", pool_id, last, at_once)
        entries = [records.log_entry(pool_id, row) for row in rows]
        scanned += len(rows)
        wanted = [it for it in entries if _is_wanted(it, topic, actor)]
        if holders is not None:
            concerns = holders.concern(entries)
            wanted = [it for it in wanted if it.seq in concerns]
        for entry in wanted:
            found.append(entry)
            if len(found) == limit:
                return HistoryPage(tuple(found), entry.seq if entry.seq > 1 else None)
        if len(rows) < at_once:
            return HistoryPage(tuple(found), None)
        last = rows[-1][0]
    return HistoryPage(tuple(found), last)


def _is_wanted(entry: LogEntry, topic: str | None, actor: str | None) -> bool:
    if topic is not None and entry.event not in TOPICS[topic]:
        return False
    return actor is None or actor_of(entry.by) == actor


def actor_of(by: str) -> str:
    """Whose doing it was: that of staff, of the party itself, or of the rules and their timers."""
    return "staff" if is_staff(by) else "party" if by == "party" else "rule"


class _Holders:
    """Follows one unit through the log: what names it, and what ends the bookings that had it."""

    def __init__(self, unit: str) -> None:
        self._unit = unit

    def concern(self, newest_first: Sequence[LogEntry]) -> set[int]:
        """The entries that are about the unit, by number."""
        holders: set[str] = set()
        openings: set[int] = set()
        found: set[int] = set()
        for entry in reversed(newest_first):
            facts = entry.facts
            if entry.event == "OpeningStarted" and facts.get("unit") == self._unit:
                openings.add(facts["opening"])
            if self._names(facts) or facts.get("opening") in openings:
                found.add(entry.seq)
                if entry.event in _GIVES and entry.booking is not None:
                    holders.add(entry.booking)
            elif entry.booking in holders:
                found.add(entry.seq)
                if entry.event in _GIVES or entry.event in (
                    "Declined",
                    "Lapsed",
                    "Cancelled",
                    "Expired",
                    "Closed",
                ):
                    holders.discard(entry.booking)
        return found

    def _names(self, facts: Mapping[str, Any]) -> bool:
        units = facts.get("units") or ()
        labels = {unit["label"] if isinstance(unit, Mapping) else unit for unit in units}
        return self._unit in labels or self._unit in (facts.get("unit"), facts.get("label"))
