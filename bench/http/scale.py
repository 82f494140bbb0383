"""Scale out: one, two and four processes on one PostgreSQL, with and without routing by pool; what limits."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass

from bench.http import contenders
from bench.http.asking import Ask, Order
from bench.http.contenders import Contender
from bench.http.parts import PLAIN, Bench
from bench.http.processes import Spent
from bench.measure import Figure, Run, interleaved, runs_table
from fairhold import Fairhold, granted

# So many that each of four processes still has enough to gather.
_CLIENTS = 256
POOLS = [f"pool-{n}" for n in range(64)]
WAYS = {
    "one hot pool": "all at one pool",
    "64 pools, any process": "64 pools, each asked for at any process",
    "64 pools, routed": "64 pools, each asked for at one process",
}


@dataclass(slots=True)
class Cost:
    """What requests have cost on the processors, by whom."""

    requests: int = 0
    service_s: float = 0.0
    database_s: float = 0.0
    client_s: float = 0.0

    def each_us(self) -> tuple[float, float, float]:
        found = (self.service_s, self.database_s, self.client_s)
        service, database, client = (1e6 * seconds / max(1, self.requests) for seconds in found)
        return service, database, client


def orders(way: str, of: Contender, seconds: float) -> list[Order]:
    """Who asks what of which process. Routed, each process has clients and pools of its own."""
    ask = Ask("POST", "/v1/pools/{item}/bookings", PLAIN, "k-{n}", of.headers)
    if way == "64 pools, routed":
        number = len(of.ports)
        return [
            Order(ask, [port], _CLIENTS // number, seconds, items=POOLS[at::number])
            for at, port in enumerate(of.ports)
        ]
    pools = ["hot"] if way == "one hot pool" else POOLS
    return [Order(ask, of.ports, _CLIENTS, seconds, items=pools)]


def together(runs: list[Run]) -> Run:
    """Runs at the same time as one."""
    operations = sum(run.operations for run in runs)
    p50_ms = sum(run.p50_ms * run.operations for run in runs) / max(1, operations)
    return Run(operations, max(run.seconds for run in runs), p50_ms, max(run.p99_ms for run in runs))


async def scale_out(bench: Bench) -> list[Figure]:
    """Bookings by 256 clients, at one pool and over 64, with one, two and four processes."""
    if bench.store != "PostgreSQL":
        return []
    costs: dict[str, Cost] = {}
    asks: dict[str, Callable[[], Awaitable[Run]]] = {}
    async with AsyncExitStack() as stack:
        for processes in (1, 2, 4):
            url = bench.fresh()
            ours = await stack.enter_async_context(
                contenders.fairhold(url, processes=processes, one_port=False)
            )
            async with Fairhold.open(url, ticker=False) as hf:
                for pool in ["hot", *POOLS]:
                    granted(await hf.create_pool(pool, preset="checkout", quotas={"main": 10_000_000}))
            for way in WAYS:
                name = f"{way}: {processes} process{'es' if processes > 1 else ''}"
                costs[name] = Cost()
                asks[name] = _asked(bench, ours, way, costs[name])
        runs = await interleaved(asks, bench.repeats)
    bench.say(f"{bench.store}, scale out\n{runs_table(runs)}\n")
    bench.kept |= runs
    return _told(bench, runs, costs)


def _asked(bench: Bench, ours: Contender, way: str, cost: Cost) -> Callable[[], Awaitable[Run]]:
    async def run() -> Run:
        contenders.only(ours)
        with (
            Spent(ours.pids) as service,
            Spent(bench.database_pids()) as database,
            Spent([bench.generator.pid]) as client,
        ):
            outcomes = await bench.generator.run(*orders(way, ours, bench.seconds))
        found = together([outcome.all_were(201).run for outcome in outcomes])
        cost.requests += found.operations
        cost.service_s += service.seconds
        cost.database_s += database.seconds
        cost.client_s += client.seconds
        bench.note(ours)
        return found

    return run


def _told(bench: Bench, runs: Mapping[str, Run], costs: Mapping[str, Cost]) -> list[Figure]:
    lines = [
        "### Scale out: what a booking costs on the processors",
        "",
        "| µs | service | PostgreSQL | client | two cores can do at most |",
        "|---|--:|--:|--:|--:|",
    ]
    for name, cost in costs.items():
        each = cost.each_us()
        cells = " | ".join(f"{us:.0f}" for us in each)
        lines.append(f"| {name} | {cells} | {2e6 / max(1.0, sum(each)):,.0f} a second |")
    bench.say("\n".join(lines) + "\n")
    bench.notes.append("\n".join(lines))
    return [
        Figure(
            bench.name(f"{words}, {processes} processes against one"),
            runs[f"{way}: {processes} processes"].per_s / runs[f"{way}: 1 process"].per_s,
            "×",
        )
        for way, words in WAYS.items()
        for processes in (2, 4)
    ]
