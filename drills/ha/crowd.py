"""The crowd: clients who book, confirm, wait, claim and cancel over HTTP, until they are answered.

Half of them ask one node first, half the other. After a 503 a client waits as long as it was told to, after a
lost connection a moment, and asks either node the same under the same idempotency key.
"""

from __future__ import annotations

import asyncio
import random
import time
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import httpx2

from drills.ha.cluster import Stuck
from drills.ha.nodes import Node
from sim.records import Asked

CLIENTS = 16
PATIENCE_S = 60.0
AGAIN_MAX = 50
# The node that a client asks first.
_HOME: ContextVar[Node | None] = ContextVar("home", default=None)
# Pools that run short: some get a seat, some stand in line, some are refused.
POOLS: dict[str, dict[str, Any]] = {
    "checkout": {"size": 12},
    "event_signup": {"size": 8},
    "class_waitlist": {"size": 6, "policy": {"offers_live_max": None, "cooldown": 0, "attempts_max": None}},
    "course_section": {"size": 6},
}


@dataclass(slots=True)
class Try:
    """One request as it went over the wire."""

    pool: str
    node: Node
    begun: float
    ended: float
    # A status, or 0 if there was none; the code of a refusal or the name of the failure.
    status: int
    code: str = ""
    may_retry: bool = False


@dataclass
class Crowd:
    """The clients of one scenario."""

    scenario: str
    nodes: list[Node]
    key: str
    pools: list[str] = field(default_factory=list)
    tries: list[Try] = field(default_factory=list)
    looks: list[Try] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)
    tasks: list[asyncio.Task[None]] = field(default_factory=list)
    going: bool = True
    sent: dict[str, tuple[str, dict[str, Any]]] = field(default_factory=dict)

    async def start(self) -> None:
        self._dice = random.Random()
        self._web = httpx2.AsyncClient(
            timeout=httpx2.Timeout(PATIENCE_S, connect=5),
            limits=httpx2.Limits(max_connections=None, keepalive_expiry=30),
            headers={"Authorization": f"Bearer {self.key}"},
            trust_env=False,
        )
        for preset, more in POOLS.items():
            name = f"{self.scenario}-{preset}"
            body = {
                "key": name,
                "preset": preset,
                "quotas": [{"key": "main", "size": more["size"]}],
                "policy": more.get("policy", {}),
            }
            if await self._ask("create", name, "/v1/pools", body, {}) is None:
                raise AssertionError(f"no pool was made: {self.asked[-1].answers}")
            self.pools.append(name)
        self.tasks = [asyncio.create_task(self._client(number)) for number in range(CLIENTS)]
        self.tasks += [asyncio.create_task(self._watch(node)) for node in self.nodes]

    async def stop(self) -> None:
        """Nobody begins anything new; whoever has asked waits for the answer."""
        self.going = False
        await asyncio.gather(*self.tasks)
        # Whoever asks the same again is told the same, above all who was not answered at first.
        doubtful = [it for it in self.asked if it.unanswered and it.granted and it.what != "create"]
        for asked in doubtful[:AGAIN_MAX]:
            await self._send_until_answered(asked)
        await self._web.aclose()

    def must_go_on(self) -> None:
        """Raises Stuck if one of the clients has ended, though nobody has told them to stop."""
        for task in self.tasks:
            if self.going and task.done():
                raise Stuck(f"a client has ended by itself: {task!r}")

    def answered_since(self, node: Node, moment: float) -> int:
        """How many requests that began after this moment a node has carried out."""
        return sum(1 for it in reversed(self.tries) if it.node is node and it.begun > moment and _is_done(it))

    def longest_silence(self, since: float) -> float:
        """The longest time in which a pool carried nothing out, that ended after this moment."""
        longest = 0.0
        for pool in self.pools:
            done = sorted(it.ended for it in self.tries if it.pool == pool and _is_done(it))
            silences = (later - earlier for earlier, later in pairwise(done) if later > since)
            longest = max(longest, max(silences, default=0.0))
        return longest

    async def _watch(self, node: Node) -> None:
        """Somebody looks at a node all the time: is it ready, what has it counted, who is in line?"""
        while self.going:
            pool = self._dice.choice(self.pools)
            for path in ("/readyz", "/metrics", f"/v1/pools/{pool}/line", f"/v1/pools/{pool}/stats"):
                await self._look_at(node, path)
            await asyncio.sleep(0.5)

    async def _look_at(self, node: Node, path: str) -> None:
        begun = time.monotonic()
        try:
            answer = await self._web.get(node.address + path)
        except httpx2.HTTPError as error:
            self.looks.append(Try(path, node, begun, time.monotonic(), 0, type(error).__name__))
            return
        # Whoever watches knows what 503 means there, and comes again anyhow.
        may_retry = "retry-after" in answer.headers or path == "/readyz"
        self.looks.append(Try(path, node, begun, time.monotonic(), answer.status_code, "", may_retry))

    # One client.

    async def _client(self, number: int) -> None:
        count = 0
        _HOME.set(self.nodes[number % len(self.nodes)])
        while self.going:
            count += 1
            pool = self._dice.choice(self.pools)
            party = f"{self.scenario}-{number}-{count}"
            path = f"/v1/pools/{pool}/bookings"
            booked = await self._ask("book", pool, path, {"party": {"id": party}}, {"party": party})
            if booked is not None:
                await self._go_on(pool, booked)
            await self._pause()

    async def _go_on(self, pool: str, booking: dict[str, Any]) -> None:
        """Take what was held or offered, or let it go; who has a seat leaves it to others after a while."""
        name, state, path = booking["id"], booking["state"], f"/v1/bookings/{booking['id']}"
        for _ in range(self._dice.randrange(2, 12)):
            await self._pause()
            if state == "held" and self._dice.random() < 0.7:
                booking = await self._act("confirm", pool, path, name) or booking
                state = booking["state"]
            elif state == "offered" and (offer := booking.get("offer")) is not None:
                what = "claim" if self._dice.random() < 0.8 else "decline"
                path_of_offer = f"/v1/offers/{offer['token']}/{what}"
                facts = {"booking": name, "token": offer["token"]}
                answer = await self._ask(what, pool, path_of_offer, {}, facts)
                booking = answer or booking | {"state": "over"}
                state = booking["state"]
            elif state == "waiting":
                booking = await self._look(pool, path)
                state = booking["state"]
            else:
                break
        if state not in ("over", "declined", "expired", "closed") and self._dice.random() < 0.9:
            await self._act("cancel", pool, path, name)

    async def _act(self, what: str, pool: str, path: str, name: str) -> dict[str, Any] | None:
        return await self._ask(what, pool, f"{path}/{what}", {}, {"booking": name})

    async def _pause(self) -> None:
        await asyncio.sleep(self._dice.uniform(0.02, 0.15))

    # Asking, until there is an answer.

    async def _look(self, pool: str, path: str) -> dict[str, Any]:
        home = _HOME.get()
        while True:
            answer = await self._send("GET", pool, path, None, {}, home)
            if answer is not None:
                return {"id": path, "state": "over"} if "code" in answer else answer
            home = None

    async def _ask(
        self, what: str, pool: str, path: str, body: dict[str, Any], facts: dict[str, Any]
    ) -> dict[str, Any] | None:
        """The answer, if it is a yes."""
        key = f"{self.scenario}-{len(self.asked)}"
        asked = Asked(len(self.asked), what, pool, facts, key)
        self.asked.append(asked)
        self.sent[key] = (path, body)
        await self._send_until_answered(asked)
        return asked.granted

    async def _send_until_answered(self, asked: Asked) -> None:
        path, body = self.sent[asked.key]
        home, headers = _HOME.get(), {"Idempotency-Key": asked.key}
        while True:
            answer = await self._send("POST", asked.pool, path, body, headers, home)
            if answer is not None:
                asked.answers.append(answer)
                return
            asked.unanswered += 1
            home = None

    async def _send(
        self,
        method: str,
        pool: str,
        path: str,
        body: dict[str, Any] | None,
        headers: dict[str, str],
        home: Node | None,
    ) -> dict[str, Any] | None:
        """One try, at home or at either node; nothing, after a pause, if it must be tried again."""
        node = home or self._dice.choice(self.nodes)
        begun = time.monotonic()
        try:
            answer = await self._web.request(method, node.address + path, json=body, headers=headers)
        except httpx2.HTTPError as error:
            self.tries.append(Try(pool, node, begun, time.monotonic(), 0, type(error).__name__))
            await asyncio.sleep(self._dice.uniform(0.1, 0.4))
            return None
        said = answer.json()
        wait = answer.headers.get("retry-after")
        code = said.get("code", "") if answer.status_code >= 400 else ""
        one = Try(pool, node, begun, time.monotonic(), answer.status_code, code, wait is not None)
        self.tries.append(one)
        if answer.status_code >= 500 or code == "idempotency_in_flight":
            await asyncio.sleep(float(wait or 1) + self._dice.uniform(0, 0.3))
            return None
        return {"code": code, "id": None} if code else said


def _is_done(it: Try) -> bool:
    return 0 < it.status < 500
