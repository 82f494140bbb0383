"""The nodes of Fairhold: `fairhold serve`, each a process that can be frozen and killed."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx2

from drills.ha.cluster import Stuck, until
from testbed.ports import free_port

_TOLD = re.compile(r"message (\S+) \((\w+)\) was not sent")


class Node:
    def __init__(self, name: str, url: str, directory: Path) -> None:
        self.name = name
        self.port = free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        # When it was away, from and to: only then may a connection fail.
        self.away: list[tuple[float, float]] = []
        self._url = url
        self._log = directory / f"{name}.log"
        self._process: subprocess.Popen[bytes] | None = None

    async def start(self, web: httpx2.AsyncClient) -> None:
        command = [sys.executable, "-m", "drills.ha.stacks", str(self._log.with_suffix(".stacks"))]
        command += ["serve", "--port", str(self.port)]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                command, stdout=log, stderr=log, start_new_session=True, env=environment(self._url)
            )

        async def is_ready() -> bool:
            try:
                return (await web.get(f"{self.address}/readyz")).status_code == 200
            except httpx2.HTTPError:
                return False

        await until(is_ready, f"an answer of {self.name}")
        if self.away:
            self.away[-1] = (self.away[-1][0], time.monotonic())

    def kill(self) -> None:
        assert self._process is not None
        self.away.append((time.monotonic(), float("inf")))
        self._process.kill()
        self._process.wait()

    def freeze(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def must_run(self) -> None:
        """Raises Stuck if it has ended, though nobody here has ended it."""
        if self._process is not None and (code := self._process.poll()) is not None:
            raise Stuck(f"{self.name} has ended by itself, with {code}")

    def ask_for_stacks(self) -> None:
        """It writes down what it is doing, beside its log."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGUSR1)

    async def end(self) -> None:
        if self._process is None or self._process.poll() is not None:
            return
        self.thaw()
        self._process.terminate()
        give_up_at = time.monotonic() + 20
        while self._process.poll() is None:
            # It still talks with its database, over our wires.
            await asyncio.sleep(0.05)
            if time.monotonic() > give_up_at:
                self._process.kill()

    def was_away(self, begun: float, ended: float) -> bool:
        return any(begun <= back and ended >= gone for gone, back in self.away)

    def told(self) -> set[tuple[str, str]]:
        """The id and kind of every message that it handed to its notifier, which is the log."""
        return set(_TOLD.findall(self._log.read_text(errors="replace")))

    def faults(self) -> list[str]:
        """What it says went wrong with itself."""
        found = []
        for line in self._log.read_text(errors="replace").splitlines():
            try:
                said = json.loads(line)
            except ValueError:
                found.append(f"{self.name} wrote no line of its log: {line[:200]}")
                continue
            # That a commit's outcome stays unknown is an error of the world; its clients are told so.
            if said["level"] == "error" and "stays unknown" not in said["message"]:
                trace = said.get("trace", said.get("error", "")).strip().splitlines()[-1:]
                found.append(f"{self.name} says: {said['message']} {' '.join(trace)}")
        return found


def environment(url: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("FAIRHOLD_")}
    return kept | {"FAIRHOLD_DATABASE_URL": url, "FAIRHOLD_SECRET": "a secret of the drill, long enough"}


async def run_fairhold(url: str, *words: str) -> tuple[int, str]:
    """A command of `fairhold`, to its end: its exit code, and what it said."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "fairhold",
        *words,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env=environment(url),
    )
    said, _ = await process.communicate()
    return process.returncode or 0, said.decode()


async def create_key(url: str) -> str:
    code, said = await run_fairhold(url, "key", "create", "--role", "admin", "--name", "drill")
    if code:
        raise Stuck(f"no key was made: {said}")
    return said.split()[-1]
