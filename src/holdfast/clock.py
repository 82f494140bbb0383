"""The one place that asks what time it is.

Law: time is an argument everywhere else. It never runs backwards within a process, whatever the
machine's clock does.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Protocol

from holdfast.core.model import Instant

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Clock(Protocol):
    """Something that can be asked what time it is."""

    def now(self) -> Instant: ...


class SystemClock:
    """The machine's clock, kept from running backwards."""

    def __init__(self) -> None:
        self._latest = 0

    def now(self) -> Instant:
        self._latest = max(self._latest, time.time_ns() // 1_000_000)
        return self._latest


class TestClock:
    """A clock that stands still until it is moved."""

    __test__ = False

    def __init__(self, start: Instant | None = None) -> None:
        self._now = time.time_ns() // 1_000_000 if start is None else start

    def now(self) -> Instant:
        return self._now

    def move_to(self, instant: Instant) -> None:
        self._now = max(self._now, instant)

    def restart(self, instant: Instant) -> None:
        """Begin again at an instant, even an earlier one: for a test that shares a database with the last."""
        self._now = instant


@lru_cache(4_096)
def to_datetime(instant: Instant) -> datetime:
    return datetime.fromtimestamp(instant / 1000, UTC)


def from_datetime(moment: datetime) -> Instant:
    """The instant of an aware datetime; a naive one is refused, for nobody knows what it means."""
    if moment.tzinfo is None:
        raise ValueError("an instant needs a time zone")
    return (moment - _EPOCH) // timedelta(milliseconds=1)
