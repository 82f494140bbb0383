"""What verifying has found wrong: findings, each with the promise, the place and a sentence."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Final

# So many findings of one promise are told of one pool; the others are counted.
SAME_MAX: Final = 50


@dataclass(frozen=True, slots=True)
class Finding:
    """A promise that does not hold, where, and what is wrong."""

    promise: str
    where: str
    sentence: str

    def __str__(self) -> str:
        return f"{self.promise}: {self.where}: {self.sentence}"


@dataclass(frozen=True, slots=True)
class Report:
    """How much was looked at, and what was wrong with it."""

    pools: int
    bookings: int
    entries: int
    findings: tuple[Finding, ...]
    redacted: int = 0

    @property
    def whole(self) -> bool:
        """Whether all promises hold."""
        return not self.findings

    def __str__(self) -> str:
        if self.findings:
            return "\n".join(map(str, self.findings))
        redacted = f", {self.redacted:,} of them redacted" if self.redacted else ""
        return (
            f"All promises hold: {_count(self.pools, 'pool')}, {_count(self.bookings, 'booking')}, "
            f"{_count(self.entries, 'log entry', 'log entries')}{redacted}"
        )


class Findings:
    """Collects the findings of one pool, or of what belongs to none, and counts what was looked at."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.bookings = self.entries = self.redacted = 0
        self._found: list[Finding] = []
        self._counts: Counter[str] = Counter()

    def add(self, promise: str, sentence: str, place: str = "") -> None:
        """Note that a promise does not hold; `place` is where in the pool."""
        self._counts[promise] += 1
        if self._counts[promise] <= SAME_MAX:
            where = f"{self.where}, {place}" if place else self.where
            self._found.append(Finding(promise, where, sentence))

    @property
    def all(self) -> list[Finding]:
        more = [
            Finding(promise, self.where, f"and {count - SAME_MAX:,} more like these")
            for promise, count in self._counts.items()
            if count > SAME_MAX
        ]
        return self._found + more


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"
