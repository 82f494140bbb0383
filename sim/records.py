"""What the auditor is given: who asked for what, and what each was told. Nothing from inside."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Asked:
    """One request of somebody, under one idempotency key however often it was sent."""

    number: int
    what: str
    pool: str
    facts: dict[str, Any]
    key: str
    # Each answer as plain data: a booking, a refusal with its `code`, or nothing said at all.
    answers: list[dict[str, Any]] = field(default_factory=list)
    unanswered: int = 0

    @property
    def granted(self) -> dict[str, Any] | None:
        return next((it for it in self.answers if "code" not in it), None)


@dataclass(frozen=True, slots=True)
class Entry:
    """A row of the log as it stands in the database."""

    pool: int
    seq: int
    at: int
    kind: str
    booking: int | None
    by: str
    body: str
    digest: bytes
    hash: bytes


@dataclass(frozen=True, slots=True)
class Carried:
    """A message that came to the notifier, whether or not it was handed over."""

    id: str
    kind: str
    address: str
