"""One drill on one database: load, kills, a judgement after each, and at the end a settling of everything."""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx2 as httpx

from drills.crash.checker import STAFF, judge
from drills.crash.clients import Clients
from drills.crash.node import PATIENCE_S, Node, until
from drills.crash.pools import pools
from drills.crash.receivers import Receivers
from drills.crash.tables import Tables, read_tables
from fairhold import Fairhold
from fairhold.keys import ApiKey, Keys
from testbed.postgres import TemporaryPostgres

SECRET = "a secret of the drill"
# So many kills, and then on to new pools.
SEASON = 5
# Whoever is killed often leaves thousands of messages to be sent at the end.
_SENDING_S = 3_600.0
# What a liar keeps out of the log, by what it says yes to; and the pools in which only that can be meant.
_LIES = {"book": "Held,Joined", "confirm": "Confirmed"}
_CHECKOUTS = ("concert", "flight")


@dataclass(slots=True)
class Plan:
    """What is to be done. A server that is given is killed now and then, too."""

    url: str
    folder: Path
    times: int
    clients: int
    seed: int
    nodes: int = 1
    server: TemporaryPostgres | None = None
    # How many answers at most are waited for before the next kill.
    answers_max: int = 100
    is_over: Callable[[], bool] = lambda: False
    tell: Callable[[str], None] = lambda _: None


@dataclass(slots=True)
class Outcome:
    wrong: list[str] = field(default_factory=list)
    kills: Counter[str] = field(default_factory=Counter)
    figures: dict[str, int] = field(default_factory=dict)
    statuses: Counter[str] = field(default_factory=Counter)


class Drill:
    def __init__(self, plan: Plan, client: httpx.AsyncClient, post: Receivers, keys: dict[str, str]) -> None:
        self.plan = plan
        self.outcome = Outcome()
        self.dice = random.Random(plan.seed)
        self.client = client
        self.post = post
        self._admin = {"Authorization": f"Bearer {keys['admin']}"}
        self.environment = {
            "FAIRHOLD_SECRET": SECRET,
            "FAIRHOLD_SMTP_URL": post.smtp_url,
            "FAIRHOLD_MAIL_FROM": "Seats <seats@example.org>",
            "FAIRHOLD_WEBHOOKS_TO_PRIVATE": "yes",
            "FAIRHOLD_LOG_LEVEL": "warning",
            # All of them come from one address here.
            "FAIRHOLD_RATE_PER_ADDRESS": "0",
            "FAIRHOLD_HOLDS_PER_ADDRESS_MAX": "0",
            "FAIRHOLD_HOLDS_PER_PARTY_MAX": "0",
        }
        self.nodes = [Node(plan.url, plan.folder, self.environment) for _ in range(plan.nodes)]
        self.clients = Clients(plan.seed + 1, client, self.nodes, keys, post)
        # The pools' ids by their keys, and those of this season.
        self.names: dict[str, str] = {}
        self.season: list[str] = []

    async def play(self) -> Outcome:
        for node in self.nodes:
            node.start()
        living: list[asyncio.Task[None]] = []
        try:
            await self._make("webhooks", {"url": self.post.webhook_url})
            for kill in range(self.plan.times):
                if self.plan.is_over():
                    break
                if kill % SEASON == 0:
                    await self._new_season(kill // SEASON + 1)
                if not living:
                    living = [asyncio.create_task(self.clients.live()) for _ in range(self.plan.clients)]
                await self._some_load(living)
                await self._kill()
                await self._judge()
                if (kill + 1) % SEASON == 0:
                    await self._verify()
                if kill + 1 < self.plan.times:
                    self._start_again()
                self.plan.tell(
                    f"{kill + 1:>3} of {self.plan.times}: {self.clients.answered:,} answers, "
                    f"{len(self.post.arrivals):,} arrivals, {len(self.outcome.wrong)} wrong"
                )
            self.clients.ended.set()
            await asyncio.gather(*living)
            await self._settle()
        finally:
            for task in living:
                task.cancel()
            for node in self.nodes:
                node.kill9()
        return self.outcome

    async def catch(self, liar: str, what: str) -> list[str]:
        """The control: that module in place of the service, killed once it has said yes to such a request."""
        node, living = self.nodes[0], list[asyncio.Task[None]]()
        node.start()

        async def lied() -> bool:
            # Elsewhere a yes may be about what was done by others before, and true.
            return any(
                it.what == what and it.granted and it.pool.startswith(_CHECKOUTS) for it in self.clients.asked
            )

        try:
            await self._new_season(1)
            node.kill9()
            node.start(_LIES[what], module=liar)
            await node.ready(self.client)
            living += [asyncio.create_task(self.clients.live()) for _ in range(self.plan.clients)]
            await until(lied)
        finally:
            node.kill9()
            for task in living:
                task.cancel()
            await asyncio.gather(*living, return_exceptions=True)
        await self._judge()
        return self.outcome.wrong

    async def _new_season(self, number: int) -> None:
        made = [await self._make("pools", body) for body in pools(number)]
        self.names |= {pool["key"]: pool["id"] for pool in made}
        self.season = [pool["key"] for pool in made]
        self.clients.go_to(made)

    async def _make(self, what: str, body: dict[str, Any]) -> Any:
        await self.nodes[0].ready(self.client)
        answer = await self.client.post(f"{self.nodes[0].base}/v1/{what}", json=body, headers=self._admin)
        assert answer.status_code == 201, answer.text
        return answer.json()

    async def _some_load(self, living: list[asyncio.Task[None]]) -> None:
        """Until some were answered, and then a moment that nobody chose. Sometimes it is still starting."""
        if self.dice.random() < 0.9:
            enough = self.clients.answered + self.dice.randrange(1, self.plan.answers_max)

            async def had_enough() -> bool:
                for task in living:
                    if task.done():
                        task.result()
                # Before the first kill somebody must have been told something, or there is little to judge.
                return self.clients.answered >= enough and any(it.way == "mail" for it in self.post.arrivals)

            await until(had_enough)
        await asyncio.sleep(self.dice.random() * 0.2)

    async def _kill(self) -> None:
        server, kills = self.plan.server, self.outcome.kills
        if server is not None and self.dice.random() < 0.2:
            kills["the database server"] += 1
            await asyncio.to_thread(server.kill9)
            await asyncio.sleep(self.dice.random())
            await asyncio.to_thread(server.start)
            return
        doomed = self.nodes if self.dice.random() < 0.5 else [self.dice.choice(self.nodes)]
        for node in doomed:
            node.kill9()
        kills["every node" if len(doomed) == len(self.nodes) else "one node of two"] += 1

    def _start_again(self) -> None:
        for node in self.nodes:
            if not node.up:
                node.start()

    async def _judge(self) -> None:
        """What was answered and what arrived until now must be there, whatever is going on meanwhile."""
        answers = {it.asked.number: list(it.asked.answers) for it in self.clients.asks}
        arrivals = list(self.post.arrivals)
        tables = await read_tables(self.plan.url)
        asked = [replace(it, answers=answers.get(it.number, [])) for it in self.clients.asked]
        self.outcome.wrong += judge(tables, asked, arrivals, self.names, only=self.season)
        for it in self.clients.asks:
            if it.lost and it.kept is None and not it.asked.answers:
                it.kept = it.asked.key in tables.requests

    async def _verify(self) -> None:
        """By the service's own means, while it goes on."""
        command = [sys.executable, "-m", "fairhold", "verify", "--database", self.plan.url]
        environment = {**os.environ, **self.environment}
        said = await asyncio.to_thread(
            subprocess.run, command, env=environment, capture_output=True, text=True
        )
        if said.returncode:
            self.outcome.wrong.append(f"verify: {said.stdout}{said.stderr}")

    async def _settle(self) -> None:
        """Nothing fails any more. Time stands still but for us, so that all that is read is of one moment."""
        for node in self.nodes:
            node.kill9()
        last = self.nodes[0]
        last.start("--test-clock")
        await last.ready(self.client)
        self.clients.only(last)
        await self.clients.settle()
        tables = await self._all_sent(last)
        seen = {key: await self._seen(last, key) for key in self.names}
        self.outcome.wrong += judge(tables, self.clients.asked, self.post.arrivals, self.names, seen)
        self.outcome.wrong += self.clients.wrong
        await self._verify()
        self._count(tables)

    async def _all_sent(self, node: Node) -> Tables:
        """Who dies with a message in hand leaves it for two minutes: they pass at once."""

        async def sent() -> bool:
            answer = await self.client.post(
                f"{node.base}/v1/clock", json={"advance_s": 150}, headers=self._admin, timeout=_SENDING_S
            )
            assert answer.status_code == 200, answer.text
            tables = await read_tables(self.plan.url)
            found.append(tables)
            return not any(it.state == "pending" for it in tables.outbox)

        found: list[Tables] = []
        await until(sent, _SENDING_S)
        return found[-1]

    async def _seen(self, node: Node, key: str) -> dict[str, Any]:
        return {
            "bookings": await self._listed(f"{node.base}/v1/bookings", {"pool": key}),
            "line": await self._listed(f"{node.base}/v1/pools/{key}/line", {}),
        }

    async def _listed(self, url: str, query: dict[str, Any]) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = []
        cursor: str | None = ""
        while cursor is not None:
            given = {**query, "limit": 500, **({"cursor": cursor} if cursor else {})}
            answer = await self.client.get(url, params=given, headers=self._admin)
            assert answer.status_code == 200, answer.text
            items += answer.json()["items"]
            cursor = answer.json()["next"]
        return items

    def _count(self, tables: Tables) -> None:
        asks, arrivals = self.clients.asks, self.post.arrivals
        lost = [it for it in asks if it.asked.unanswered]
        self.outcome.statuses = self.clients.statuses
        self.outcome.figures = {
            "requests": len(asks),
            "sent, with repetitions": sum(len(it.asked.answers) + it.asked.unanswered for it in asks),
            "answered at once": len(asks) - len(lost),
            "answered yes": sum(1 for it in asks if it.asked.granted is not None),
            "lost their answer": len(lost),
            "of these had been done": sum(1 for it in lost if it.kept),
            "of these had not": sum(1 for it in lost if it.kept is False),
            "of these came again before anybody looked": sum(1 for it in lost if it.kept is None),
            "entries of the log": len(tables.log),
            "messages": len(tables.outbox),
            "arrived": len(arrivals),
            "arrived twice, under the same id": len(arrivals) - len({(it.way, it.id) for it in arrivals}),
        }


@asynccontextmanager
async def drill(plan: Plan) -> AsyncIterator[Drill]:
    """One that is set up, with receivers for its messages."""
    async with AsyncExitStack() as stack:
        post = await stack.enter_async_context(Receivers())
        keys = await _set_up(plan.url)
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=plan.clients)
        client = httpx.AsyncClient(verify=False, timeout=PATIENCE_S, limits=limits)
        await stack.enter_async_context(client)
        yield Drill(plan, client, post, keys)


async def _set_up(url: str) -> dict[str, str]:
    async with Fairhold.open(url, secret=SECRET, ticker=False) as hf:
        keys = {}
        for role in ("admin", "public"):
            made = await Keys(hf.store, hf.clock, hf.secret).create(hf.org, role, role)
            assert isinstance(made, ApiKey)
            assert made.secret is not None
            keys[role] = made.secret
        await hf.add_staff_contact("email", STAFF)
        return keys
