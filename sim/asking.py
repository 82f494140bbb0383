"""How one asks: a request is sent until it is answered, as a good client does."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from fairhold.clock import TestClock
from fairhold.core.refusals import Refusal
from fairhold.errors import FairholdError
from fairhold.library import Fairhold
from sim.node import Node
from sim.pools import BY_UNITS
from sim.records import Asked

_PATIENCE_S = 40.0
_TRIES = 6

Ask = Callable[[Fairhold, str], Awaitable[Any]]


def plain(answer: object) -> dict[str, Any]:
    """An answer as it would come over the wire."""
    if isinstance(answer, Refusal):
        return {"code": answer.code, "sentence": answer.sentence}
    found = msgspec.to_builtins(answer)
    return found if isinstance(found, dict) else {"value": found}


class Asking:
    def __init__(
        self,
        dice: random.Random,
        nodes: list[Node],
        pools: dict[str, list[str]],
        clock: TestClock,
        pace: float = 1.0,
    ) -> None:
        self._pace = pace
        self._dice = dice
        self._nodes = nodes
        # Each pool with its quotas.
        self._pools = pools
        self._clock = clock
        self.asked: list[Asked] = []
        self._asks: dict[int, Ask] = {}
        # What people know: their own bookings, and links from their mail.
        self._known: dict[str, list[str]] = {pool: [] for pool in pools}
        self.links: list[tuple[str, str]] = []
        self.wrong: list[str] = []

    async def settle(self) -> None:
        """Everybody who has no answer asks once more, now that nothing fails."""
        for it in self.asked:
            if not it.answers:
                await self._send(it, self._asks[it.number])

    def _some(self, pool: str) -> str | None:
        known = self._known[pool]
        return self._dice.choice(known[-30:]) if known else None

    def _label(self, quota: str) -> str:
        """A unit that there may be, or may have been."""
        return f"{self._dice.choice(BY_UNITS[quota])}{self._dice.randrange(1, 9)}"

    def _up(self) -> Node | None:
        up = [node for node in self._nodes if node.up]
        return self._dice.choice(up) if up else None

    async def _look_at(self, look: Callable[[Fairhold], Awaitable[Any]]) -> Any:
        """What a look shows; nothing if it failed."""
        node = self._up()
        if node is None or node.hf is None:
            return None
        try:
            found = await node.ask(look(node.hf), _PATIENCE_S)
        except (FairholdError, TimeoutError):
            return None
        return None if isinstance(found, Refusal) else found

    async def _ask(self, what: str, pool: str, facts: dict[str, Any], ask: Ask) -> dict[str, Any] | None:
        number = len(self.asked)
        it = Asked(number, what, pool, facts, f"key-{number}")
        self.asked.append(it)
        self._asks[number] = ask
        if self._dice.random() < 0.08:
            # A nervous finger: the same request twice at once, maybe at two nodes.
            await asyncio.gather(self._send(it, ask), self._send(it, ask))
        else:
            await self._send(it, ask)
            if self._dice.random() < 0.05:
                await self._send(it, ask)
        return it.granted

    def _key(self, it: Asked) -> str:
        return it.key

    async def _send(self, it: Asked, ask: Ask) -> None:
        for _ in range(_TRIES):
            node = self._up()
            if node is not None and node.hf is not None:
                try:
                    answer = await node.ask(ask(node.hf, self._key(it)), _PATIENCE_S)
                except (FairholdError, TimeoutError):
                    it.unanswered += 1
                else:
                    it.answers.append(plain(answer))
                    return
            await asyncio.sleep(self._pace * self._dice.random())
