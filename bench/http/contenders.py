"""The services under measurement, each a process of its own; all of them stand ready while one is asked."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from fairhold import Fairhold
from fairhold.keys import ApiKey, Keys
from testbed.ports import free_port

_PATIENCE_S = 60.0
_standing: set[int] = set()


@dataclass(slots=True)
class Contender:
    """A service that runs; `key` lets one in, where one is asked for."""

    ports: list[int]
    pids: list[int]
    key: str = ""
    database: str = ""

    @property
    def headers(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.key}"} if self.key else {}

    def memory_mb(self) -> float:
        """The most that any of its processes has ever had in memory."""
        peaks = [re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{pid}/status").read_text()) for pid in self.pids]
        return max(int(found[1]) / 1024 for found in peaks if found)


def only(asked: Contender) -> None:
    """While one is asked the others stand still: they may have letters left to send."""
    for pid in _standing:
        os.kill(pid, signal.SIGCONT if pid in asked.pids else signal.SIGSTOP)


@asynccontextmanager
async def running(*command: str, port: int, others: int = 0, **environment: str) -> AsyncIterator[int]:
    """A service as a process, beside others at its port; its number. It is asked to end, and waited for."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, *command, env=os.environ | environment, stderr=asyncio.subprocess.DEVNULL
    )
    try:
        await _answers(port, process, others)
        _standing.add(process.pid)
        yield process.pid
    finally:
        _standing.discard(process.pid)
        if process.returncode is None:
            process.send_signal(signal.SIGCONT)
            process.terminate()
        await process.wait()


def _listening_at(port: int) -> int:
    """How many listen there."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return sum(row[1].endswith(f":{port:04X}") and row[3] == "0A" for row in rows)


async def _answers(port: int, process: asyncio.subprocess.Process, others: int) -> None:
    give_up_at = asyncio.get_running_loop().time() + _PATIENCE_S
    while asyncio.get_running_loop().time() < give_up_at:
        if process.returncode is not None:
            raise RuntimeError(f"the service ended with {process.returncode}")
        if others and _listening_at(port) <= others:
            await asyncio.sleep(0.05)
            continue
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            await asyncio.sleep(0.05)
            continue
        writer.write(b"GET /readyz HTTP/1.1\r\nhost: fairhold\r\nconnection: close\r\n\r\n")
        status = (await reader.readline())[9:12]
        writer.close()
        if status in (b"200", b"404"):
            return
        await asyncio.sleep(0.05)
    raise TimeoutError("the service did not come up")


@asynccontextmanager
async def usual(design: str, database: str = "", in_queue: int = 0) -> AsyncIterator[Contender]:
    """One of the usual designs, or the framework alone."""
    port = free_port()
    flags = ["--port", str(port), "--database", database, "--in-queue", str(in_queue)]
    async with running("-m", "bench.http.usual", design, *flags, port=port) as pid:
        yield Contender([port], [pid])


@asynccontextmanager
async def fairhold(
    database: str | None = None, processes: int = 1, one_port: bool = True, **environment: str
) -> AsyncIterator[Contender]:
    """Our service as it is delivered: with its access log, its limits, its outbox.

    Several processes on PostgreSQL are behind one port, unless each is to have its own.
    """
    async with AsyncExitStack() as stack:
        folder = stack.enter_context(TemporaryDirectory(prefix="fairhold-bench-"))
        url = database or f"sqlite:///{folder}/bench.db"
        async with Fairhold.open(url, ticker=False) as hf:
            made = await Keys(hf.store, hf.clock, hf.secret).create("default", "admin", "bench")
            assert isinstance(made, ApiKey)
            assert made.secret is not None
        contender = Contender([], [], made.secret, url)
        shared = one_port and processes > 1 and bool(database)
        for number in range(processes):
            port = contender.ports[0] if shared and number else free_port()
            flags = ["-m", "fairhold", "serve", "--port", str(port), "--database", url]
            flags += ["--share-port"] if shared else []
            one = running(*flags, port=port, others=number if shared else 0, **environment)
            contender.pids.append(await stack.enter_async_context(one))
            contender.ports += [port] if port not in contender.ports else []
        yield contender
