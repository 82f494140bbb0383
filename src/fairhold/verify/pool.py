"""Every promise of one pool, checked in one snapshot."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from fairhold.core.model import Pool
from fairhold.core.view import View
from fairhold.store import rows
from fairhold.store.base import Snapshot
from fairhold.verify.compare import PROMISE
from fairhold.verify.line import check_line
from fairhold.verify.promises import PROMISES
from fairhold.verify.replay import BROKEN, Replay
from fairhold.verify.report import Findings
from fairhold.verify.served import check_served
from fairhold.verify.stored import Stored

_COLUMNS: Final = (
    "org",
    "key",
    "config",
    "version",
    "status",
    "open_size",
    "overflow",
    "numbers",
    "arrivals",
    "openings_made",
    "units_made",
    "round",
    "first_place",
    "last_place",
    "due_at",
    "log_seq",
    "log_hash",
    "updated_at",
)


async def check_pool(snapshot: Snapshot, pool_id: int) -> Findings | None:
    """What is wrong with a pool; None if it is gone."""
    found = await snapshot.rows("verify_pool", pool_id)
    if not found:
        return None
    columns = {"id": pool_id, **dict(zip(_COLUMNS, found[0], strict=True))}
    name = columns["key"] if columns["org"] == "default" else f"{columns['org']}/{columns['key']}"
    findings = Findings(f"pool {name}")
    try:
        pool = rows.pool_of(columns["config"])
    except msgspec.DecodeError as error:
        findings.add(PROMISE, f"it cannot be read: {error}", "config")
        return findings
    try:
        await _check(snapshot, pool, columns, findings)
    except (*BROKEN, msgspec.DecodeError) as error:
        findings.add(PROMISE, f"some of its rows cannot be understood: {type(error).__name__}: {error}")
    return findings


async def _check(snapshot: Snapshot, pool: Pool, columns: Mapping[str, Any], findings: Findings) -> None:
    pool_id, now = columns["id"], columns["updated_at"]
    replay = Replay(snapshot, pool_id, findings)
    await replay.run(columns["log_seq"], columns["log_hash"])
    stored = Stored(snapshot, pool, columns, replay, findings)
    await stored.read()
    view = stored.view
    for name, promise in PROMISES.items():
        try:
            for sentence in promise(view, now):
                findings.add(name, sentence)
        except BROKEN as error:
            findings.add(name, f"it cannot be judged: {type(error).__name__}: {error}")
    _check_winding_down(view, findings)
    await check_line(snapshot, pool_id, view, findings)
    in_pieces = columns["due_at"] is not None and columns["due_at"] <= now
    if pool.status == "open" and not in_pieces:
        await check_served(snapshot, pool_id, columns["due_at"], now, findings)


def _check_winding_down(view: View, findings: Findings) -> None:
    """A closed pool that still has bookings to end is due at once."""
    status = view.pool.status
    left = len(view.added) + len(view.offers)
    if status == "cancelled":
        left = len(view.bookings)
    if status in ("closed", "cancelled") and left and view.due_at is None:
        findings.add("deadlines_kept", f"it is {status} with {left} bookings to end, and nothing is due")
