"""Quiet hours: when nobody is woken with an offer.

Law: an offer that falls into them is sent when they end, and its window starts then. They are those of the
party's own zone, its attribute `time_zone`, or else of the pool's.

Here alone the core reads files, through `zoneinfo`: what time it is somewhere is a table that Python keeps
there, the same for everybody, and handing the tables of all zones in would be no purer.
"""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from fairhold.core.model import Instant, Party, Pool
from fairhold.core.policy import quiet_hours


def sent_at(pool: Pool, party: Party, now: Instant) -> Instant:
    """When an offer made now reaches its party: now, or when the quiet hours end."""
    quiet = quiet_hours(pool.policy.quiet_hours)
    if quiet is None:
        return now
    begin, end = (time.fromisoformat(text) for text in quiet)
    # A pool is made only with a zone that there is; UTC is for a machine whose tables do not have it.
    zone = _zone(party.attributes.get("time_zone")) or _zone(pool.time_zone) or UTC
    there = datetime.fromtimestamp(now / 1000, zone)
    clock = there.time()
    over_midnight = begin > end
    if not (begin <= clock or clock < end if over_midnight else begin <= clock < end):
        return now
    day = there.date() + timedelta(days=1) if over_midnight and clock >= begin else there.date()
    over = datetime.combine(day, end, zone)
    return max(now, int(over.timestamp() * 1000))


@lru_cache(1_000)
def _known(name: str) -> ZoneInfo | None:
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, KeyError):
        return None


def _zone(name: object) -> ZoneInfo | None:
    return _known(name) if isinstance(name, str) and name and len(name) < 100 else None
