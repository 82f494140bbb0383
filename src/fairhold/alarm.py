"""The alarm for a clock that is wrong: it has leapt, or is far from the database's."""

from __future__ import annotations

from fairhold.clock import LEAP, Clock, SystemClock
from fairhold.core.model import Instant
from fairhold.errors import Unavailable
from fairhold.store.base import Store


async def start_clock(store: Store, clock: Clock) -> None:
    """A machine that starts with its clock ahead of the database's goes by that one, and so ends nothing."""
    if isinstance(clock, SystemClock):
        clock.start_no_later_than(await _compared(store, clock))


async def clock_off_s(store: Store, clock: Clock) -> int:
    """By how many seconds this machine's clock is ahead, less than 0 if behind; 0 if all is well.

    A clock that leaps is seen by the even pace of the process; one that was wrong from the start, by the
    database's own. A clock of tests is never wrong.
    """
    if not isinstance(clock, SystemClock):
        return 0
    try:
        # Also while it is known to be wrong: what the other clock says decides whether a leap is believed.
        database = await _compared(store, clock)
    except Unavailable:
        if leapt := clock.ahead_s:
            return leapt
        raise
    if leapt := clock.ahead_s:
        return leapt
    off = clock.now() - database
    return round(off / 1000) if abs(off) > LEAP else 0


async def pools_ahead_s(store: Store, clock: Clock) -> int:
    """By how many seconds some pool is ahead of the clock, which was ahead when it was changed; 0 if none is.

    In a pool time never goes back: until the clock has come there, it stands still.
    """
    latest = (await store.reader().rows("latest_change"))[0][0]
    ahead = 0 if latest is None else latest - clock.now()
    return round(ahead / 1000) if ahead > LEAP else 0


async def _compared(store: Store, clock: SystemClock) -> Instant:
    """What the database's clock says. SQLite has none of its own, and nothing to tell ours."""
    instant = int((await store.reader().rows("database_now"))[0][0])
    if store.dialect == "postgres":
        clock.compare(instant)
    return instant


def said(seconds: int) -> str:
    """The alarm in words."""
    way = "ahead of" if seconds > 0 else "behind"
    return f"it is {abs(seconds):,} seconds {way} the time that Fairhold and the database go by"
