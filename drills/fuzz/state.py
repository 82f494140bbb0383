"""A state to get lost in: pools of every preset with people in them, keys, members and sessions."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from drills.fuzz.alive import Alive
from drills.fuzz.wire import Answer, Asked, Wire
from drills.one_node import MEMBERS, PASSWORD, Node, make_keys
from fairhold.console.site import PAGES as CONSOLE
from fairhold.pages.site import PAGES

if TYPE_CHECKING:
    from drills.fuzz.asking import Asking

HEAL_EVERY = 50
PRESETS = ("checkout", "event_signup", "class_waitlist", "course_section", "last_minute")
QUESTIONS = [
    {"key": "meal", "title": "Main course", "kind": "choice", "choices": ["Fish", "Beans"], "required": True},
    {"key": "age", "title": "Your age", "kind": "number", "min": 18, "max": 120},
    {"key": "rules", "title": "I have read the rules", "kind": "checkbox"},
]
OTHERS = ("/healthz", "/readyz", "/metrics", "/openapi.json", "/docs", "/docs/docs.js", "/docs/docs.css")


def addresses() -> list[tuple[str, str, bool]]:
    """Every address that is no operation of the API: path, name, and whether it takes a form."""
    pages = [(page.path, page.name, page.send is not None) for page in PAGES]
    pages += [(page.path, page.name, page.send is not None) for page in CONSOLE]
    return pages + [(path, path.strip("/"), False) for path in OTHERS]


class State:
    """Makes it, and mends what was broken: whoever may do everything may also shut themselves out."""

    def __init__(self, it: Node, keys: dict[str, str], alive: Alive) -> None:
        self._node, self._keys, self._alive = it, keys, alive
        self._wire = Wire(it.port)
        self._lock = asyncio.Lock()
        self.asking: Asking | None = None
        self._made = self._healed = 0

    def close(self) -> None:
        self._wire.close()

    async def document(self) -> Any:
        answer = await self._wire.ask(Asked("", b"GET", b"/openapi.json"))
        return json.loads(answer.body)

    async def furnish(self) -> None:
        """A pool of each preset, with people in it."""
        for preset in PRESETS:
            await self._pool(preset)

    async def heal(self) -> None:
        """Have keys and sessions that work, and pools that are open."""
        async with self._lock:
            if (await self._ask("GET", "/v1/keys")).status != 200:
                self._keys |= await asyncio.to_thread(make_keys, self._node.url)
            for name, role in MEMBERS:
                await self._signed_in(name, role)
            self._healed += 1
            if self._healed % 5 == 1:
                await self._pool(PRESETS[self._healed // 5 % len(PRESETS)])

    async def _pool(self, preset: str) -> None:
        self._made += 1
        key = f"{preset}-{self._made}"
        starts_at = (datetime.now(UTC) + timedelta(days=5)).isoformat()
        quotas: list[Any] = [
            {"key": "main", "size": 2},
            {"key": "crew", "size": 1, "eligible": {"tag": "crew"}},
        ]
        if self._made % 3 == 0:
            quotas = [{"key": "main", "units": ["12A", "12B", "12C"]}]
        body: dict[str, Any] = {"key": key, "preset": preset, "quotas": quotas, "starts_at": starts_at}
        if self._made % 2:
            body["questions"] = QUESTIONS
        await self._post("/v1/pools", body)
        made = []
        for name in ("ann", "bea", "cyd", "dee"):
            party = {"id": name, "name": name.title(), "contacts": {"email": f"{name}@example.org"}}
            answer = await self._post(f"/v1/pools/{key}/bookings", {"party": party, "as_staff": True})
            made.append(json.loads(answer.body).get("id", "x"))
        await self._post(f"/v1/bookings/{made[0]}/cancel", {})
        for path in (f"/v1/bookings/{made[-1]}", f"/v1/bookings?pool={key}", f"/v1/pools/{key}/messages"):
            await self._ask("GET", path)
        for listed in ("keys", "members", "webhooks", "staff-contacts", "origins", "dead-letters"):
            await self._ask("GET", f"/v1/{listed}")
        await self._post("/v1/webhooks", {"url": "http://127.0.0.1:9/hook"})

    async def _signed_in(self, name: str, role: str) -> None:
        """The session of a member of this role; a new member, if they were thrown out."""
        assert self.asking is not None
        sessions = self.asking.sessions
        if name in sessions and (await self._session(sessions[name][0])) is not None:
            return
        email = f"{name}@example.org"
        for _ in range(2):
            body = {"email": email, "password": PASSWORD}
            answer = await self._post("/v1/session", body, by="")
            if answer.status == 201 and json.loads(answer.body)["member"]["role"] == role:
                cookie = answer.headers[b"set-cookie"].partition(b";")[0]
                sessions[name] = (cookie, json.loads(answer.body)["csrf_token"].encode())
                return
            self._made += 1
            email = f"{name}{self._made}@example.org"
            made = await self._post("/v1/members", {"email": email, "name": name.title(), "role": role})
            if made.status != 201:
                return
            token = json.loads(made.body)["invitation"]["token"]
            await self._post("/v1/session/invitation", {"token": token, "password": PASSWORD}, by="")

    async def _session(self, cookie: bytes) -> Any:
        answer = await self._wire.ask(Asked("", b"GET", b"/v1/session", [(b"Cookie", cookie)]))
        return json.loads(answer.body) if answer.status == 200 else None

    async def _post(self, path: str, body: Any, by: str = "admin") -> Answer:
        return await self._ask("POST", path, body, by)

    async def _ask(self, method: str, path: str, body: Any = None, by: str = "admin") -> Answer:
        headers = [(b"Content-Type", b"application/json")]
        if by:
            headers.append((b"Authorization", b"Bearer " + self._keys[by].encode()))
        else:
            self._made += 1
            address = b"172.16.%d.%d" % (self._made // 250 % 250, self._made % 250)
            headers.append((b"X-Forwarded-For", address))
        raw = b"" if body is None else json.dumps(body).encode()
        answer = await self._wire.ask(Asked("", method.encode(), path.encode(), headers, raw))
        if answer.status < 300:
            self._alive.hear(path, answer.body)
        return answer
