"""The load generator: `python -m bench.http.load` carries out orders that come in on its standard input.

A line is a list of orders to be carried out at the same time; a line is answered with what came of each.
"""

from __future__ import annotations

import asyncio
import gc
import json
import sys
from dataclasses import asdict
from typing import Any

from bench.http.asking import Ask, Desk, Order
from bench.measure import Run, percentile


class Generator:
    """The load generator as the bench talks to it."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @classmethod
    async def start(cls) -> Generator:
        pipe = asyncio.subprocess.PIPE
        return cls(
            await asyncio.create_subprocess_exec(
                sys.executable, "-m", "bench.http.load", stdin=pipe, stdout=pipe, limit=2**30
            )
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    async def run(self, *orders: Order) -> list[Outcome]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([asdict(order) for order in orders]).encode() + b"\n")
        await self._process.stdin.drain()
        line = await self._process.stdout.readline()
        if not line:
            raise RuntimeError("the load generator has ended")
        return [Outcome(**found) for found in json.loads(line)]

    async def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        await self._process.wait()


class Outcome:
    """What came of one order."""

    def __init__(
        self,
        operations: int,
        seconds: float,
        p50: float,
        p99: float,
        statuses: dict[str, int],
        ids: list[str],
    ) -> None:
        self.run = Run(operations, seconds, p50, p99)
        self.statuses = {int(status): number for status, number in statuses.items()}
        self.ids = ids

    def all_were(self, *statuses: int) -> Outcome:
        if not set(self.statuses) <= set(statuses):
            raise RuntimeError(f"answered with {self.statuses}, not only with {statuses}")
        return self


def _told(desk: Desk) -> dict[str, Any]:
    tally = desk.tally
    ordered = sorted(tally.latencies) or [0.0]
    return {
        "operations": len(tally.latencies),
        "seconds": tally.seconds,
        "p50": 1000 * percentile(ordered, 0.50),
        "p99": 1000 * percentile(ordered, 0.99),
        "statuses": tally.statuses,
        "ids": tally.ids,
    }


async def main() -> None:
    gc.disable()
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        desks = [Desk(Order(**{**order, "ask": Ask(**order["ask"])})) for order in json.loads(line)]
        await asyncio.gather(*(desk.carry_out() for desk in desks))
        print(json.dumps([_told(desk) for desk in desks]), flush=True)


if __name__ == "__main__":
    import uvloop

    uvloop.run(main())
