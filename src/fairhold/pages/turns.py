"""What stands between somebody in line and the next offer, besides who is ahead."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

from fairhold.clock import to_datetime
from fairhold.core.model import UNREACHABLE, WAITING, Instant
from fairhold.shapes import Booking, PoolState


class Turn(NamedTuple):
    """`had` if others in line come first in this round; `from_at` if no offer is possible before.

    `passed_over` if no offer can reach the party.
    """

    had: bool = False
    from_at: datetime | None = None
    passed_over: bool = False

    @property
    def next(self) -> bool:
        """Whether whoever stands first is next indeed."""
        return not self.had and self.from_at is None and not self.passed_over


def turn_of(pool: PoolState, booking: Booking, now: Instant) -> Turn:
    policy = pool.policy
    quota = next((it for it in pool.quotas if it.key == booking.quota), None)
    if booking.state != WAITING or quota is None or policy["promotion"] != "offer":
        return Turn()
    had = policy["turns"] == "round" and booking.round >= quota.round and quota.waiting > 1
    from_at = booking.offered_at and booking.offered_at + timedelta(seconds=policy["cooldown"])
    later = from_at if from_at and from_at > to_datetime(now) else None
    return Turn(had, later, booking.reach in UNREACHABLE)
