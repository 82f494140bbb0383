"""Measured over HTTP: each part asks all contenders in turn and answers with figures, ratios first."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

from bench.http import contenders
from bench.http.asking import Ask, Order
from bench.http.contenders import Contender
from bench.http.load import Generator, Outcome
from bench.measure import Figure, Run, interleaved, median_run, runs_table
from fairhold import Fairhold, granted

Say = Callable[[str], None]

PERSON = (
    '{"party": {"id": "p-{n}", "name": "Ann {n}", "contacts": {"email": "p{n}@example.org"}}, "quota": "a"}'
)
PLAIN = '{"party": "p-{n}"}'


@dataclass(slots=True)
class Bench:
    """What the parts share: the store, the load generator, how long and how often."""

    store: str
    fresh: Callable[[], str]
    """A new database's address; nothing for SQLite, where each has a file of its own."""
    generator: Generator
    seconds: float
    repeats: int
    say: Say
    memory_mb: float = 0.0
    kept: dict[str, Run] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    """What the page has to say besides, as Markdown."""
    database_pids: Callable[[], list[int]] = list
    """The processes of the database, where it has its own."""

    def ask(
        self, ask: Ask, of: Contender, clients: int, *statuses: int, **more: object
    ) -> Callable[[], Awaitable[Run]]:
        async def run() -> Run:
            contenders.only(of)
            order = Order(ask, of.ports, clients, self.seconds, **more)  # type: ignore[arg-type]
            (outcome,) = await self.generator.run(order)
            return outcome.all_were(*statuses).run

        return run

    async def compare(self, title: str, runs: dict[str, Callable[[], Awaitable[Run]]]) -> dict[str, Run]:
        found = await interleaved(runs, self.repeats)
        self.say(f"{self.store}, {title}\n{runs_table(found)}\n")
        self.kept |= {f"{title}: {name}": run for name, run in found.items()}
        return found

    def name(self, text: str) -> str:
        return f"{self.store}, HTTP: {text}"

    def note(self, ours: Contender) -> None:
        self.memory_mb = max(self.memory_mb, ours.memory_mb())


def sign_up(of: Contender, pool: str = "event") -> Ask:
    return Ask("POST", f"/v1/pools/{pool}/bookings", PERSON, "k-{n}", of.headers)


def read(of: Contender) -> Ask:
    return Ask("GET", "/v1/bookings/{item}", headers=of.headers)


async def make_event(of: Contender, pool: str = "event", in_queue: int = 0) -> list[str]:
    """An event with two quotas and an open share, full, and so many behind; the ids of some of all kinds."""
    async with Fairhold.open(of.database, ticker=False) as hf:
        granted(await hf.create_pool(pool, preset="event_signup", quotas={"a": 400, "b": 400}, open_size=200))
        made: list[str] = []
        for start in range(0, 1_000 + in_queue, 1_000):
            some = range(start, min(start + 1_000, 1_000 + in_queue))
            found = await asyncio.gather(*(hf.book(pool, f"early-{n}", quota="ab"[n % 2]) for n in some))
            made += [granted(it).id for it in found][:: max(1, len(found) // 50)]
        return made


async def hot_event(bench: Bench) -> list[Figure]:
    """Everybody signs up for one event, and looks where they stand."""
    figures: list[Figure] = []
    async with AsyncExitStack() as stack:
        ours = await stack.enter_async_context(contenders.fairhold(bench.fresh()))
        two = await stack.enter_async_context(contenders.fairhold(bench.fresh(), processes=2))
        ceiling = await stack.enter_async_context(contenders.usual("ceiling"))
        locking = await stack.enter_async_context(contenders.usual("for_update", bench.fresh()))
        seen = await make_event(ours, in_queue=1_000)
        await make_event(two, in_queue=1_000)
        for clients in (1, 64, 512):
            runs = await bench.compare(
                f"looking where one stands, {clients} clients",
                {
                    "Fairhold": bench.ask(read(ours), ours, clients, 200, items=seen),
                    "framework alone": bench.ask(read(ceiling), ceiling, clients, 200, items=seen),
                },
            )
            share = 100 * runs["Fairhold"].per_s / runs["framework alone"].per_s
            name = bench.name(f"looking where one stands, {clients} clients, against the framework alone")
            figures.append(
                Figure(name, share, "%") if clients == 1 else Figure.at_least(name, share, "%", 70.0)
            )
        for clients in (1, 64, 512):
            runs = await bench.compare(
                f"sign-ups for one event, {clients} clients",
                {
                    "Fairhold": bench.ask(sign_up(ours), ours, clients, 201),
                    "two processes": bench.ask(sign_up(two), two, clients, 201),
                    "framework alone": bench.ask(sign_up(ceiling), ceiling, clients, 201),
                    "lock per request": bench.ask(sign_up(locking), locking, clients, 201),
                },
            )
            rate = runs["Fairhold"].per_s
            share, times = 100 * rate / runs["framework alone"].per_s, rate / runs["lock per request"].per_s
            what = f"sign-ups for one event, {clients} clients, against"
            if clients == 1:
                figures.append(Figure(bench.name(f"{what} the framework alone"), share, "%"))
                continue
            figures.append(Figure.at_least(bench.name(f"{what} the framework alone"), share, "%", 60.0))
            figures.append(Figure.at_least(bench.name(f"{what} a lock per request"), times, "×", 7.0))
            if clients == 64:
                slow = runs["Fairhold"].p99_ms / runs["Fairhold"].p50_ms
                figures.append(
                    Figure.at_most(bench.name("sign-ups, 64 clients, p99 against p50"), slow, "×", 5.0)
                )
        figures += await _overload(bench, ours)
        bench.note(ours)
        bench.note(two)
    return figures


async def _overload(bench: Bench, ours: Contender) -> list[Figure]:
    """Four times as many clients as it takes to keep it busy, and it does as much as before."""
    runs = await bench.compare(
        "sign-ups under overload",
        {
            "512 clients": bench.ask(sign_up(ours), ours, 512, 201, 503),
            "2,048 clients": bench.ask(sign_up(ours), ours, 2_048, 201, 503),
        },
    )
    share = 100 * runs["2,048 clients"].per_s / max(run.per_s for run in runs.values())
    return [
        Figure.at_least(bench.name("sign-ups under fourfold overload, against the peak"), share, "%", 80.0)
    ]


async def long_queue(bench: Bench) -> list[Figure]:
    """Sign-ups behind a queue, against recomputing the whole event at each."""
    figures = []
    for length, target in ((1_000, 30.0), (10_000, 100.0)):
        async with (
            contenders.fairhold(bench.fresh()) as ours,
            contenders.usual("recomputing", bench.fresh(), in_queue=length) as theirs,
        ):
            await make_event(ours, in_queue=length)
            runs = await bench.compare(
                f"sign-ups behind a queue of {length:,}, 64 clients",
                {
                    "Fairhold": bench.ask(sign_up(ours), ours, 64, 201),
                    "recomputing": bench.ask(sign_up(theirs), theirs, 64, 201),
                },
            )
            bench.note(ours)
        times = runs["Fairhold"].per_s / runs["recomputing"].per_s
        what = f"sign-ups behind a queue of {length:,}, 64 clients, against recomputing"
        figures.append(Figure.at_least(bench.name(what), times, "×", target))
    return figures


async def long_line(bench: Bench) -> list[Figure]:
    """What joining and looking cost one client with 100 and with 100,000 in line."""
    runs: dict[str, Run] = {}
    async with contenders.fairhold(bench.fresh()) as ours:
        seen = {length: await make_event(ours, f"line-{length}", length) for length in (100, 100_000)}
        for what in ("sign up", "look"):
            asks = {
                f"{what}, {length:,} in line": bench.ask(
                    sign_up(ours, f"line-{length}") if what == "sign up" else read(ours),
                    ours,
                    1,
                    201 if what == "sign up" else 200,
                    items=seen[length] if what == "look" else (),
                )
                for length in seen
            }
            runs |= await bench.compare(f"one client, to {what}", asks)
        bench.note(ours)
    return [
        Figure.at_most(
            bench.name(f"to {what}, one client, 100,000 in line against 100"),
            runs[f"{what}, 100 in line"].per_s / runs[f"{what}, 100,000 in line"].per_s,
            "×",
            1.5,
        )
        for what in ("sign up", "look")
    ]


async def last_seats(bench: Bench) -> list[Figure]:
    """512 clients at the last 100 seats, and all that are held are confirmed at once."""
    async with contenders.fairhold(bench.fresh()) as ours:
        async with Fairhold.open(ours.database, ticker=False) as hf:
            policy = {"if_full": "refuse"}
            granted(await hf.create_pool("last", preset="checkout", policy=policy, quotas={"main": 100}))
            granted(await hf.create_pool("many", preset="checkout", quotas={"main": 10_000_000}))
        hold = Ask("POST", "/v1/pools/last/bookings", PLAIN, "k-{n}", ours.headers)
        (rush,) = await bench.generator.run(Order(hold, ours.ports, 512, bench.seconds))
        assert rush.statuses.pop(201) == 100, "exactly the seats that there are"
        assert set(rush.statuses) == {409}, rush.statuses
        many = Ask("POST", "/v1/pools/many/bookings", PLAIN, "k-{n}", ours.headers)
        confirms: list[Run] = []
        for _ in range(bench.repeats):
            (held,) = await bench.generator.run(Order(many, ours.ports, 64, bench.seconds, collect=True))
            confirm = Ask("POST", "/v1/bookings/{item}/confirm", "{}", "c-{n}", ours.headers)
            order = Order(
                confirm, ours.ports, 64, 10 * bench.seconds, items=held.all_were(201).ids, again=False
            )
            (outcome,) = await bench.generator.run(order)
            confirms.append(outcome.all_were(200).run)
        bench.note(ours)
    runs = {"the last 100 seats, 512 clients": rush.run, "confirming, 64 clients": median_run(confirms)}
    bench.say(f"{bench.store}, the last seats, and confirming\n{runs_table(runs)}\n")
    bench.kept |= runs
    return []


async def on_fire(bench: Bench) -> list[Figure]:
    """What others feel: the same crowd spread over many pools, and all of it at one."""
    async with contenders.fairhold(bench.fresh()) as ours:
        async with Fairhold.open(ours.database, ticker=False) as hf:
            names = ["hot", "calm", *(f"pool-{n}" for n in range(200))]
            for name in names:
                granted(await hf.create_pool(name, preset="checkout", quotas={"main": 10_000_000}))
        calm = Ask("POST", "/v1/pools/calm/bookings", PLAIN, "k-{n}", ours.headers)
        crowd = Ask("POST", "/v1/pools/{item}/bookings", PLAIN, "k-{n}", ours.headers)
        waits: dict[str, list[Run]] = {"nobody else": [], "spread": [], "on fire": []}
        for _ in range(bench.repeats):
            for name, runs in waits.items():
                probe = Order(calm, ours.ports, 4, bench.seconds, pause_s=0.02)
                orders = [probe]
                if name != "nobody else":
                    pools = names[2:] if name == "spread" else ["hot"]
                    orders.append(Order(crowd, ours.ports, 64, bench.seconds, items=pools))
                outcomes: list[Outcome] = await bench.generator.run(*orders)
                runs.append(outcomes[0].all_were(201).run)
        bench.note(ours)
    middle = {name: sorted(runs, key=lambda run: run.p99_ms)[len(runs) // 2] for name, runs in waits.items()}
    bench.say(f"{bench.store}, four calm clients of another pool\n{runs_table(middle)}\n")
    bench.kept |= {f"another pool, {name}": run for name, run in middle.items()}
    more = 100 * (middle["on fire"].p99_ms / middle["spread"].p99_ms - 1)
    what = "p99 of another pool: 64 clients at one pool, against the same spread over 200, more by"
    return [Figure.at_most(bench.name(what), more, "%", 20.0)]


async def mixed_day(bench: Bench) -> list[Figure]:
    """Looking, signing up and cancelling over 1,000 pools, by 64 clients."""
    async with contenders.fairhold(bench.fresh()) as ours:
        async with Fairhold.open(ours.database, ticker=False) as hf:
            names = [f"pool-{n}" for n in range(1_000)]
            for name in names:
                granted(await hf.create_pool(name, preset="class_waitlist", quotas={"main": 10}))
            early = [granted(await hf.book(name, "early")).id for name in names]
        book = Ask("POST", "/v1/pools/{item}/bookings", PLAIN, "k-{n}", ours.headers)
        outcomes = await bench.generator.run(
            Order(book, ours.ports, 24, 2 * bench.seconds, items=names),
            Order(read(ours), ours.ports, 36, 2 * bench.seconds, items=early),
            Order(
                Ask("POST", "/v1/bookings/{item}/cancel", "{}", "x-{n}", ours.headers),
                ours.ports,
                4,
                2 * bench.seconds,
                items=early,
                again=False,
            ),
        )
        bench.note(ours)
    names = ["signing up, 24 clients", "looking, 36 clients", "cancelling, 4 clients"]
    runs = {name: outcome.run for name, outcome in zip(names, outcomes, strict=True)}
    bench.say(f"{bench.store}, a mixed day over 1,000 pools\n{runs_table(runs)}\n")
    bench.kept |= {f"mixed day, {name}": run for name, run in runs.items()}
    return []


async def claim_storm(bench: Bench) -> list[Figure]:
    """Everybody who has an offer takes it at the same time."""
    runs = []
    async with contenders.fairhold(bench.fresh()) as ours:
        async with Fairhold.open(ours.database, ticker=False) as hf:
            for number in range(bench.repeats):
                pool, size = f"storm-{number}", 1_000
                granted(await hf.create_pool(pool, preset="course_section", quotas={"main": 1}))
                granted(await hf.book(pool, "first", confirmed=True, by="staff"))
                await asyncio.gather(*(hf.book(pool, f"p-{n}") for n in range(size)))
                granted(await hf.change_pool(pool, sizes={"main": size + 1}))
                offered = granted(await hf.bookings(pool, state="offered", limit=size))
                tokens = [granted(await hf.booking(it.id, secret=True)).offer for it in offered]
                claim = Ask("POST", "/v1/offers/{item}/claim", "{}", "c-{n}", ours.headers)
                items = [it.token for it in tokens if it is not None]
                order = Order(claim, ours.ports, 64, 60.0, items=items, again=False)
                (outcome,) = await bench.generator.run(order)
                runs.append(outcome.all_were(200).run)
        bench.note(ours)
    found = {"claims, 64 clients": median_run(runs)}
    bench.say(f"{bench.store}, a storm of claims\n{runs_table(found)}\n")
    bench.kept |= found
    return []


PARTS: dict[str, Callable[[Bench], Awaitable[list[Figure]]]] = {
    "hot event": hot_event,
    "long queue": long_queue,
    "long line": long_line,
    "last seats": last_seats,
    "claim storm": claim_storm,
    "on fire": on_fire,
    "mixed day": mixed_day,
}
