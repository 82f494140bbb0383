"""The work of a long run: people, staff and programs, at a steady rate, each as one small task.

Whoever comes is somebody new, and what is over is ended and forgotten: so what is kept should stay the same.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from drills.fuzz.wire import Answer, Asked, Wire

PRESETS = ("class_waitlist", "event_signup", "course_section", "last_minute", "checkout")
POOLS_MAX = 12
KNOWN_MAX = 400
# So short that an hour sees many of them end by themselves.
POLICY = {"hold_window": "20s", "offer_window": "20s"}


@dataclass(slots=True)
class Seen:
    """What was measured since somebody looked."""

    latencies: list[float] = field(default_factory=list)
    answers: Counter[int] = field(default_factory=Counter)
    acts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


class Work:
    """All that happens, one act after another, on a few connections."""

    def __init__(self, port: int, keys: dict[str, str], hook: str, seed: int) -> None:
        self._port, self._keys, self._hook = port, keys, hook
        self._dice = Random(seed)
        self._names = itertools.count(1)
        self._pools: deque[str] = deque()
        self._bookings: deque[str] = deque(maxlen=KNOWN_MAX)
        self._tokens: deque[str] = deque(maxlen=KNOWN_MAX)
        self._free: list[Wire] = []
        self._session: tuple[bytes, bytes] | None = None
        self.seen = Seen()
        self._people: deque[str] = deque(maxlen=KNOWN_MAX)
        self.pools_made = self.erased = 0
        self._acts: list[tuple[Callable[[], Awaitable[None]], int]] = [
            (self._book, 30),
            (self._confirm, 14),
            (self._cancel, 12),
            (self._claim, 8),
            (self._look, 14),
            (self._page, 6),
            (self._line, 4),
            (self._console, 4),
            (self._stream, 2),
            (self._erase, 2),
            (self._pool, 1),
        ]

    async def set_up(self) -> None:
        await self._ask("POST", "/v1/webhooks", {"url": self._hook})
        body = {"email": "olga@example.org", "password": "correct horse battery"}
        answer = await self._ask("POST", "/v1/session", body, by="")
        csrf = json.loads(answer.body)["csrf_token"].encode()
        self._session = (answer.headers[b"set-cookie"].partition(b";")[0], csrf)
        for _ in range(POOLS_MAX):
            await self._pool()

    async def run(self, rate: float, until: float) -> None:
        """So many acts a second until then. If they do not keep up, they wait for one another."""
        running: set[asyncio.Task[None]] = set()
        next_at = time.monotonic()
        acts = [act for act, _ in self._acts]
        weights = [weight for _, weight in self._acts]
        while (now := time.monotonic()) < until:
            if next_at > now:
                await asyncio.sleep(next_at - now)
            # What was missed is not made up for: a pause of the machine is no flood.
            next_at = max(next_at + 1 / rate, now - 1)
            [act] = self._dice.choices(acts, weights)
            while len(running) >= 32:
                await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            task = asyncio.ensure_future(act())
            running.add(task)
            task.add_done_callback(running.discard)
        await asyncio.gather(*running)
        for wire in self._free:
            wire.close()

    # The acts.

    async def _pool(self) -> None:
        """A new pool; the oldest is cancelled, and its people are forgotten some day."""
        self.pools_made += 1
        preset = PRESETS[self.pools_made % len(PRESETS)]
        key = f"{preset}-{self.pools_made}"
        units = [f"{row}{seat}" for row in range(1, 6) for seat in "ABCD"]
        quotas: list[Any] = [
            {"key": "main", "units": units} if self.pools_made % 4 == 0 else {"key": "main", "size": 20}
        ]
        body = {"key": key, "preset": preset, "quotas": quotas, "policy": POLICY | {"quantity_max": 4}}
        if (await self._ask("POST", "/v1/pools", body)).status == 201:
            self._pools.append(key)
        if len(self._pools) > POOLS_MAX:
            await self._ask("PATCH", f"/v1/pools/{self._pools.popleft()}", {"status": "cancelled"})

    async def _book(self) -> None:
        name = f"person-{next(self._names)}"
        party = {"id": name, "name": name.title(), "contacts": {"email": f"{name}@example.org"}}
        body = {"party": party, "if_full": "wait"}
        pool = self._dice.choice(self._pools)
        answer = await self._ask("POST", f"/v1/pools/{pool}/bookings", body, by="public", key=name)
        if answer.status == 201:
            told = json.loads(answer.body)
            self._people.append(name)
            self._bookings.append(told["id"])
            self._tokens.append(told["edit_token"])

    async def _confirm(self) -> None:
        await self._about("confirm")

    async def _cancel(self) -> None:
        await self._about("cancel")

    async def _about(self, act: str) -> None:
        if self._bookings:
            await self._ask(
                "POST", f"/v1/bookings/{self._dice.choice(self._bookings)}/{act}", {"as_staff": True}
            )

    async def _claim(self) -> None:
        """Somebody who was offered a seat takes it, or says no."""
        found = await self._ask(
            "GET", f"/v1/bookings?pool={self._dice.choice(self._pools)}&state=offered&limit=5"
        )
        if found.status != 200 or not (offered := json.loads(found.body)["items"]):
            return
        one = await self._ask("GET", f"/v1/bookings/{self._dice.choice(offered)['id']}")
        offer = json.loads(one.body).get("offer") if one.status == 200 else None
        if offer:
            act = "claim" if self._dice.random() < 0.7 else "decline"
            await self._ask("POST", f"/v1/offers/{offer['token']}/{act}", {}, by="public")

    async def _erase(self) -> None:
        """Somebody who came a while ago wants to be forgotten."""
        if len(self._people) > KNOWN_MAX // 2:
            answer = await self._ask("DELETE", f"/v1/parties/{self._people.popleft()}?cancel=true")
            self.erased += answer.status == 200

    async def _look(self) -> None:
        if self._tokens:
            await self._ask("GET", f"/v1/bookings/{self._dice.choice(self._tokens)}", by="public")

    async def _page(self) -> None:
        path = f"/p/{self._dice.choice(self._pools)}"
        if self._tokens and self._dice.random() < 0.5:
            path = f"/b/{self._dice.choice(self._tokens)}"
        await self._ask("GET", path, by="")

    async def _line(self) -> None:
        pool = self._dice.choice(self._pools)
        await self._ask("GET", f"/v1/pools/{pool}/{self._dice.choice(('line', 'stats', 'log', 'messages'))}")

    async def _console(self) -> None:
        pool = self._dice.choice(self._pools)
        paths = (
            "/console/pools",
            f"/console/pools/{pool}",
            "/console/needs",
            f"/console/happened?pool={pool}",
        )
        await self._ask("GET", self._dice.choice((*paths, f"/console/numbers?pool={pool}")), by="session")

    async def _stream(self) -> None:
        """Somebody listens for a while, and goes."""
        wire = Wire(self._port)
        path = "/v1/stream" if self._dice.random() < 0.5 else f"/p/{self._dice.choice(self._pools)}/stream"
        headers = [(b"Authorization", b"Bearer " + self._keys["staff"].encode())]
        await wire.listen(Asked("stream", b"GET", path.encode(), headers), self._dice.uniform(1, 10))
        self.seen.acts["stream"] += 1

    # Asking.

    async def _ask(
        self, method: str, path: str, body: Any = None, *, by: str = "staff", key: str = ""
    ) -> Answer:
        headers = [(b"Content-Type", b"application/json")]
        if by == "session" and self._session is not None:
            headers.append((b"Cookie", self._session[0]))
        elif by:
            headers.append(
                (b"Authorization", b"Bearer " + self._keys["admin" if by == "staff" else by].encode())
            )
        if key:
            headers.append((b"Idempotency-Key", key.encode()))
        raw = b"" if body is None else json.dumps(body).encode()
        wire = self._free.pop() if self._free else Wire(self._port)
        answer = await wire.ask(Asked(path, method.encode(), path.encode(), headers, raw))
        self._free.append(wire)
        self.seen.latencies.append(answer.took_s)
        self.seen.answers[answer.status] += 1
        self.seen.acts[f"{method} {path.split('/')[1]}"] += 1
        if answer.status == 0 or answer.status >= 500:
            self.seen.wrong.append(f"{method} {path}: {answer.status} {answer.error} {answer.body[:200]!r}")
        return answer
