"""One process of the service, to be killed and started again."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx2 as httpx

from testbed.ports import free_port

# Only a fault outlasts this.
PATIENCE_S = 300.0
PAUSE_S = 0.02


class Node:
    """`fairhold serve` at a port of its own. `module` is what is run in its place, for a control."""

    def __init__(self, url: str, folder: Path, environment: dict[str, str]) -> None:
        self.port = free_port()
        self.base = f"http://127.0.0.1:{self.port}"
        self.log = folder / f"node-{self.port}.log"
        self._url = url
        self._environment = {**os.environ, **environment}
        if self._environment.pop("PYTHONDONTWRITEBYTECODE", None):
            # Whoever starts again and again would rather not compile each time.
            self._environment["PYTHONPYCACHEPREFIX"] = str(folder / "bytecode")
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def up(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self, *flags: str, module: str = "fairhold") -> None:
        command = [sys.executable, "-m", module, "serve", "--port", str(self.port), "--database", self._url]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [*command, *flags], stdout=log, stderr=log, env=self._environment
            )

    def kill9(self) -> None:
        """No farewell: what it had not committed never happened."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    async def ready(self, client: httpx.AsyncClient) -> None:
        """Waits until it serves."""

        async def serves() -> bool:
            assert self.up, f"the service ended by itself:\n{self.log.read_text()[-3_000:]}"
            with suppress(httpx.TransportError):
                return (await client.get(f"{self.base}/readyz")).status_code == 200
            return False

        await until(serves)


async def until(fact: Any, patience_s: float = PATIENCE_S) -> None:
    """Waits for the very fact."""
    loop = asyncio.get_running_loop()
    give_up_at = loop.time() + patience_s
    while not await fact():
        assert loop.time() < give_up_at, f"it never came true: {fact}"
        await asyncio.sleep(PAUSE_S)
