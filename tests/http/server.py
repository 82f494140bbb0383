"""The real service as a process on loopback, and what talks to it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2 as httpx

from fairhold import Fairhold
from fairhold.keys import ApiKey, Keys
from testbed.forked import Forked
from testbed.ports import free_port
from tests.own_thread import run_in_own_thread
from tests.patience import PATIENCE_S, wait_until

ROOT = Path(__file__).parent.parent.parent

# Which database is behind which port: so one sees which services were asked.
STARTED: dict[int, str] = {}


class Server:
    """One process of the service. Use it as a context."""

    def __init__(self, url: str, *flags: str, program: str = "fairhold", **environment: str) -> None:
        self.url = url
        self._program = program
        self.port = free_port()
        self.base = f"http://127.0.0.1:{self.port}"
        self._flags = flags
        # What has {port} in it means the port of this very server.
        self._environment = {
            name.upper(): value.replace("{port}", str(self.port)) for name, value in environment.items()
        }
        self._log = tempfile.NamedTemporaryFile("w+", prefix="fairhold-", suffix=".log")  # noqa: SIM115
        self.process: subprocess.Popen[bytes] | Forked | None = None

    def start(self, *, wait: bool = True) -> Server:
        """Start it as soon as can be; or, for who does not wait until it is ready, by the very command."""
        words = ["serve", "--port", str(self.port), "--database", self.url, *self._flags]
        environment = {**os.environ, **self._environment}
        STARTED[self.port] = self.url
        if wait and os.name != "nt":
            self.process = Forked(self._program, words, self._log.name, environment)
        else:
            command = [sys.executable, "-m", self._program, *words]
            self.process = subprocess.Popen(command, cwd=ROOT, stderr=self._log, env=environment)
        if wait:
            self.wait_until_ready()
        return self

    def wait_until_ready(self, status: int = 200) -> None:
        def ready() -> bool:
            assert self.process is not None
            assert self.process.poll() is None, self.log()
            with contextlib.suppress(httpx.TransportError):
                return client.get("/readyz").status_code == status
            return False

        with self.client() as client:
            wait_until(ready)

    def stop(self) -> int:
        """Ask it to stop; its exit code."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE_S)

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait(PATIENCE_S)

    def log(self, until: str = "") -> str:
        """All it has logged, once that has this in it: a line is written just after its answer."""
        path = Path(self._log.name)
        wait_until(lambda: until in path.read_text())
        return path.read_text()

    def __enter__(self) -> Server:
        return self if self.process is not None else self.start()

    def __exit__(self, *exc: object) -> None:
        if self.process is not None and self.process.poll() is None:
            self.kill()
        self._log.close()

    def client(self, key: str | None = None, **options: Any) -> Client:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        return Client(base_url=self.base, headers=headers, **options)


class Plain(httpx.Client):
    """A patient client without TLS: to read the certificates of the world takes longer than many a test."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"verify": False, "timeout": PATIENCE_S, **options})


class Client(Plain):
    """Asks the service, and says in one word what should come."""

    def ask(self, method: str, path: str, json: Any = None, *, expect: int = 200, **options: Any) -> Any:
        given = {"json": json} if json is not None else {}
        answer = self.request(method, path, **given, **options)
        assert answer.status_code == expect, f"{answer.status_code} {answer.text}"
        return answer.json() if answer.content else None

    def pool(self, key: str, size: int | None = 1, preset: str = "class_waitlist", **fields: Any) -> Any:
        body = {"key": key, "preset": preset, "quotas": [{"key": "main", "size": size}], **fields}
        return self.ask("POST", "/v1/pools", body, expect=201)

    def book(self, pool: str, party: Any, expect: int = 201, **fields: Any) -> Any:
        return self.ask("POST", f"/v1/pools/{pool}/bookings", {"party": party, **fields}, expect=expect)

    def booking(self, name: str) -> Any:
        return self.ask("GET", f"/v1/bookings/{name}")

    def act(self, booking: str, act: str, json: Any = None, expect: int = 200) -> Any:
        return self.ask("POST", f"/v1/bookings/{booking}/{act}", json, expect=expect)

    def advance(self, seconds: int) -> None:
        self.ask("POST", "/v1/clock", {"advance_s": seconds})


def make_key(url: str, role: str = "admin", org: str = "default", name: str = "tests") -> str:
    """A new key, made as the command line makes it."""

    async def make() -> ApiKey:
        async with Fairhold.open(url, ticker=False) as hf:
            made = await Keys(hf.store, hf.clock, hf.secret).create(org, role, name)
            assert isinstance(made, ApiKey)
            return made

    secret = run_in_own_thread(make).secret
    assert secret is not None
    return secret


@contextlib.contextmanager
def serving(url: str, *flags: str, program: str = "fairhold", **environment: str) -> Iterator[Server]:
    with Server(url, *flags, program=program, **environment) as server:
        yield server
