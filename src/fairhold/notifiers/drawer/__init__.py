"""Keeps letters in a drawer, for trying out on one's own machine: nothing leaves, and staff can read them.

The drawer is in memory. It is empty after a restart, and holds the latest letters only.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from fairhold.clock import Clock
from fairhold.core.model import Instant
from fairhold.notifiers.base import Outgoing

KEPT_MAX: Final = 500


class Letter(NamedTuple):
    """One e-mail that would have been sent. `message` is the id of the message that it tells."""

    number: int
    message: str
    to: str
    subject: str
    text: str
    at: Instant

    @property
    def pool(self) -> str:
        """Return the id of the pool that the letter is about."""
        return self.message.partition("-")[0]


class Drawer:
    """A notifier that keeps what it is given."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._letters: list[Letter] = []
        self._count = 0

    async def send(self, message: Outgoing) -> None:
        """Keep a letter; the oldest one goes when there are too many."""
        self._count += 1
        made = (self._count, message.id, message.address, message.subject, message.text, self._clock.now())
        self._letters = [*self._letters[1 - KEPT_MAX :], Letter(*made)]

    @property
    def count(self) -> int:
        """Return how many letters were ever put in."""
        return self._count

    def latest(self, limit: int) -> list[Letter]:
        """Return the latest letters, the newest first."""
        return self._letters[: -limit - 1 : -1]

    def letter(self, number: int) -> Letter | None:
        """Return one letter, if it is still there."""
        return next((it for it in self._letters if it.number == number), None)
