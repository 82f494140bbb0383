"""Many who listen: how soon the last of them hears of a change, and what each costs the service."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from bench.http import contenders
from bench.http.contenders import Contender
from bench.http.parts import Bench
from bench.measure import Figure, Run
from fairhold import Fairhold, granted

_NO_LIMITS = dict.fromkeys(
    (
        "FAIRHOLD_STREAMS_MAX",
        "FAIRHOLD_PAGE_STREAMS_MAX",
        "FAIRHOLD_PAGE_STREAMS_PER_ADDRESS_MAX",
        "FAIRHOLD_BURST_PER_ADDRESS",
    ),
    "1000000",
)
PATHS = {"the stream of an org": "/v1/stream", "the page of an event": "/p/event/stream"}


async def listeners(bench: Bench) -> list[Figure]:
    """All listen to one service while somebody books now and then."""
    number, changes = (10_000, 20) if bench.seconds > 1.0 else (1_000, 5)
    figures: list[Figure] = []
    lines = [
        f"### {number:,} listeners at one process",
        "",
        "| | open | p50 ms | p99 ms | last p50 ms | last p99 ms | µs each | MB before, open, end | KB each |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for what, path in PATHS.items():
        async with contenders.fairhold(bench.fresh(), **_NO_LIMITS) as ours:
            async with Fairhold.open(ours.database, ticker=False) as hf:
                granted(await hf.create_pool("event", preset="checkout", quotas={"main": 1_000_000}))
            told = await _listened(ours, path, number, changes)
            peak_mb = ours.memory_mb()
        if told["lost"] or told["refused"]:
            raise RuntimeError(f"listeners were refused or lost: {told}")
        each_kb = 1024 * (told["memory_open_mb"] - told["memory_before_mb"]) / told["open"]
        memory = "{memory_before_mb:.0f}, {memory_open_mb:.0f}, {memory_mb:.0f}".format(**told)
        cells = "{open:,} | {p50_ms:,.0f} | {p99_ms:,.0f} | {last_p50_ms:,.0f} | {last_p99_ms:,.0f}".format(
            **told
        )
        lines.append(f"| {what} | {cells} | {told['cpu_us_each']:.0f} | {memory} | {each_kb:.1f} |")
        deliveries = told["open"] * told["changes"]
        bench.kept[f"{told['open']:,} listeners, {what}"] = Run(
            deliveries, told["seconds"], told["p50_ms"], told["p99_ms"]
        )
        name = f"{told['open']:,} who listen to {what}"
        figures.append(
            Figure(bench.name(f"{name}: until the last has a change, p50"), told["last_p50_ms"], "ms")
        )
        figures.append(
            Figure(bench.name(f"{name}: processor of the service for each told"), told["cpu_us_each"], "µs")
        )
        figures.append(Figure.at_most(bench.name(f"{name}: memory of the service"), peak_mb, "MB", 200.0))
    bench.say(f"{bench.store}\n" + "\n".join(lines) + "\n")
    bench.notes.append("\n".join(lines))
    return figures


async def _listened(ours: Contender, path: str, number: int, changes: int) -> dict[str, Any]:
    flags = ["--port", ours.ports[0], "--pid", ours.pids[0], "--path", path, "--pool", "event"]
    flags += ["--key", ours.key, "--listeners", number, "--changes", changes]
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bench.http.listening", *map(str, flags), stdout=asyncio.subprocess.PIPE
    )
    told, _ = await process.communicate()
    if process.returncode:
        raise RuntimeError("those who listen have failed")
    found: dict[str, Any] = json.loads(told)
    return found
