"""What there is to say about one booking, read at one moment: its log, and why a free seat is not its own."""

from __future__ import annotations

from fairhold.core.model import WAITING, Booking, Instant
from fairhold.core.view import View
from fairhold.explain import Step, explain
from fairhold.store import rows
from fairhold.store.base import Reader, Row
from fairhold.why_free import why_free

# Entries about others in which a booking may have been passed over or moved.
_OF_OTHERS = ["Offered", "Promoted", "HandedBack", "RoundStarted", "Respread"]
_OWN_MAX = 1_000
_OTHERS_MAX = 10_000


async def explained(reader: Reader, view: View, booking: Booking, now: Instant) -> list[Step]:
    """Every decision about a booking, with its reason. A part of another begins with its claim."""
    log = {row[0]: row for row in await _log_of(reader, view.pool.id, booking.number)}
    if booking.split_from is not None:
        log |= {row[0]: row for row in await _log_of(reader, view.pool.id, booking.split_from)}
    logged = [(log[seq][1], log[seq][4], rows.event_of(log[seq][2], log[seq][5])) for seq in sorted(log)]
    steps = explain(booking.number, logged, view.pool.policy)
    if booking.state == WAITING:
        await _load_openings(reader, view)
        steps += filter(None, [why_free(view, booking, now)])
    return steps


async def _log_of(reader: Reader, pool_id: int, number: int) -> list[Row]:
    """The raw log entries about one booking, and those of the pool that may have passed it over."""
    own = list(await reader.rows("read_log_of", pool_id, number, _OWN_MAX))
    others = await reader.rows("read_log_kinds", pool_id, own[0][0], _OF_OTHERS, _OTHERS_MAX) if own else []
    seen = {row[0] for row in own}
    return sorted((*own, *(row for row in others if row[0] not in seen)), key=lambda row: row[0])


async def _load_openings(reader: Reader, view: View) -> None:
    """Which openings there are, and who had a turn at them."""
    view.load_openings(rows.opening_of(row) for row in await reader.rows("openings_live", view.pool.id))
    if view.openings:
        tries = await reader.rows("tries_of", view.pool.id, list(view.openings))
        view.tried.update(((opening, booking), True) for opening, booking in tries)
