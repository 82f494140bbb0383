"""Many who listen, as a process of its own: `python -m bench.http.listening` opens so many streams, makes a
change now and then, and tells as JSON when it had come to each of them, and what that cost the service.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import sys
from time import perf_counter
from typing import Any

from bench.http.processes import cpu_s, memory_mb
from bench.measure import percentile
from fairhold.http.serve import open_as_many_as_may_be

_AT_ONCE = 200
_PATIENCE_S = 120.0


class Crowd:
    """All who listen, and how far the change of the moment has come among them."""

    def __init__(self) -> None:
        self.open = 0
        self.refused = 0
        self.lost = 0
        self.change = 0
        self.changed_at = 0.0
        self.waits: list[float] = []
        self.left = 0
        self.all_have_it = asyncio.Event()

    def began(self) -> None:
        self.change += 1
        self.changed_at = perf_counter()
        self.left = self.open
        self.all_have_it.clear()

    def came(self) -> None:
        self.waits.append(perf_counter() - self.changed_at)
        self.left -= 1
        if not self.left:
            self.all_have_it.set()


class Listener(asyncio.Protocol):
    """One stream; looks for nothing but whether there is news."""

    __slots__ = ("_crowd", "_request", "_seen", "_status", "ready", "transport")

    def __init__(self, crowd: Crowd, request: bytes) -> None:
        self._crowd = crowd
        self._request = request
        self._seen = 0
        self._status = b""
        self.transport: Any = None
        self.ready: asyncio.Future[None] | None = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        transport.write(self._request)

    def connection_lost(self, error: Exception | None) -> None:
        if self.ready is not None:
            self._begun()
        elif self._status == b"200":
            self._crowd.lost += 1

    def data_received(self, data: bytes) -> None:
        if self.ready is not None:
            # Pages say at first what is seen; that is no news.
            self._status = self._status or data[9:12]
            if self._status != b"200" or b"event: " in data:
                self._begun()
        elif self._seen != self._crowd.change and b"event: " in data:
            self._seen = self._crowd.change
            self._crowd.came()

    def _begun(self) -> None:
        assert self.ready is not None
        self.ready.set_result(None)
        self.ready = None
        self._crowd.open += self._status == b"200"
        self._crowd.refused += self._status != b"200"


async def _open(crowd: Crowd, port: int, head: str, number: int) -> list[Listener]:
    loop, listeners = asyncio.get_running_loop(), []
    for start in range(0, number, _AT_ONCE):
        some = [Listener(crowd, head.encode()) for _ in range(start, min(start + _AT_ONCE, number))]
        ready = [it.ready for it in some if it.ready is not None]
        for it in some:
            await loop.create_connection(lambda it=it: it, "127.0.0.1", port)  # type: ignore[misc]
        await asyncio.wait_for(asyncio.gather(*ready), _PATIENCE_S)
        listeners += some
    return listeners


async def _change(port: int, pool: str, key: str, number: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    body = json.dumps({"party": f"p-{number}"})
    writer.write(
        f"POST /v1/pools/{pool}/bookings HTTP/1.1\r\nhost: fairhold\r\nauthorization: Bearer {key}\r\n"
        f"content-type: application/json\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n"
        f"{body}".encode()
    )
    answer = await reader.read()
    writer.close()
    if answer[9:12] != b"201":
        raise RuntimeError(f"the change was answered with {answer!r}")


async def main() -> None:
    arguments = argparse.ArgumentParser(prog="bench.http.listening", description=__doc__)
    arguments.add_argument("--port", type=int, required=True)
    arguments.add_argument("--pid", type=int, required=True, help="the service, to see what it costs")
    arguments.add_argument("--path", default="/v1/stream")
    arguments.add_argument("--pool", required=True)
    arguments.add_argument("--key", required=True)
    arguments.add_argument("--listeners", type=int, default=1_000)
    arguments.add_argument("--changes", type=int, default=10)
    arguments.add_argument("--every-s", type=float, default=1.0)
    chosen = arguments.parse_args()
    gc.disable()
    open_as_many_as_may_be()
    crowd, loop = Crowd(), asyncio.get_running_loop()
    head = f"GET {chosen.path} HTTP/1.1\r\nhost: fairhold\r\n"
    if chosen.path.startswith("/v1/"):
        head += f"authorization: Bearer {chosen.key}\r\n"
    memory_before, cpu_before = memory_mb(chosen.pid), cpu_s(chosen.pid)
    listeners = await _open(crowd, chosen.port, head + "\r\n", chosen.listeners)
    opening_s = cpu_s(chosen.pid) - cpu_before
    memory_open, cpu_before = memory_mb(chosen.pid), cpu_s(chosen.pid)
    last: list[float] = []
    for number in range(chosen.changes):
        next_at = loop.time() + chosen.every_s
        crowd.began()
        await _change(chosen.port, chosen.pool, chosen.key, number)
        await asyncio.wait_for(crowd.all_have_it.wait(), _PATIENCE_S)
        last.append(perf_counter() - crowd.changed_at)
        await asyncio.sleep(max(0.0, next_at - loop.time()))
    waits = sorted(crowd.waits)
    told = {
        "open": crowd.open,
        "refused": crowd.refused,
        "lost": crowd.lost,
        "changes": chosen.changes,
        "seconds": sum(last),
        "p50_ms": 1000 * percentile(waits, 0.50),
        "p99_ms": 1000 * percentile(waits, 0.99),
        "last_p50_ms": 1000 * percentile(sorted(last), 0.50),
        "last_p99_ms": 1000 * percentile(sorted(last), 0.99),
        "cpu_us_each": 1e6 * (cpu_s(chosen.pid) - cpu_before) / max(1, len(waits)),
        "opening_us_each": 1e6 * opening_s / max(1, crowd.open),
        "memory_before_mb": memory_before,
        "memory_open_mb": memory_open,
        "memory_mb": memory_mb(chosen.pid),
    }
    print(json.dumps(told), flush=True)
    for it in listeners:
        it.transport.close()


if __name__ == "__main__":
    import uvloop

    sys.exit(uvloop.run(main()))
