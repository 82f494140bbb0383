"""What people and staff ask for over HTTP, by dice. Whoever gets no answer asks again with the same key."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx2 as httpx

from drills.crash.node import Node
from drills.crash.receivers import Receivers
from sim.records import Asked

_AGAIN_S = 0.4
_REST_S = 0.1
# A crash may cost a client its connection, or be told as a 503. A request that is still being carried out for
# somebody who asked before gets a 409 of its own; none of these is an answer.
_NO_ANSWER = ("unavailable", "outcome_unknown", "busy", "idempotency_in_flight")


@dataclass(slots=True)
class Ask:
    """A request as it is sent, again and again if need be."""

    asked: Asked
    method: str
    path: str
    body: dict[str, Any]
    staff: bool
    # Whether a try of it was lost in the middle, and what the database knew of it after the crash.
    lost: bool = False
    kept: bool | None = None
    whole: list[tuple[int, Any]] = field(default_factory=list)


class Clients:
    """All of them, who know what they were answered and what came by mail, and nothing else."""

    def __init__(
        self,
        seed: int,
        client: httpx.AsyncClient,
        nodes: Sequence[Node],
        keys: dict[str, str],
        post: Receivers,
    ) -> None:
        self._dice = random.Random(seed)
        self._client = client
        self._nodes = nodes
        self._keys = keys
        self._post = post
        self._pools: dict[str, list[str]] = {}
        # What mail calls the pools.
        self._names: dict[str, str] = {}
        # Bookings with what their owner acts by: the id, and the edit token.
        self._known: dict[str, list[tuple[str, str]]] = {}
        self.asks: list[Ask] = []
        self.answered = 0
        self.statuses: Counter[str] = Counter()
        self.wrong: list[str] = []
        self.ended = asyncio.Event()

    @property
    def asked(self) -> list[Asked]:
        return [it.asked for it in self.asks]

    def go_to(self, made: Sequence[dict[str, Any]]) -> None:
        """From now on to these pools, as the service has shown them."""
        self._pools = {pool["key"]: [quota["key"] for quota in pool["quotas"]] for pool in made}
        self._known = {key: [] for key in self._pools}
        self._names |= {pool["id"]: pool["key"] for pool in made}

    def only(self, node: Node) -> None:
        """The others are gone for good."""
        self._nodes = [node]

    async def live(self) -> None:
        """One client, until the drill ends."""
        while not self.ended.is_set():
            await self._act()
            await asyncio.sleep(self._dice.random() * _REST_S)

    async def settle(self) -> None:
        """Who has no answer asks again, now that nothing fails; and so does who had to ask twice."""
        self.ended.clear()

        async def ask_twice(it: Ask) -> None:
            async with hands:
                await self._send(it)
                await self._send(it)

        hands = asyncio.Semaphore(64)
        await asyncio.gather(*(ask_twice(it) for it in self.asks if it.lost or not it.asked.answers))

    async def _act(self) -> None:
        pool = self._dice.choice(list(self._pools))
        acts = [self._book, self._confirm, self._cancel, self._extend, self._answer, self._staff, self._look]
        await self._dice.choices(acts, [45, 14, 10, 4, 16, 8, 3])[0](pool)

    # People.

    async def _book(self, pool: str) -> None:
        dice = self._dice
        # So few that lines stay short: all who wait in them are told of much.
        party, quota = f"party-{dice.randrange(40)}", dice.choice(self._pools[pool])
        who: dict[str, Any] = {"id": party, "contacts": {"email": f"{party}@example.org"}}
        quantity = dice.choice([1, 1, 1, 2])
        staff = dice.random() < 0.2
        if staff:
            who["tags"] = dice.sample(["honours", "member"], dice.randrange(3))
        body = {"party": who, "quantity": quantity, "quota": quota}
        facts = {"party": party, "quota": quota, "quantity": quantity}
        path = f"/v1/pools/{pool}/bookings"
        known = self._known[pool]
        granted = await self._ask("book", pool, facts, "POST", path, body, staff=staff)
        if granted is not None:
            known.append((granted["id"], granted["edit_token"]))

    async def _confirm(self, pool: str) -> None:
        await self._on_some("confirm", pool, {})

    async def _cancel(self, pool: str) -> None:
        await self._on_some("cancel", pool, {"why": "asked"})

    async def _extend(self, pool: str) -> None:
        await self._on_some("extend", pool, {})

    async def _answer(self, pool: str) -> None:
        """Somebody follows a link from the mail, old or new."""
        if self._post.links:
            name, token = self._dice.choice(self._post.links[-20:])
            what = "decline" if self._dice.random() < 0.3 else "claim"
            await self._ask(
                what, self._names[name], {"token": token}, "POST", f"/v1/offers/{token}/{what}", {}
            )

    # Staff.

    async def _staff(self, pool: str) -> None:
        act = self._dice.choice([self._move, self._put_back, self._resize])
        await act(pool)

    async def _move(self, pool: str) -> None:
        await self._on_some(
            "move", pool, {"to": self._dice.choice(["front", "back"]), "why": "asked"}, staff=True
        )

    async def _put_back(self, pool: str) -> None:
        await self._on_some("put-back", pool, {"why": "asked"}, staff=True)

    async def _resize(self, pool: str) -> None:
        sizes = {quota: self._dice.randrange(1, 6) for quota in self._pools[pool] if quota != "chair"}
        if sizes:
            body = {"sizes": sizes, "allow_demotion": self._dice.random() < 0.7}
            await self._ask("resize", pool, {"sizes": sizes}, "PATCH", f"/v1/pools/{pool}", body, staff=True)

    async def _look(self, pool: str) -> None:
        """Reads change nothing; one look at a line shows one state of it, and that has no gaps."""
        node = self._dice.choice(self._nodes)
        try:
            answer = await self._client.get(
                f"{node.base}/v1/pools/{pool}/line", params={"limit": 500}, headers=self._headers(True)
            )
        except httpx.TransportError:
            return
        self._note(answer, f"GET line of {pool}")
        if answer.status_code == 200:
            positions = [it["position"] for it in answer.json()["items"]]
            if positions != list(range(1, len(positions) + 1)):
                self.wrong.append(f"contiguous: a look at {pool} shows the positions {positions}")

    # How one asks.

    async def _on_some(self, what: str, pool: str, body: dict[str, Any], *, staff: bool = False) -> None:
        if known := self._known[pool][-30:]:
            name, token = self._dice.choice(known)
            path = f"/v1/bookings/{name if staff else token}/{what}"
            await self._ask(what, pool, {"booking": name}, "POST", path, body, staff=staff)

    async def _ask(
        self,
        what: str,
        pool: str,
        facts: dict[str, Any],
        method: str,
        path: str,
        body: dict[str, Any],
        *,
        staff: bool = False,
    ) -> dict[str, Any] | None:
        number = len(self.asks)
        it = Ask(Asked(number, what, pool, facts, f"key-{number}"), method, path, body, staff)
        self.asks.append(it)
        await self._send(it)
        if it.lost or self._dice.random() < 0.05:
            await self._send(it)
        return it.asked.granted

    async def _send(self, it: Ask) -> None:
        """Until it is answered, at whichever node; or until the drill ends."""
        while not self.ended.is_set():
            node = self._dice.choice(self._nodes)
            try:
                headers = {**self._headers(it.staff), "Idempotency-Key": it.asked.key}
                answer = await self._client.request(
                    it.method, node.base + it.path, json=it.body, headers=headers
                )
            except httpx.ConnectError:
                # It was never sent.
                self.statuses["no connection"] += 1
            except httpx.TransportError as error:
                self.statuses[f"cut off ({type(error).__name__})"] += 1
                it.lost = True
                it.asked.unanswered += 1
            else:
                if self._note(answer, f"{it.asked.what} {it.asked.key}"):
                    self._take(it, answer)
                    return
                it.lost = True
                it.asked.unanswered += 1
            await asyncio.sleep(self._dice.random() * _AGAIN_S)

    def _note(self, answer: httpx.Response, what: str) -> bool:
        """Whether it is an answer. What no client may ever see is wrong."""
        code = answer.json().get("code", "") if answer.status_code >= 400 else ""
        self.statuses[f"{answer.status_code} {code}".strip()] += 1
        if answer.status_code >= 500 and answer.status_code != 503:
            self.wrong.append(f"{what} was answered {answer.status_code}: {answer.text}")
        return code not in _NO_ANSWER

    def _take(self, it: Ask, answer: httpx.Response) -> None:
        body = answer.json()
        self.answered += 1
        it.asked.answers.append(body)
        it.whole.append((answer.status_code, body))
        if it.whole[0] != it.whole[-1]:
            first, then = it.whole[0], it.whole[-1]
            self.wrong.append(f"nothing_lost: {it.asked.what} {it.asked.key}: first {first}, then {then}")

    def _headers(self, staff: bool) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._keys['admin' if staff else 'public']}"}
