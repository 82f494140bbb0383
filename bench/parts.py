"""The parts of the benchmark. Each compares in one run and answers with figures: ratios first."""

import asyncio
import statistics
from collections.abc import Awaitable, Callable
from itertools import count
from time import perf_counter

from bench.baselines.database import open_postgres, open_sqlite
from bench.baselines.for_update_postgres import open_for_update
from bench.baselines.one_transaction_sqlite import open_one_transaction
from bench.baselines.recomputing import measure_recomputing
from bench.baselines.renumbering import measure_renumbering
from bench.engine import hot_desk, make_line, one_at_a_time, open_engine
from bench.measure import (
    Figure,
    Run,
    calls_ms,
    flush_ms,
    for_seconds,
    interleaved,
    median_run,
    run_callers,
    runs_table,
)
from bench.workload import holds, mix
from fairhold import Fairhold, granted
from testbed.postgres import fresh_database

Say = Callable[[str], None]
_names = count()


async def hot_pool_postgres(server: str, seconds: float, repeats: int, say: Say) -> list[Figure]:
    """Many callers at one pool on PostgreSQL, against one transaction per command with FOR UPDATE."""
    figures = []
    with fresh_database(server) as ours, fresh_database(server) as theirs:
        async with (
            open_engine(ours) as hf,
            open_for_update(theirs) as steps,
            open_for_update(theirs, fused=True) as fused,
        ):
            desk = await hot_desk(hf)
            for callers, target in ((64, 15.0), (512, 25.0)):
                runs = await interleaved(
                    {
                        "Fairhold, holds": for_seconds(holds(desk), callers, seconds),
                        "FOR UPDATE, holds": for_seconds(holds(steps), callers, seconds),
                        "FOR UPDATE in one statement, holds": for_seconds(holds(fused), callers, seconds),
                        "Fairhold, mix": for_seconds(mix(desk), callers, seconds),
                        "FOR UPDATE, mix": for_seconds(mix(steps), callers, seconds),
                    },
                    repeats,
                )
                say(f"PostgreSQL, one hot pool, {callers} callers\n{runs_table(runs)}\n")
                ours_holds = runs["Fairhold, holds"].per_s
                name = f"PostgreSQL, {callers} callers"
                figures += [
                    Figure.at_least(f"{name}: holds, against FOR UPDATE", _ratio(runs, "holds"), "×", target),
                    Figure(
                        f"{name}: holds, against FOR UPDATE in one statement",
                        ours_holds / runs["FOR UPDATE in one statement, holds"].per_s,
                        "×",
                    ),
                    Figure(
                        f"{name}: hold, confirm, cancel mixed, against FOR UPDATE", _ratio(runs, "mix"), "×"
                    ),
                ]
    return figures


def _ratio(runs: dict[str, Run], what: str) -> float:
    return runs[f"Fairhold, {what}"].per_s / runs[f"FOR UPDATE, {what}"].per_s


async def hot_pool_sqlite(seconds: float, repeats: int, say: Say) -> list[Figure]:
    """Many callers at one pool on SQLite, against one transaction per command."""
    figures = []
    # By these two, runs on other machines and in other hours can be compared.
    flush = Figure("a flush to this disk", flush_ms(), "ms")
    calls = Figure("100,000 calls of a small function in this Python", calls_ms(), "ms")
    async with (
        open_engine() as hf,
        open_engine() as alone,
        open_one_transaction() as thread,
        open_one_transaction(thread=False) as here,
    ):
        desk, desk_alone = await hot_desk(hf), await hot_desk(one_at_a_time(alone))
        for callers in (64, 512):
            runs = await interleaved(
                {
                    "Fairhold": for_seconds(holds(desk), callers, seconds),
                    "Fairhold, one command a transaction": for_seconds(holds(desk_alone), callers, seconds),
                    "one transaction each": for_seconds(holds(thread), callers, seconds),
                    "one transaction each, on the loop": for_seconds(holds(here), callers, seconds),
                },
                repeats,
            )
            say(f"SQLite, one hot pool, {callers} callers\n{runs_table(runs)}\n")
            name = f"SQLite, {callers} callers: holds, against one transaction each"
            rate = runs["Fairhold"].per_s
            figures += [
                Figure.at_least(name, rate / runs["one transaction each"].per_s, "×", 6.0),
                Figure(f"{name} on the loop", rate / runs["one transaction each, on the loop"].per_s, "×"),
                Figure(
                    f"SQLite, {callers} callers: holds, against Fairhold with one command a transaction",
                    rate / runs["Fairhold, one command a transaction"].per_s,
                    "×",
                ),
            ]
    return [*figures, flush, calls]


async def long_line(
    url: str | None, baseline_url: str | None, store: str, operations: int, say: Say
) -> list[Figure]:
    """Joining, leaving and asking for one's position, in a line of 100 and of 100,000.

    And what joining and leaving cost there where everyone behind gets a new number.
    """
    costs: dict[tuple[str, int], float] = {}
    _middles.clear()
    _preferring.clear()
    async with open_engine(url) as hf:
        lengths = (100, 100_000)
        for length in lengths:
            await make_line(hf, f"line-{length}", length)
        acts = {"join": _join, "leave": _leave, "position": _position}
        others = {"join by priority": _join_by_priority}
        for name, act in (acts | others).items():
            samples: dict[int, list[float]] = {length: [] for length in lengths}
            for _ in range(operations):
                for length in lengths:
                    samples[length].append(await act(hf, f"line-{length}", length))
            for length in lengths:
                costs[name, length] = statistics.median(samples[length])
    opened = open_postgres(baseline_url, "renumbering") if baseline_url else open_sqlite()
    async with opened as database:
        theirs = await measure_renumbering(database, 100_000, operations=5)
    said = [f"{name} at {length:,}: {1000 * cost:.2f}" for (name, length), cost in costs.items()]
    said += [f"{name} at 100,000 by renumbering: {run.p50_ms:.2f}" for name, run in theirs.items()]
    say(f"{store}, one caller, ms: {', '.join(said)}\n")
    figures = [
        Figure.at_most(
            f"{store}: {name}, line of 100,000 against 100", costs[name, 100_000] / costs[name, 100], "×", 2.0
        )
        for name in acts
    ]
    behind = {"join by priority": "join by priority", "leave": "leave middle"}
    return figures + [
        Figure(
            f"{store}: {ours} at 100,000, against renumbering everyone behind",
            theirs[name].p50_ms / (1000 * costs[ours, 100_000]),
            "×",
        )
        for ours, name in behind.items()
    ]


async def _join(hf: Fairhold, pool: str, length: int) -> float:
    party, began = f"joiner-{next(_names)}", perf_counter()
    granted(await hf.book(pool, party))
    return perf_counter() - began


async def _join_by_priority(hf: Fairhold, pool: str, length: int) -> float:
    """Before all who have none."""
    if pool not in _preferring:
        rules = [{"when": {"tag": "honours"}, "add": 1}]
        granted(await hf.change_pool(pool, policy={"priority_rules": rules}))
        _preferring.add(pool)
    party, began = {"id": f"joiner-{next(_names)}", "tags": ["honours"]}, perf_counter()
    granted(await hf.book(pool, party))
    return perf_counter() - began


async def _leave(hf: Fairhold, pool: str, length: int) -> float:
    # Somebody joins for each who leaves from the middle, so that the line keeps its length.
    await _join(hf, pool, length)
    (booking,) = granted(await hf.line(pool, after=length // 2, limit=1))
    began = perf_counter()
    granted(await hf.cancel(booking.id))
    return perf_counter() - began


async def _position(hf: Fairhold, pool: str, length: int) -> float:
    # Whom to ask about is settled beforehand: finding the middle of a line is another question.
    if pool not in _middles:
        _middles[pool] = [booking.id for booking in granted(await hf.line(pool, after=length // 2, limit=40))]
    booking = _middles[pool][next(_names) % len(_middles[pool])]
    began = perf_counter()
    assert isinstance(await hf.position(booking), int)
    return perf_counter() - began


_middles: dict[str, list[str]] = {}
_preferring: set[str] = set()


async def long_queue(
    url: str | None, baseline_url: str | None, store: str, seconds: float, say: Say
) -> list[Figure]:
    """Signing up for an event with 10,000 in queue, against recomputing the whole event."""
    async with open_engine(url) as hf:
        granted(await hf.create_pool("event", preset="event_signup", quotas={"a": 40, "b": 40}, open_size=20))
        for start in range(0, 10_100, 2_020):
            await asyncio.gather(
                *(hf.book("event", f"early-{start + i}", quota="ab"[i % 2]) for i in range(2_020))
            )

        async def signup(caller: int) -> None:
            number = next(_names)
            granted(
                await hf.book(
                    "event", f"late-{number}", quota="ab"[number % 2], idempotency_key=f"late-{number}"
                )
            )

        ours = median_run([await run_callers(signup, 64, seconds=seconds) for _ in range(3)])
    opened = open_postgres(baseline_url, "recomputing") if baseline_url else open_sqlite()
    async with opened as database:
        theirs = await measure_recomputing(database, 10_000)
    say(
        f"{store}, signups with 10,000 in queue, 64 callers\n"
        + runs_table({"Fairhold": ours, "recomputing": theirs["signup, 64 callers"]})
        + "\n"
    )
    ratio = ours.per_s / theirs["signup, 64 callers"].per_s
    return [Figure.at_least(f"{store}: signups with 10,000 in queue, against recomputing", ratio, "×", 50.0)]


async def mass_lapse(url: str | None, store: str, say: Say) -> list[Figure]:
    """10,000 holds lapse at once with 10,000 in line behind them; meanwhile another pool is used."""
    async with open_engine(url) as hf:
        window_s = 25
        policy = {"hold_window": window_s, "hold_lifetime_max": 3600}
        rules = policy | {"confirm_while_waiting": False}
        granted(await hf.create_pool("big", preset="event_signup", policy=rules, quotas={"main": 10_000}))
        granted(await hf.create_pool("other", preset="checkout", quotas={"main": 1_000_000}))
        for start in range(0, 20_000, 2_000):
            await asyncio.gather(*(hf.book("big", f"p-{start + i}") for i in range(2_000)))
        waits: list[float] = []
        done = asyncio.Event()

        async def use_other() -> None:
            while not done.is_set():
                began = perf_counter()
                granted(await hf.book("other", f"q-{next(_names)}"))
                waits.append(perf_counter() - began)
                await asyncio.sleep(0.002)

        await _all_are_due(hf, "big", "p-9999")
        user = asyncio.create_task(use_other())
        await asyncio.sleep(0.2)
        waits.clear()
        began = perf_counter()
        while await hf.ticker.tick_due():
            pass
        took = perf_counter() - began
        done.set()
        await user
        stats = granted(await hf.stats("big"))
        assert stats.bookings.get("expired", 0) >= 10_000
        assert stats.bookings.get("held", 0) == 10_000, stats.bookings
    worst = 1000 * max(waits)
    say(f"{store}, 10,000 holds lapse and refill: {took:.2f} s; another pool waited at most {worst:.0f} ms\n")
    return [
        Figure.at_most(f"{store}: 10,000 holds lapse and are refilled", took, "s", 3.0),
        Figure.at_most(f"{store}: meanwhile the longest wait of another pool", worst, "ms", 100.0),
    ]


async def mass_lapse_of_units(url: str | None, store: str, say: Say) -> list[Figure]:
    """1,000 holds of named units lapse at once with 1,000 in line behind them."""
    async with open_engine(url) as hf:
        rules = {"hold_window": 10, "hold_lifetime_max": 3600, "confirm_while_waiting": False}
        seats = {"key": "seats", "units": [f"seat {number}" for number in range(1_000)]}
        granted(await hf.create_pool("hall", preset="event_signup", policy=rules, quotas=[seats]))
        for start in range(0, 2_000, 500):
            await asyncio.gather(*(hf.book("hall", f"p-{start + i}") for i in range(500)))
        await _all_are_due(hf, "hall", "p-999")
        began = perf_counter()
        while await hf.ticker.tick_due():
            pass
        took = perf_counter() - began
        stats = granted(await hf.stats("hall"))
        assert stats.bookings.get("expired", 0) >= 1_000
        assert stats.bookings.get("held", 0) == 1_000, stats.bookings
    say(f"{store}, 1,000 holds of named units lapse and refill: {took:.2f} s\n")
    return [Figure(f"{store}: 1,000 holds of named units lapse and are refilled", took, "s")]


async def _all_are_due(hf: Fairhold, pool: str, last: str) -> None:
    """Hold the ticker back until the last hold is due, so that all lapse together."""
    await hf.ticker.close()
    (booking,) = granted(await hf.bookings(pool, party=last, limit=1))
    assert booking.expires_at is not None
    while hf.clock.now() <= booking.expires_at.timestamp() * 1000:
        await asyncio.sleep(0.05)


async def idle_timer(url: str | None, store: str, say: Say) -> list[Figure]:
    """How late a due timer acts when nothing else goes on."""
    late: list[float] = []
    async with open_engine(url) as hf:
        policy = {"hold_window": 1, "hold_lifetime_max": 3600}
        granted(await hf.create_pool("timer", preset="checkout", policy=policy, quotas={"main": 1}))
        for number in range(10):
            booking = granted(await hf.book("timer", f"t-{number}"))
            await asyncio.sleep(1.3)
            entry = granted(await hf.log("timer", limit=1_000))[-1]
            assert entry.event == "Expired"
            assert booking.expires_at is not None
            late.append(entry.facts["at"] - booking.expires_at.timestamp() * 1000)
    worst = max(late)
    say(f"{store}, a timer when idle: median {statistics.median(late):.0f} ms late, at most {worst:.0f} ms\n")
    return [Figure.at_most(f"{store}: a due timer acts, when idle, within", worst, "ms", 50.0)]


Part = Callable[[], Awaitable[list[Figure]]]
