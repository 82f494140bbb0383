"""One long run on one store: work, watch, prune now and then, and judge."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field

from drills.fuzz.judge import Judge
from drills.one_node import Node, Sink, node
from drills.soak import fit
from drills.soak.hook import Hook, hook
from drills.soak.watch import Sample, Watch
from drills.soak.work import Seen, Work

SHARE = 0.4
CALIBRATE_S = 15.0
PRUNE_AFTER = "1d"
MIB = 1024 * 1024
# What may come and go with the moment: more than that over a run, in a straight line, is a leak.
MEMORY_GROWTH_MAX = 24 * MIB
FILES_GROWTH_MAX = 20
TASKS_GROWTH_MAX = 20
WAL_MAX = {"sqlite": 64 * MIB, "postgres": 2048 * MIB}
LAG_MAX_S = 30.0


@dataclass(slots=True)
class Window:
    """What was measured in one stretch of time."""

    until_s: float
    requests: int
    p50_ms: float
    p99_ms: float
    sample: Sample


@dataclass(slots=True)
class Soaked:
    """What a run came to."""

    store: str
    minutes: float
    rate: float
    windows: list[Window] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    answers: Counter[int] = field(default_factory=Counter)
    acts: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    letters: int = 0
    hooks: int = 0
    erased: int = 0
    pools: int = 0

    def growth(self, name: str) -> tuple[float, float]:
        return fit.growth([it.at_s for it in self.samples], [float(getattr(it, name)) for it in self.samples])


def soak(store: str, minutes: float, rate: float | None, seed: int) -> Soaked:
    with node(store) as (it, sink, keys), hook() as received:
        done = asyncio.run(_soaked(it, sink, received, keys, Soaked(store, minutes, rate or 0.0), seed))
        _judge(it, done)
    return done


async def _soaked(
    it: Node, sink: Sink, received: Hook, keys: dict[str, str], done: Soaked, seed: int
) -> Soaked:
    work = Work(it.port, keys, received.url, seed)
    await work.set_up()
    if not done.rate:
        # What it can do at most, for a moment, until the last is told of it; of that, a share.
        began = time.monotonic()
        await work.run(10_000.0, began + CALIBRATE_S)
        await _quiet(Watch(it))
        done.rate = max(1.0, SHARE * sum(work.seen.acts.values()) / (time.monotonic() - began))
    work.seen = Seen()
    watch = Watch(it)
    print(f"{done.store}: {done.rate:.0f} acts a second for {done.minutes:g} minutes", flush=True)
    stretch_s = min(300.0, done.minutes * 60 / 6)
    watching = asyncio.ensure_future(watch.run(min(10.0, stretch_s / 6)))
    ends = time.monotonic() + done.minutes * 60
    while (now := time.monotonic()) < ends - 1 and it.is_alive():
        await work.run(done.rate, min(ends, now + stretch_s))
        _close_window(done, work, watch)
        await asyncio.to_thread(_prune, it)
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)
    done.samples, done.pools, done.erased = watch.samples, work.pools_made, work.erased
    await _quiet(watch)
    done.letters, done.hooks = sink.letters, received.count
    return done


def _close_window(done: Soaked, work: Work, watch: Watch) -> None:
    seen, work.seen = work.seen, Seen()
    p50, p99 = fit.quantile(seen.latencies, 0.5) * 1000, fit.quantile(seen.latencies, 0.99) * 1000
    window = Window(watch.samples[-1].at_s, len(seen.latencies), p50, p99, watch.samples[-1])
    done.windows.append(window)
    done.answers += seen.answers
    done.acts += seen.acts
    done.faults += seen.wrong[:20]
    print(
        f"  {window.until_s / 60:5.1f} min: {window.requests:,} requests, {p50:.1f} and {p99:.1f} ms, "
        f"{window.sample.memory / MIB:.0f} MiB, {window.sample.files} files, {window.sample.tasks} tasks",
        flush=True,
    )


def _prune(it: Node) -> None:
    """As whoever keeps the place would, beside the running service. Nothing is old enough in an hour."""
    command = [sys.executable, "-m", "fairhold", "prune", "--older-than", PRUNE_AFTER, "--database", it.url]
    said = subprocess.run(command, capture_output=True, text=True)
    if said.returncode:
        raise RuntimeError(f"prune failed: {said.stderr}")


async def _quiet(watch: Watch) -> None:
    """Wait until all is sent that was to be sent."""
    give_up_at = time.monotonic() + 60
    while (await asyncio.to_thread(watch.look)).outbox_lag_s > 1 and time.monotonic() < give_up_at:
        await asyncio.sleep(1)


def _judge(it: Node, done: Soaked) -> None:
    limits = {"memory": MEMORY_GROWTH_MAX, "files": FILES_GROWTH_MAX, "tasks": TASKS_GROWTH_MAX}
    for name, most in limits.items():
        grown, _ = done.growth(name)
        if grown > most:
            done.faults.append(f"{name} grew by {grown:,.0f}")
    if (wal := max(it.wal for it in done.samples)) > WAL_MAX[done.store]:
        done.faults.append(f"the write-ahead log grew to {wal / MIB:.0f} MiB")
    if (lag := max(it.outbox_lag_s for it in done.samples)) > LAG_MAX_S:
        done.faults.append(f"a message waited for {lag:.0f} s")
    first, last = done.windows[len(done.windows) // 5], done.windows[-1]
    if last.p50_ms > 2 * first.p50_ms + 5:
        done.faults.append(f"answers took {first.p50_ms:.1f} ms and then {last.p50_ms:.1f} ms")
    if not it.is_alive() or it.stop() != 0:
        done.faults.append("the service did not stop when asked")
    judge = Judge(it.base)
    judge.read(it.log())
    done.faults += [fault.what for fault in judge.faults]
    code, said = it.verify()
    if code:
        done.faults.append(f"verify: {said[-1_000:]}")
