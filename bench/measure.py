"""Tools to measure with: callers that keep asking, medians of interleaved repeats, and a table of figures."""

import asyncio
import os
import statistics
import tempfile
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Self

Operation = Callable[[int], Awaitable[object]]
"""One command of one caller; the argument is the caller's number, from 0."""


@dataclass(frozen=True, slots=True)
class Run:
    """What came of one run of callers; latencies are from asking to being answered."""

    operations: int
    seconds: float
    p50_ms: float
    p99_ms: float

    @property
    def per_s(self) -> float:
        return self.operations / self.seconds

    @property
    def mean_ms(self) -> float:
        """Wall time per operation; with one caller, the cost of one."""
        return 1000 * self.seconds / self.operations


async def run_callers(
    operation: Operation, callers: int, *, seconds: float | None = None, operations: int | None = None
) -> Run:
    """Let `callers` tasks ask, each again once it is answered, for so long or so many operations in all.

    Operations begun before the end are finished and counted, and so is the time they took.
    """
    if (seconds is None) == (operations is None):
        raise ValueError("say either seconds or operations")
    latencies: list[float] = []
    left = operations
    began = perf_counter()
    ends = began + seconds if seconds is not None else float("inf")

    async def ask_on(caller: int) -> None:
        nonlocal left
        while (asked := perf_counter()) < ends:
            if left is not None:
                if left == 0:
                    return
                left -= 1
            await operation(caller)
            latencies.append(perf_counter() - asked)

    async with asyncio.TaskGroup() as tasks:
        for caller in range(callers):
            tasks.create_task(ask_on(caller))
    return summary(latencies, perf_counter() - began)


def summary(latencies: Sequence[float], seconds: float | None = None) -> Run:
    """The run these latencies, in seconds, tell of; by default one caller's, who asked without a pause."""
    ordered = sorted(latencies)
    elapsed = sum(ordered) if seconds is None else seconds
    return Run(len(ordered), elapsed, 1000 * percentile(ordered, 0.50), 1000 * percentile(ordered, 0.99))


def for_seconds(operation: Operation, callers: int, seconds: float) -> Callable[[], Awaitable[Run]]:
    """A run to be repeated, as `interleaved` wants it."""
    return lambda: run_callers(operation, callers, seconds=seconds)


def percentile(ordered: Sequence[float], share: float) -> float:
    """The value that `share` of the ordered values do not exceed."""
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


async def interleaved(
    contenders: Mapping[str, Callable[[], Awaitable[Run]]], repeats: int = 5
) -> dict[str, Run]:
    """Run all contenders in turn, `repeats` times over, and keep the median run (by rate) of each.

    Taking turns lets a noisy minute of the machine fall on everyone alike.
    """
    runs: dict[str, list[Run]] = {name: [] for name in contenders}
    for _ in range(repeats):
        for name, contender in contenders.items():
            runs[name].append(await contender())
    return {name: median_run(each) for name, each in runs.items()}


def median_run(runs: Sequence[Run]) -> Run:
    """The run whose rate is the median; of an even number, the slower of the middle two."""
    rate = statistics.median_low([run.per_s for run in runs])
    return next(run for run in runs if run.per_s == rate)


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the table; `met` is None where there is no target to meet."""

    name: str
    value: float
    unit: str
    target: str = ""
    met: bool | None = None

    @classmethod
    def at_least(cls, name: str, value: float, unit: str, target: float) -> Self:
        return cls(name, value, unit, f"≥ {amount(target)}", value >= target)

    @classmethod
    def at_most(cls, name: str, value: float, unit: str, target: float) -> Self:
        return cls(name, value, unit, f"≤ {amount(target)}", value <= target)

    def cells(self) -> tuple[str, str, str, str]:
        """The figure as the table shows it."""
        met = {None: "", True: "met", False: "NOT MET"}[self.met]
        return self.name, f"{amount(self.value)} {self.unit}", self.target, met


HEADINGS = ("what", "measured", "target", "")


def amount(value: float) -> str:
    """A number with as many digits as it deserves: 0.23, 4.5, 853, 20,400."""
    if value >= 100 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def plain_table(figures: Sequence[Figure]) -> str:
    """The figures in columns, for a terminal."""
    rows = [HEADINGS, *(figure.cells() for figure in figures)]
    name, measured, target, _ = (max(len(row[column]) for row in rows) for column in range(4))
    return "\n".join(f"{a:<{name}}  {b:>{measured}}  {c:<{target}}  {d}".rstrip() for a, b, c, d in rows)


def markdown_table(figures: Sequence[Figure]) -> str:
    """The figures as a Markdown table, for the README."""
    lines = [f"| {' | '.join(HEADINGS)} |", "|---|--:|---|---|"]
    return "\n".join([*lines, *(f"| {' | '.join(figure.cells())} |" for figure in figures)])


def runs_table(runs: Mapping[str, Run]) -> str:
    """Runs in columns, as a baseline run on its own prints them."""
    width = max(len(name) for name in runs)
    lines = [f"{'':<{width}}  {'per s':>8}  {'p50 ms':>8}  {'p99 ms':>8}"]
    for name, run in runs.items():
        cells = (f"{amount(value):>8}" for value in (run.per_s, run.p50_ms, run.p99_ms))
        lines.append(f"{name:<{width}}  {'  '.join(cells)}")
    return "\n".join(lines)


def flush_ms(times: int = 200) -> float:
    """How long the disk takes for a page more that must not be lost: what durable commits wait for."""
    took = []
    with tempfile.TemporaryFile(prefix="fairhold-bench-") as file:
        for _ in range(times):
            file.write(bytes(4096))
            file.flush()
            began = perf_counter()
            os.fsync(file.fileno())
            took.append(perf_counter() - began)
    return 1000 * statistics.median(took)


def calls_ms(times: int = 100_000, repeats: int = 9) -> float:
    """How long Python takes for so many calls of a small function: what everything else waits for."""

    def small(number: int) -> tuple[int, str]:
        return number, "text"

    took = []
    for _ in range(repeats):
        began = perf_counter()
        for number in range(times):
            small(number)
        took.append(perf_counter() - began)
    return 1000 * statistics.median(took)
