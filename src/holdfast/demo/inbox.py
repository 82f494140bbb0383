"""Everybody's mailbox: what people of the demo were told, kept in memory and shown, sent to nobody."""

from __future__ import annotations

from typing import Final, NamedTuple

from holdfast.clock import Clock
from holdfast.core.model import Instant
from holdfast.demo.cast import BOUNCES
from holdfast.notifiers.base import Outgoing, Permanent

KEPT_MAX: Final = 500


class Letter(NamedTuple):
    """One e-mail that came in."""

    number: int
    to: str
    subject: str
    text: str
    at: Instant


class Inbox:
    """A notifier that keeps what it is given."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._letters: list[Letter] = []
        self._count = 0

    async def send(self, message: Outgoing) -> None:
        if message.address in BOUNCES:
            raise Permanent("550 There is no such mailbox here.")
        self._count += 1
        letter = Letter(self._count, message.address, message.subject, message.text, self._clock.now())
        self._letters = [*self._letters[1 - KEPT_MAX :], letter]

    @property
    def count(self) -> int:
        return self._count

    def latest(self, most: int) -> list[Letter]:
        """The newest first."""
        return self._letters[: -most - 1 : -1]

    def letter(self, number: int) -> Letter | None:
        return next((it for it in self._letters if it.number == number), None)
