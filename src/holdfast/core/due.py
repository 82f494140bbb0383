"""When a pool next needs a tick.

Law: a timer is only housekeeping. Every deadline is judged in the decision itself, so a timer that
is late, early, doubled or lost can do no harm; `view.due_at` may be early, never late.
"""

from __future__ import annotations

from holdfast.core.model import IN_PLAY, Booking, Instant, Pool
from holdfast.core.view import View


def due(view: View, now: Instant) -> list[Booking]:
    """The loaded bookings whose deadline has come, in the order in which it came."""
    if view.due_at is None or view.due_at > now:
        return []
    late = [b for b in view.bookings.values() if is_due(b, now)]
    return sorted(late, key=lambda b: (b.expires_at, b.number))


def is_due(booking: Booking, now: Instant) -> bool:
    return booking.expires_at is not None and booking.expires_at <= now and booking.state in IN_PLAY


def over(pool: Pool, now: Instant) -> str | None:
    """Why there is no line any more: the pool is closed, cancelled or started. None while there is one."""
    if pool.status in ("closed", "cancelled"):
        return pool.status
    return "started" if pool.starts_at is not None and pool.starts_at <= now else None


def wake(view: View, at: Instant) -> None:
    """Make sure of a tick at this instant."""
    if view.due_at is None or at < view.due_at:
        view.due_at = at
