"""Release what is past its time, now: for those who run no ticker, and for a look at what is due.

Law: this is only a tick by another name. What is due is decided in the core, as ever.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from fairhold import ids
from fairhold.core.commands import Tick
from fairhold.core.model import HELD, OFFERED, WAITING, Booking
from fairhold.errors import FairholdError
from fairhold.shapes import Outcome
from fairhold.store import rows

if TYPE_CHECKING:
    from fairhold.library import Fairhold

_POOLS_MAX: Final = 1_000
_BOOKINGS_MAX: Final = 1_000_000
_NOTHING: Final = {"holds_expired": 0, "seats_released": 0, "offers_lapsed": 0, "signups_expired": 0}


async def release_expired(hf: Fairhold, *, dry_run: bool = False) -> dict[str, Any]:
    """Tick every pool with something due until nothing is; what expired, and what came of it, by pool.

    A pool that fails does not keep the others from their turn; its error is raised at the end.
    """
    now, reader = hf.clock.now(), hf.store.reader()
    counts = dict(_NOTHING)
    if dry_run:
        late = await reader.rows("overdue_bookings", now, _BOOKINGS_MAX)
        counts = _counts(await _bookings(hf, [(row[0], row[1]) for row in late]))
    events: dict[int, list[Mapping[str, Any]]] = {}
    done: set[int] = set()
    failed: FairholdError | None = None
    while True:
        # Those that were done and stay due, as all do in a dry run, must not hide the others.
        found = [row[0] for row in await reader.rows("due_pools", now, _POOLS_MAX + len(done))]
        due = [pool_id for pool_id in found if pool_id not in done]
        if not due:
            break
        for pool_id in due:
            try:
                outcome = await hf.submit(pool_id, Tick(by="staff"), dry_run=dry_run)
            except FairholdError as error:
                failed, outcome = error, None
            if isinstance(outcome, Outcome) and outcome.events:
                events.setdefault(pool_id, []).extend(outcome.events)
            if dry_run or not isinstance(outcome, Outcome) or not outcome.events:
                done.add(pool_id)
    if failed is not None:
        raise failed
    if not dry_run:
        counts = _counted(
            events, await _bookings(hf, [_key(event) for it in events.values() for event in it])
        )
    pools = [
        {"pool": (await hf.reads.view(pool_id)).pool.key, "events": told} for pool_id, told in events.items()
    ]
    return {"dry_run": dry_run, **counts, "pools": pools}


def _key(event: Mapping[str, Any]) -> tuple[int, int] | None:
    return ids.booking_number(event["booking"]) if event["event"] == "Expired" else None


async def _bookings(hf: Fairhold, keys: Iterable[tuple[int, int] | None]) -> dict[str, Booking]:
    """Bookings by id."""
    named = [key for key in keys if key is not None]
    if not named:
        return {}
    found = await hf.store.reader().each("bookings_by_number", named)
    return {ids.booking_text(row[0], row[1]): rows.booking_of(row) for row in found}


def _counts(late: Mapping[str, Booking]) -> dict[str, int]:
    """What would expire, from the bookings that are late."""
    holds = [booking for booking in late.values() if booking.state == HELD]
    return {
        "holds_expired": len(holds),
        "seats_released": sum(booking.quantity for booking in holds),
        "offers_lapsed": sum(booking.state == OFFERED for booking in late.values()),
        "signups_expired": sum(booking.state == WAITING for booking in late.values()),
    }


def _counted(
    events: Mapping[int, list[Mapping[str, Any]]], bookings: Mapping[str, Booking]
) -> dict[str, int]:
    """What did expire, from the events. Only who was in line had a position when it expired."""
    counts = dict(_NOTHING)
    for event in (event for told in events.values() for event in told):
        if event["event"] == "Lapsed":
            counts["offers_lapsed"] += 1
        elif event["event"] == "Expired" and event["position"] is not None:
            counts["signups_expired"] += 1
        elif event["event"] == "Expired":
            counts["holds_expired"] += 1
            counts["seats_released"] += bookings[event["booking"]].quantity
    return counts
