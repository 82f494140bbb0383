"""A guard against getting slow: what one thing costs against another, in one run.

What counts is the processor's time of this process, not the time that passes: a busy machine takes that from
both alike. The bounds leave room for twice of what was measured; `python3 dev.py bench` tells the figures.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from itertools import count, cycle, repeat
from time import process_time
from typing import Any

import pytest

from bench.baselines.one_transaction_sqlite import open_one_transaction
from bench.engine import hot_desk, make_line
from bench.http.usual import application, without_database
from bench.workload import holds
from fairhold import Fairhold, granted
from fairhold.engine.jobs import JobQueue
from fairhold.http.service import Service
from fairhold.http.settings import Settings
from fairhold.keys import ApiKey, Keys
from tests.patience import until

CROWD = 64
_numbers = count()

Act = Callable[[int], Awaitable[object]]


async def crowd(act: Act, times: int = 4) -> None:
    for _ in range(times):
        await asyncio.gather(*(act(number) for number in range(CROWD)))


async def alone(act: Act, times: int = CROWD) -> None:
    for number in range(times):
        await act(number)


async def cost(run: Callable[[], Awaitable[None]], acts: int) -> float:
    """What one act costs, at best: whatever else happens only adds to it."""
    found = []
    for _ in range(3):
        began = process_time()
        await run()
        found.append((process_time() - began) / acts)
    return min(found)


async def of_a_crowd(act: Act) -> float:
    return await cost(lambda: crowd(act), 4 * CROWD)


async def of_one(act: Act) -> float:
    return await cost(lambda: alone(act), CROWD)


# The engine.


async def combined(hf: Fairhold) -> float:
    """What a hold costs in a crowd, against alone."""
    act = holds(await hot_desk(hf))
    await crowd(act)
    return await of_a_crowd(act) / await of_one(act)


async def test_commands_of_a_crowd_are_carried_out_together(database_url: str) -> None:
    async with Fairhold.open(database_url, ticker=False) as hf:
        assert await combined(hf) < 0.4


async def test_without_combining_the_guard_would_notice(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    take = JobQueue.take
    monkeypatch.setattr(JobQueue, "take", lambda self, _=1, until=None: take(self, 1, until))
    async with Fairhold.open(sqlite_url, ticker=False) as hf:
        assert await combined(hf) > 0.4


async def test_a_hold_costs_no_more_than_by_the_usual_design(tmp_path: Any) -> None:
    """With log, outbox and idempotency against without."""
    async with (
        Fairhold.open(f"sqlite:///{tmp_path}/ours.db", ticker=False) as hf,
        open_one_transaction(thread=False) as usual,
    ):
        ours, theirs = holds(await hot_desk(hf)), holds(usual)
        await crowd(ours)
        await crowd(theirs)
        assert await of_a_crowd(ours) < await of_a_crowd(theirs)


async def test_a_long_line_costs_as_much_as_a_short_one(sqlite_url: str) -> None:
    async with Fairhold.open(sqlite_url, ticker=False) as hf:
        costs: dict[str, dict[int, float]] = {"join": {}, "look": {}}
        for length in (100, 5_000):
            pool = f"line-{length}"
            await make_line(hf, pool, length)
            middle = [it.id for it in granted(await hf.line(pool, after=length // 2, limit=20))]

            async def join(number: int, pool: str = pool) -> None:
                granted(await hf.book(pool, f"late-{next(_numbers)}"))

            async def look(number: int, ids: list[str] = middle) -> None:
                granted(await hf.booking(ids[number % len(ids)]))

            costs["join"][length] = await of_one(join)
            costs["look"][length] = await of_one(look)
        for what, cost_of in costs.items():
            assert cost_of[5_000] < 3 * cost_of[100], what


# The service.


@asynccontextmanager
async def service(url: str) -> AsyncIterator[tuple[Any, str]]:
    """The whole application, without a socket; and a key for it."""
    async with Fairhold.open(url, ticker=False) as hf:
        made = await Keys(hf.store, hf.clock, hf.secret).create("default", "admin", "guard")
        assert isinstance(made, ApiKey)
        assert made.secret is not None
        granted(await hf.create_pool("event", preset="event_signup", quotas={"a": 100}, open_size=10))
    app = Service(Settings(database=url, rate_per_key=0))
    async with app.running():
        await until(lambda: app.hf is not None)
        yield app, made.secret


def asking(app: Any, key: str, method: str, paths: Iterator[str], status: int) -> Act:
    """One request after the other, as a server would hand them to the application."""

    async def act(_: int) -> None:
        number, path, body = next(_numbers), next(paths), b""
        headers = [(b"host", b"fairhold"), (b"authorization", b"Bearer " + key.encode())]
        if method == "POST":
            body = b'{"party": {"id": "p-%d", "name": "Ann"}, "quota": "a"}' % number
            headers += [(b"idempotency-key", b"k-%d" % number), (b"content-type", b"application/json")]
            headers.append((b"content-length", str(len(body)).encode()))
        scope = {
            "type": "http",
            "http_version": "1.1",
            "method": method,
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "root_path": "",
            "scheme": "http",
            "headers": headers,
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 80),
        }

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: dict[str, Any]) -> None:
            assert message.get("status", status) == status, message

        await app(scope, receive, send)

    return act


async def against_the_framework(url: str, method: str, path: str, status: int) -> float:
    """What our answer costs, against one by the same framework without a database."""
    async with service(url) as (ours, key):
        booked = asking(ours, key, "POST", repeat("/v1/pools/event/bookings"), 201)
        await crowd(booked)
        async with Fairhold.open(url, ticker=False) as hf:
            found = granted(await hf.bookings("event", limit=200))
        theirs = application(without_database, found[0])
        paths = cycle([path.replace("{booking}", it.id) for it in found])
        acts = [asking(app, key, method, paths, status) for app in (ours, theirs)]
        for act in acts:
            await crowd(act)
        mine, plain = [await of_a_crowd(act) for act in acts]
        return mine / plain


async def test_looking_where_one_stands_costs_little_more_than_the_framework(database_url: str) -> None:
    assert await against_the_framework(database_url, "GET", "/v1/bookings/{booking}", 200) < 14


async def test_signing_up_costs_not_much_more_than_the_framework(database_url: str) -> None:
    assert await against_the_framework(database_url, "POST", "/v1/pools/event/bookings", 201) < 16
