"""What people and staff ask for, by dice. A request is sent until it is answered, as a good client does."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from holdfast.clock import to_datetime
from holdfast.core.refusals import Refusal
from holdfast.errors import HoldfastError
from holdfast.library import Holdfast
from sim.node import Node
from sim.records import Asked

_PATIENCE_S = 40.0
_TRIES = 6
HOUR = 3_600_000

Ask = Callable[[Holdfast, str], Awaitable[Any]]


def plain(answer: object) -> dict[str, Any]:
    """An answer as it would come over the wire."""
    if isinstance(answer, Refusal):
        return {"code": answer.code, "sentence": answer.sentence}
    found = msgspec.to_builtins(answer)
    return found if isinstance(found, dict) else {"value": found}


class Cast:
    def __init__(
        self, dice: random.Random, nodes: list[Node], pools: dict[str, list[str]], pace: float = 1.0
    ) -> None:
        self._pace = pace
        self._dice = dice
        self._nodes = nodes
        # Each pool with its quotas.
        self._pools = pools
        self.asked: list[Asked] = []
        self._asks: dict[int, Ask] = {}
        # What people know: their own bookings, and links from their mail.
        self._known: dict[str, list[str]] = {pool: [] for pool in pools}
        self.links: list[tuple[str, str]] = []
        self.wrong: list[str] = []

    async def act(self) -> None:
        """Somebody does something."""
        # The big one is where everybody is, and where much is decided at once.
        pool = "concert" if self._dice.random() < 0.3 else self._dice.choice(list(self._pools))
        what = self._dice.choices(
            [self._book, self._confirm, self._cancel, self._extend, self._answer, self._staff],
            [45, 16, 10, 4, 18, 7],
        )[0]
        await what(pool)

    async def settle(self) -> None:
        """Everybody who has no answer asks once more, now that nothing fails."""
        for it in self.asked:
            if not it.answers:
                await self._send(it, self._asks[it.number])

    # People.

    async def _book(self, pool: str) -> None:
        dice = self._dice
        quota = dice.choice(self._pools[pool])
        party = f"party-{dice.randrange(5_000 if pool == 'concert' else 40)}"
        who = {
            "id": party,
            "contacts": {"email": f"{party}@example.org"},
            "tags": dice.sample(["honours", "member"], dice.randrange(3)),
            "attributes": dice.choice([{}, {"credits": 95}, {"credits": 10}]),
        }
        quantity = dice.choice([1, 1, 1, 1, 2, 3])
        more: dict[str, Any] = {"confirmed": True, "by": "staff:olga"} if dice.random() < 0.1 else {}
        facts = {"party": party, "quota": quota, "quantity": quantity}
        granted = await self._ask(
            "book",
            pool,
            facts,
            lambda hf, key: hf.book(pool, who, quantity, quota=quota, idempotency_key=key, **more),
        )
        if granted is not None:
            self._known[pool].append(granted["id"])

    async def _confirm(self, pool: str) -> None:
        if name := self._some(pool):
            await self._ask(
                "confirm", pool, {"booking": name}, lambda hf, key: hf.confirm(name, idempotency_key=key)
            )

    async def _cancel(self, pool: str) -> None:
        if name := self._some(pool):
            await self._ask(
                "cancel", pool, {"booking": name}, lambda hf, key: hf.cancel(name, idempotency_key=key)
            )

    async def _extend(self, pool: str) -> None:
        if name := self._some(pool):
            await self._ask(
                "extend", pool, {"booking": name}, lambda hf, key: hf.extend(name, idempotency_key=key)
            )

    async def _answer(self, pool: str) -> None:
        """Somebody follows a link, old or new, and maybe twice."""
        if not self.links:
            return
        pool, token = self._dice.choice(self.links[-20:])
        facts = {"token": token}
        if self._dice.random() < 0.4:
            await self._ask("decline", pool, facts, lambda hf, key: hf.decline(token, idempotency_key=key))
        else:
            part = self._dice.choice([None, None, 1])
            await self._ask("claim", pool, facts, lambda hf, key: hf.claim(token, part, idempotency_key=key))

    # Staff.

    async def _staff(self, pool: str) -> None:
        await self._dice.choice([self._move, self._put_back, self._resize, self._resolve, self._look])(pool)

    async def _move(self, pool: str) -> None:
        if name := self._some(pool):
            to = self._dice.choice(["front", "back"])
            facts = {"booking": name}
            await self._ask(
                "move", pool, facts, lambda hf, key: hf.move(name, to, why="asked", idempotency_key=key)
            )

    async def _put_back(self, pool: str) -> None:
        if name := self._some(pool):
            facts = {"booking": name}
            await self._ask(
                "put back", pool, facts, lambda hf, key: hf.put_back(name, why="asked", idempotency_key=key)
            )

    async def _resize(self, pool: str) -> None:
        sizes = {quota: self._dice.randrange(5) for quota in self._pools[pool] if quota != "chair"}
        if sizes:
            allow = self._dice.random() < 0.7
            await self._ask(
                "resize",
                pool,
                {},
                lambda hf, key: hf.change_pool(pool, sizes=sizes, allow_demotion=allow, idempotency_key=key),
            )

    async def _resolve(self, pool: str) -> None:
        opening = self._dice.randrange(1, 12)
        how = self._dice.choice(["again", "free", "close"])
        await self._ask(
            "resolve", pool, {}, lambda hf, key: hf.resolve(pool, opening, how, idempotency_key=key)
        )

    async def _look(self, pool: str) -> None:
        """Reads change nothing, and what they say fits together."""
        node = self._up()
        if node is None or node.hf is None:
            return
        try:
            line = await node.ask(node.hf.line(pool), _PATIENCE_S)
        except (HoldfastError, TimeoutError):
            return
        if not isinstance(line, Refusal):
            positions = [it.position for it in line]
            if positions != list(range(1, len(line) + 1)):
                self.wrong.append(f"contiguous: a look at {pool} shows the positions {positions}")

    # How one asks.

    def _some(self, pool: str) -> str | None:
        known = self._known[pool]
        return self._dice.choice(known[-30:]) if known else None

    def _up(self) -> Node | None:
        up = [node for node in self._nodes if node.up]
        return self._dice.choice(up) if up else None

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
                except (HoldfastError, TimeoutError):
                    it.unanswered += 1
                else:
                    it.answers.append(plain(answer))
                    return
            await asyncio.sleep(self._pace * self._dice.random())


def slots(now: int) -> list[dict[str, Any]]:
    """Units that begin one after the other."""
    return [{"label": f"s{n}", "starts_at": to_datetime(now + n * HOUR)} for n in range(1, 9)]
