"""The one place that asks what time it is.

Law: time is an argument everywhere else. Within a process it never runs backwards and never leaps ahead,
whatever the machine's clock does: somebody who sets it a day ahead must not end every hold there is.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final, Protocol

from fairhold.core.model import Instant
from fairhold.errors import SettingsWrong

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

# In the year 9892: until then every sum of an instant and a length can be shown.
_START_MAX: Final = 250_000_000_000_000

# How far the machine's clock may be set at once; a leap beyond it is an alarm.
LEAP: Final = 60_000
# For so long a leap forward is not believed; and, where there is another clock, while that one disagrees.
BELIEVED_AFTER: Final = 15 * 60_000


class Clock(Protocol):
    """Something that can be asked what time it is."""

    def now(self) -> Instant: ...


def _wall() -> Instant:
    return time.time_ns() // 1_000_000


def _steady() -> Instant:
    """Counts on at an even pace, where it can also while the machine sleeps; nobody can set it."""
    if hasattr(time, "CLOCK_BOOTTIME"):
        return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1_000_000
    return time.monotonic_ns() // 1_000_000


def wall_ns() -> int:
    """What the machine's clock says, for records of others: no decision may look at it."""
    return time.time_ns()


class SystemClock:
    """The machine's clock, as long as it goes at an even pace.

    A leap of more than a minute, forward or back, is not followed at once: time goes on evenly, and `ahead_s`
    says how far the machine's clock is off. A leap forward that stays is believed after a quarter of an hour,
    in which somebody can hear the alarm; where there is another clock, the database's, only if it agrees.
    After a leap back, time goes on evenly for good. A machine that is ahead from the start is not followed at
    all, where there is another clock to tell.
    """

    def __init__(self, wall: Callable[[], Instant] = _wall, steady: Callable[[], Instant] = _steady) -> None:
        self._wall = wall
        self._steady = steady
        self._latest: Instant = 0
        self._read_at: Instant | None = None
        self._leapt_at: Instant | None = None
        self._ahead: Instant = 0
        # How far it was ahead from the start, and is not followed.
        self._started_ahead: Instant = 0
        # By how much another clock is ahead of the even count: so it is known while it cannot be asked.
        self._other: Instant | None = None

    def start_no_later_than(self, instant: Instant) -> None:
        """Go by another clock, the database's, if the machine's is far ahead of it from the start."""
        ahead = self._wall() - instant
        if ahead > LEAP and self._read_at is None:
            self._started_ahead = ahead

    def compare(self, instant: Instant) -> None:
        """Another clock, on another machine, says that it is this instant now."""
        self._other = instant - self._steady()

    def now(self) -> Instant:
        wall, steady = self._wall() - self._started_ahead, self._steady()
        if self._read_at is None:
            self._latest, self._read_at = wall, steady
        expected = self._latest + steady - self._read_at
        self._ahead = wall - expected
        if abs(self._ahead) <= LEAP:
            self._leapt_at, self._ahead = None, 0
        elif self._leapt_at is None:
            self._leapt_at = steady
        elif (
            self._ahead > 0
            and steady - self._leapt_at >= BELIEVED_AFTER
            and (self._other is None or abs(steady + self._other - wall) <= LEAP)
        ):
            self._leapt_at, self._ahead = None, 0
        self._read_at = steady
        self._latest = max(self._latest, wall if self._leapt_at is None else expected)
        return self._latest

    @property
    def ahead_s(self) -> int:
        """How far the machine's clock is ahead of the time that Fairhold goes by; less than 0 is behind."""
        self.now()
        return round((self._ahead + self._started_ahead) / 1000)


class TestClock:
    """A clock that stands still until it is moved.

    It starts now, or at an aware datetime, at text of one in ISO 8601, or at milliseconds since 1970.
    """

    __test__ = False

    def __init__(self, start: datetime | Instant | str | None = None) -> None:
        self._now = _wall() if start is None else _start_of(start)

    def now(self) -> Instant:
        return self._now

    def move_to(self, instant: Instant) -> None:
        self._now = max(self._now, instant)

    def restart(self, instant: Instant) -> None:
        """Begin again at an instant, even an earlier one: for a test that shares a database with the last."""
        self._now = instant


def _start_of(start: object) -> Instant:
    """Where a clock starts. Raises SettingsWrong."""
    try:
        at: object = datetime.fromisoformat(start) if isinstance(start, str) else start
        if isinstance(at, datetime):
            at = from_datetime(at)
    except (ValueError, OverflowError):
        at = None
    if isinstance(at, bool) or not isinstance(at, int) or not 0 <= at <= _START_MAX:
        raise SettingsWrong(
            "a TestClock starts at a datetime with a time zone, at text such as 2030-01-01T10:00:00+02:00, "
            "or at milliseconds since 1970"
        )
    return at


class DemoClock(TestClock):
    """A test clock that, once it is let go, also runs by itself."""

    def __init__(self, start: Instant, steady: Callable[[], Instant] = _steady) -> None:
        super().__init__(start)
        self._steady = steady
        self._read_at: Instant | None = None

    def let_go(self) -> None:
        self._read_at = self._steady()

    def now(self) -> Instant:
        if self._read_at is not None:
            steady = self._steady()
            self._now += steady - self._read_at
            self._read_at = steady
        return self._now

    def move_to(self, instant: Instant) -> None:
        self.now()
        super().move_to(instant)


def real_now(clock: Clock) -> Instant:
    """What time it is for others, who compare it with clocks of their own: a test clock is none of theirs."""
    return _wall() if isinstance(clock, TestClock) else clock.now()


@lru_cache(4_096)
def to_datetime(instant: Instant) -> datetime:
    return datetime.fromtimestamp(instant / 1000, UTC)


def to_text(instant: Instant) -> str:
    """An instant wherever it is text: UTC in ISO 8601 with a Z, as datetimes are in JSON."""
    return to_datetime(instant).isoformat().replace("+00:00", "Z")


def from_datetime(moment: datetime) -> Instant:
    """The instant of an aware datetime; a naive one is refused, for nobody knows what it means."""
    if moment.tzinfo is None:
        raise ValueError("an instant needs a time zone")
    return (moment - _EPOCH) // timedelta(milliseconds=1)
