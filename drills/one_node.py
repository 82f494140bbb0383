"""One node of the real service as a process on loopback, with a mail server beside it.

with node("sqlite") as it:
    it.base, it.key("admin"), it.rss()
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
from aiosmtpd.controller import Controller

from fairhold import Fairhold
from fairhold.accounts.members import Members
from fairhold.accounts.passwords import Passwords
from fairhold.keys import ApiKey, Keys
from testbed.ports import free_port
from testbed.postgres import TemporaryPostgres, fresh_database

PATIENCE_S = STOP_S = 60.0
# To write down where its threads stand takes a moment.
ABORT_S = 10.0
PASSWORD = "correct horse battery"
MEMBERS = (("olga", "admin"), ("sam", "staff"), ("rita", "read"))
# The limits against floods would answer instead of what is behind them.
UNLIMITED = {
    "FAIRHOLD_RATE_PER_KEY": "0",
    "FAIRHOLD_RATE_PER_ADDRESS": "0",
    "FAIRHOLD_HOLDS_PER_ADDRESS_MAX": "0",
    "FAIRHOLD_HOLDS_PER_PARTY_MAX": "0",
}


class Sink:
    """Takes all mail, and counts it."""

    def __init__(self) -> None:
        self.letters = 0
        self.port = free_port()

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:  # noqa: N802
        self.letters += 1
        return "250 OK"


class Node:
    """The process, its database and what is known of them."""

    def __init__(self, url: str, log: Path, *flags: str, **environment: str) -> None:
        self.url, self.log_path = url, log
        self.port = free_port()
        self.base = f"http://127.0.0.1:{self.port}"
        self._command = [sys.executable, "-m", "fairhold", "serve", "--port", str(self.port)]
        self._command += ["--database", url, *flags]
        # Should it have to be ended, its log tells where each thread stood.
        told = {"PYTHONFAULTHANDLER": "1", "FAIRHOLD_BASE_URL": self.base}
        self._environment = {**os.environ, **told, **environment}
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self.log_path.open("ab") as log:
            self._process = subprocess.Popen(self._command, stderr=log, env=self._environment)
        give_up_at = time.monotonic() + PATIENCE_S
        while not self.is_ready():
            if self._process.poll() is not None or time.monotonic() > give_up_at:
                raise RuntimeError(f"the service did not start:\n{self.log()[-3000:]}")
            time.sleep(0.05)

    @property
    def process(self) -> psutil.Process:
        assert self._process is not None
        return psutil.Process(self._process.pid)

    def is_ready(self) -> bool:
        with suppress(OSError), urllib.request.urlopen(f"{self.base}/readyz", timeout=5) as answer:
            return bool(answer.status == 200)
        return False

    def is_alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def rss(self) -> int:
        return int(self.process.memory_info().rss)

    def cpu_s(self) -> float:
        times = self.process.cpu_times()
        return float(times.user + times.system)

    def log(self) -> str:
        return self.log_path.read_text(encoding="utf-8", errors="replace")

    def stop(self) -> int:
        """Ask it to stop; its exit code. One that does not is ended, and its log says where it hung."""
        assert self._process is not None
        for ending, patience_s in ((signal.SIGTERM, STOP_S), (signal.SIGABRT, ABORT_S)):
            self._process.send_signal(ending)
            with suppress(subprocess.TimeoutExpired):
                return self._process.wait(patience_s)
        self._process.kill()
        return self._process.wait()

    def verify(self) -> tuple[int, str]:
        """What `fairhold verify` says of the database."""
        command = [sys.executable, "-m", "fairhold", "verify", "--database", self.url]
        done = subprocess.run(command, capture_output=True, text=True)
        return done.returncode, (done.stdout + done.stderr).strip()


def make_keys(url: str) -> dict[str, str]:
    """A key of each role, made as the command line makes them, and the members who can sign in."""

    async def make() -> dict[str, str]:
        made: dict[str, str] = {}
        async with Fairhold.open(url, ticker=False) as hf:
            keys, members = Keys(hf.store, hf.clock, hf.secret), Members(hf.store, hf.clock, hf.secret)
            for role in ("admin", "staff", "read", "public"):
                key = await keys.create("default", role, f"the {role}")
                assert isinstance(key, ApiKey)
                assert key.secret is not None
                made[role] = key.secret
            for name, role in MEMBERS:
                email = f"{name}@example.org"
                await members.add("default", email, name.title(), role)
                await members.set_password("default", email, PASSWORD, Passwords())
        return made

    return asyncio.run(make())


def end_when_told() -> None:
    """Have SIGTERM end a drill as Ctrl-C does, so that what it has started is stopped."""

    def end(*_: object) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)


@contextmanager
def node(
    store: str, *flags: str, url: str = "", **environment: str
) -> Iterator[tuple[Node, Sink, dict[str, str]]]:
    """A running service on a database of its own, or this one; where its mail goes, and its keys by role."""
    with ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="fairhold-drill-")))
        if store == "postgres" and not url:
            server = stack.enter_context(TemporaryPostgres(durable=True))
            url = stack.enter_context(fresh_database(server.url))
        elif not url:
            url = f"sqlite:///{place / 'fairhold.db'}"
        sink = Sink()
        mail = Controller(sink, hostname="127.0.0.1", port=sink.port)
        mail.start()
        stack.callback(mail.stop)
        mailing = {
            "FAIRHOLD_SMTP_URL": f"smtp://127.0.0.1:{sink.port}?tls=none",
            "FAIRHOLD_MAIL_FROM": "Seats <seats@example.org>",
            "FAIRHOLD_WEBHOOKS_TO_PRIVATE": "1",
        }
        it = Node(url, place / "service.log", *flags, **UNLIMITED, **mailing, **environment)
        it.start()
        stack.callback(lambda: it.stop() if it.is_alive() else None)
        yield it, sink, make_keys(url)
