"""The services of both trees: the same requests by seed, one after the other; what they answer must agree.

Requests are thought up from the reference's own description of its API, from the right to the wild, and from
what its answers have named. Statuses, the headers that matter, and JSON without sentences are compared; of
pages, the status alone.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

from drills.fuzz.alive import Alive
from drills.fuzz.asking import Asking
from drills.fuzz.odd import Odd
from drills.fuzz.wire import Answer, Asked, Wire
from net.command_lines import PACKAGES, environment
from net.comparing import Difference, differences
from net.histories import Json
from net.mapping import FAIRHOLD_CHANGED, REFERENCE_CHANGED, TreeNames
from net.outside import Renaming, mapped, plain_json
from net.reference import ROOT
from net.tables import Rows, connected
from testbed.ports import free_port

# Nobody is asked to slow down: that would depend on the machine.
SETTINGS: Final = {
    "RATE_PER_KEY": "0",
    "RATE_PER_ADDRESS": "0",
    "HOLDS_PER_ADDRESS_MAX": "0",
    "HOLDS_PER_PARTY_MAX": "0",
    "PROXIES": "127.0.0.1",
    "LOG_LEVEL": "error",
    "BASE_URL": "http://127.0.0.1:8000",
}
HEADERS: Final = (b"content-type", b"location", b"retry-after", b"allow", b"www-authenticate")
PRESETS: Final = ("checkout", "event_signup", "class_waitlist", "course_section", "last_minute")
ROLES: Final = ("admin", "staff", "read", "public")
# These look at the machine, or at when letters went out; a clock that leaps far takes long.
SKIPPED: Final = ("/v1/clock", "/v1/session", "/v1/stream", "/metrics", "/readyz", "/v1/webhooks", "stream")
OTHERS: Final = ("/healthz", "/docs", "/p/{pool}", "/b/{token}", "/o/{token}", "/console")
_START_S: Final = 60.0
_SETTLE_S: Final = 2.0
_AGAIN: Final = 8


class Service:
    """One tree's service on loopback, and what was renamed of its answers."""

    def __init__(self, package: str, place: Path) -> None:
        self.package = package
        self.url = f"sqlite:///{place}/seats.db"
        self.keys: dict[str, str] = {}
        self.renamed = Renaming()
        self._place = place
        self.port = free_port()
        self.wire = Wire(self.port)
        self.environment = environment(package, place, DATABASE_URL=self.url, **SETTINGS)
        self.process: subprocess.Popen[bytes] | None = None
        self._log = place / "service.log"

    def start(self) -> None:
        """Make a key of each role, and start the service."""
        lines = [{"words": ["key", "create", "--role", role, "--name", f"the {role}"]} for role in ROLES]
        program = [sys.executable, "-m", "net.seeded", self.package]
        done = subprocess.run(
            [*program, "--"],
            input=json.dumps(lines).encode(),
            env=self.environment,
            capture_output=True,
            cwd=ROOT,
        )
        found = json.loads(done.stdout.splitlines()[-1])
        self.keys = {role: it["out"].split()[-1] for role, it in zip(ROLES, found, strict=True)}
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                [*program, "serve", "--port", str(self.port), "--test-clock"],
                env=self.environment,
                cwd=ROOT,
                stdout=log,
                stderr=log,
            )

    async def ready(self) -> None:
        """Return when it answers."""
        give_up_at = time.monotonic() + _START_S
        while (await self.wire.ask(Asked("", b"GET", b"/healthz"))).status != 200:
            if time.monotonic() > give_up_at:
                raise RuntimeError(self._log.read_text()[-3000:])
            await asyncio.sleep(0.05)

    def stop(self) -> None:
        """End the process that was started here."""
        self.wire.close()
        if self.process is not None:
            self.process.terminate()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    async def ask(self, asked: Asked, reference: Service) -> Answer:
        """Ask this service; keys of the reference are this one's."""
        if reference is self:
            return await self.wire.ask(asked)

        def own(value: bytes) -> bytes:
            text = value.decode("latin-1")
            for role in ROLES:
                text = text.replace(reference.keys[role], self.keys[role])
            return reference.renamed.translated(text, self.renamed).encode("latin-1")

        headers = [(name, own(value)) for name, value in asked.headers]
        return await self.wire.ask(
            Asked(asked.name, asked.method, own(asked.target), headers, own(asked.body), asked.chunked)
        )

    def outcome(self, answer: Answer) -> Json:
        """Return what is compared of an answer."""
        told = {
            name.decode(): answer.headers[name].decode("latin-1")
            for name in HEADERS
            if name in answer.headers
        }
        outcome: dict[str, Any] = {"status": answer.status, "headers": told}
        if "json" in told.get("content-type", "") and answer.status not in (204, 304):
            outcome["json"] = plain_json(answer.body.decode("utf-8", "replace"))
        elif "csv" in told.get("content-type", ""):
            outcome["csv"] = answer.body.decode("utf-8", "replace")
        if self.package == PACKAGES["reference"]:
            outcome = json.loads(mapped(json.dumps(outcome, ensure_ascii=False)))
        return self.renamed.all_in(outcome)


@contextlib.contextmanager
def services() -> Iterator[tuple[Service, Service]]:
    """Both services, each on a database of its own."""
    with tempfile.TemporaryDirectory(prefix="fairhold-net-") as folder:
        pair = []
        for who, package in PACKAGES.items():
            (place := Path(folder) / who).mkdir()
            pair.append(Service(package, place))
        reference, tree = pair
        try:
            reference.start()
            tree.start()
            yield reference, tree
        finally:
            for service in pair:
                service.stop()


class Round:
    """A state to ask about, and one request after another."""

    def __init__(self, reference: Service, tree: Service, name: str, asks: tuple[Rows, Rows]) -> None:
        self._reference, self._tree, self._asks = reference, tree, asks
        self._name = name
        self._alive = Alive()
        self.statuses: Counter[int] = Counter()
        # What the reference itself could not answer.
        self.faults: list[str] = []
        self.granted: Counter[str] = Counter()

    async def play(self, requests: int) -> None:
        """Furnish both, and ask so many requests. Raises Difference."""
        document = json.loads((await self._reference.wire.ask(Asked("", b"GET", b"/openapi.json"))).body)
        pages = [(path, path, False) for path in OTHERS]
        asking = Asking(document, pages, self._reference.keys, self._alive, Odd(7, 60))
        asking.operations = [it for it in asking.operations if not it[1].endswith(SKIPPED)]
        await self._furnish()
        for number in range(requests):
            dice = Random(f"{self._name} {number}")
            await self._both(self._next(asking, dice), f"request {number} of {self._name}")
            if number % 25 == 24:
                said = {"advance_s": dice.choice([1, 60, 700, 1_900, 40_000])}
                await self._post("/v1/clock", said)

    def _next(self, asking: Asking, dice: Random) -> Asked:
        while True:
            asked = asking.next(dice)
            path = asked.target.partition(b"?")[0].decode("latin-1")
            if not any(part in path for part in SKIPPED) and not asked.name.startswith("POST /console"):
                return asked

    async def _furnish(self) -> None:
        """A pool of each preset, with people in it."""
        for number, preset in enumerate(PRESETS):
            key = f"{preset}-{number}"
            quotas: list[Any] = [
                {"key": "main", "size": 2},
                {"key": "crew", "size": 1, "eligible": {"tag": "crew"}},
            ]
            if number == 4:
                quotas = [{"key": "main", "units": ["12A", "12B"]}]
            await self._post("/v1/pools", {"key": key, "preset": preset, "quotas": quotas})
            for name in ("ann", "bea", "cyd", "dee"):
                party = {"id": name, "name": name.title(), "contacts": {"email": f"{name}@example.org"}}
                said = {"party": party, "quota": "main", "as_staff": True, "confirmed": name == "ann"}
                await self._post(f"/v1/pools/{key}/bookings", said)
            await self._both(_plain("GET", f"/v1/pools/{key}/bookings", self._reference.keys), f"GET {key}")

    async def _post(self, path: str, body: Any) -> None:
        await self._both(_plain("POST", path, self._reference.keys, body), f"POST {path}")

    async def _both(self, asked: Asked, what: str) -> None:
        expected = await self._reference.ask(asked, self._reference)
        actual = await self._tree.ask(asked, self._reference)
        await self._settled()
        wanted, found = self._reference.outcome(expected), self._tree.outcome(actual)
        for _ in range(_AGAIN):
            if wanted == found or asked.method != b"GET":
                break
            # What goes on beside, as the sending of letters, may have come further in one than in the other.
            await asyncio.sleep(0.05)
            wanted = self._reference.outcome(await self._reference.ask(asked, self._reference))
            found = self._tree.outcome(await self._tree.ask(asked, self._reference))
        if wanted != found:
            told = "\n".join(differences(wanted, found))
            raise Difference(
                f"{what} ({asked.name})\n  {asked.as_curl(f'http://127.0.0.1:{self._tree.port}')}\n{told}"
            )
        self.statuses[expected.status] += 1
        if expected.status >= 500:
            self.faults.append(f"{expected.status}: {asked.as_curl('')}")
        if expected.status < 300:
            self.granted[asked.name] += 1
            if expected.kind == b"application/json":
                self._alive.hear(asked.target.decode("latin-1"), expected.body)

    async def _settled(self) -> None:
        """Wait until neither has anything to send: what letters bring about must have come about in both."""
        give_up_at = time.monotonic() + _SETTLE_S
        while time.monotonic() < give_up_at:
            found = [await ask(sql) for ask, sql in zip(self._asks, _queries(), strict=True)]
            if all(rows[0]["count"] == 0 for rows in found):
                return
            await asyncio.sleep(0.005)


# What is due by the latest instant that anything has happened at. The pools of one service have one clock.
_TO_SEND: Final = (
    "SELECT count(*) AS count FROM {outbox} WHERE state = 'pending' "
    "AND due_at <= (SELECT max(updated_at) FROM {pools})"
)


def _queries() -> list[str]:
    """Return the query for either tree: their tables may have other names."""
    trees = (TreeNames(REFERENCE_CHANGED), TreeNames(FAIRHOLD_CHANGED))
    named = ({table: names["tables"].theirs(table) for table in ("outbox", "pools")} for names in trees)
    return [_TO_SEND.format(**tables) for tables in named]


def _plain(method: str, path: str, keys: dict[str, str], body: Any = None) -> Asked:
    headers = [
        (b"Content-Type", b"application/json"),
        (b"Authorization", b"Bearer " + keys["admin"].encode()),
    ]
    raw = b"" if body is None else json.dumps(body).encode()
    return Asked(f"{method} {path}", method.encode(), path.encode(), headers, raw)


class Played(NamedTuple):
    """The outcome of some rounds: each status counted, what was granted, and faults of the reference."""

    statuses: Counter[int]
    granted: Counter[str]
    faults: list[str]


async def compare(first: int, rounds: int, requests: int) -> Played:
    """Play so many rounds, each on new services. Raises Difference."""
    done = Played(Counter(), Counter(), [])
    for number in range(first, first + rounds):
        with services() as (reference, tree):
            await reference.ready()
            await tree.ready()
            async with connected(reference.url) as one, connected(tree.url) as other:
                played = Round(reference, tree, f"round {number}", (one, other))
                await played.play(requests)
                done.statuses.update(played.statuses)
                done.granted.update(played.granted)
                done.faults.extend(played.faults)
    return done
