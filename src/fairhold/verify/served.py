"""Whether the line has been served: one more fill, decided as the engine would decide it, changes nothing."""

from __future__ import annotations

from typing import Final

from fairhold.clock import TestClock
from fairhold.core import commands as c
from fairhold.core.fill import fill
from fairhold.core.model import Instant
from fairhold.core.view import Need
from fairhold.core.work import Work
from fairhold.store.base import Snapshot
from fairhold.store.loaded import Loaded, Memory
from fairhold.store.loader import Loader
from fairhold.verify.report import Findings

_NEEDS_MAX: Final = 10_000


async def check_served(
    snapshot: Snapshot, pool_id: int, due_at: Instant | None, now: Instant, findings: Findings
) -> None:
    """Fill once more, at the instant of the last decision, on rows that are never written."""
    loader = Loader(snapshot, Memory(), TestClock(now))
    loaded = (await loader.load({pool_id: [c.Fill()]}))[pool_id]
    work = await _fill(loader, loaded, now)
    if work is None:
        findings.add("nobody_jumps", "one more fill came to no end")
        return
    for entry in work.entries:
        event = entry.event
        about = f"booking {event.booking}" if hasattr(event, "booking") else ""
        findings.add("nobody_jumps", f"one more fill would change something: {type(event).__name__}", about)
    wakes_at = work.view.due_at
    if not work.entries and wakes_at is not None and (due_at is None or due_at > wakes_at):
        sentence = f"a cooldown ends at {wakes_at}, and the pool is due at {due_at}"
        findings.add("nobody_waits_for_luck", sentence)


async def _fill(loader: Loader, loaded: Loaded, now: Instant) -> Work | None:
    view = loaded.view
    for _ in range(_NEEDS_MAX):
        # What is due and has not been expired yet is a matter of the ticker, not of the line.
        view.due_at = None
        view.savepoint()
        work = Work(view, now, "verify")
        try:
            fill(work)
            return work
        except Need as need:
            view.rollback()
            await loader.load_more(loaded, need)
    return None
