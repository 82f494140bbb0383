"""PostgreSQL fails under a running service: it crashes, dies for good, falls silent, or says what is not so.

Two nodes serve one database whose commits do not wait for the disk by default. One of them, `here`, has a
proxy before its database, the other, `there`, knows where a standby will be. The last test kills the primary.
"""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import asyncpg
import httpx2 as httpx
import pytest

from testbed.postgres import TemporaryPostgres, fresh_database
from tests.database import ask
from tests.engine.proxy import Proxy, proxied
from tests.guarantees.broken import PROGRAM, broken
from tests.guarantees.standby import (
    Standby,
    commits_wait_for,
    commits_wait_for_nobody_here,
    freeze_who_flushes,
    wait_until_following,
    who_waits,
)
from tests.http.server import Client, Server, make_key, serving
from tests.patience import until, wait_until
from tests.verified import assert_verified

# Nothing is flushed by chance while a test holds its breath.
QUIET = {"autovacuum": "off", "wal_writer_delay": "10s"}


@pytest.fixture(scope="module")
def postgres() -> Iterator[TemporaryPostgres]:
    with TemporaryPostgres(durable=True, settings=QUIET) as running:
        yield running


@pytest.fixture(scope="module")
def standby(postgres: TemporaryPostgres) -> Iterator[Standby]:
    """Not started: so far it only has an address."""
    standby = Standby(postgres, "kept")
    yield standby
    standby.stop()


@pytest.fixture(scope="module")
def url(postgres: TemporaryPostgres) -> Iterator[str]:
    with fresh_database(postgres.url) as made:
        name = made.rpartition("/")[2]
        asyncio.run(ask(made, f"ALTER DATABASE {name} SET synchronous_commit TO off"))
        yield made
        with suppress(OSError):
            asyncio.run(commits_wait_for(made, ""))


@pytest.fixture(scope="module")
def key(url: str) -> str:
    return make_key(url)


@pytest.fixture(scope="module")
def there(url: str, standby: Standby, key: str) -> Iterator[Client]:
    with serving(both(url, standby)) as running, running.client(key) as client:
        yield client


def both(url: str, standby: Standby) -> str:
    """The database, whichever of the two servers leads."""
    here, there = urlsplit(url), urlsplit(standby.url)
    return here._replace(netloc=f"{here.netloc},{there.hostname}:{there.port}").geturl()


@pytest.fixture(scope="module")
def proxy(url: str) -> Iterator[tuple[Proxy, str]]:
    """In a thread of its own, so that a test may wait."""
    ready, ended = threading.Event(), asyncio.Event()
    found: list[Any] = []

    async def run() -> None:
        async with proxied(url) as running:
            found.extend([running, asyncio.get_running_loop()])
            ready.set()
            await ended.wait()

    with ThreadPoolExecutor(1) as thread:
        done = thread.submit(asyncio.run, run())
        ready.wait()
        yield found[0]
        found[1].call_soon_threadsafe(ended.set)
        done.result()


@pytest.fixture(scope="module")
def here(proxy: tuple[Proxy, str], key: str, place: Path) -> Iterator[Server]:
    with serving(proxy[1], program=PROGRAM, broken=str(place)) as running:
        yield running


def keyed(key: str) -> dict[str, Any]:
    return {"headers": {"Idempotency-Key": key}}


def insist(client: Client, path: str, body: Any, key: str) -> Any:
    """The yes to a request; whoever is told to come again comes again with the same key."""

    def answered() -> Any:
        answer = client.post(path, json=body, **keyed(key))
        assert answer.status_code in (201, 503), answer.text
        return answer.json() if answer.status_code == 201 else None

    return wait_until(answered)


def events(client: Client, pool: str) -> list[str]:
    return [it["event"] for it in client.ask("GET", f"/v1/pools/{pool}/log?limit=500")["items"]]


@pytest.mark.guarantee(
    "lost-commit.settled",
    "The service's connection is cut before and after commits, and falls silent after one: each time one "
    "booking, one yes.",
)
@pytest.mark.guarantee(
    "cancelled-commit.never-cancel",
    "At its deadline the service cuts a silent connection off; on the wire no cancel was seen.",
)
def test_a_commit_that_is_lost_is_looked_up_and_no_cancel_is_sent(
    proxy: tuple[Proxy, str], here: Server, key: str, place: Path
) -> None:
    ways = ["cut before", "cut after", "stall after", "cut before", "cut after"]
    with here.client(key) as client:
        client.pool("cut", 100, "checkout")
        for number, way in enumerate(ways):
            proxy[0].at_commit = [way]
            asked = ("/v1/pools/cut/bookings", {"party": f"p{number}"}, f"cut-{number}")
            with broken(place, *["short deadline"] * ("stall" in way)):
                made = insist(client, *asked)
            assert proxy[0].at_commit == []
            assert insist(client, *asked) == made
        assert events(client, "cut").count("Held") == len(ways)
    assert proxy[0].cancels == 0


@pytest.mark.guarantee(
    "cancelled-commit", "A driver's own time limit does send a cancel, and it is seen.", control=True
)
async def test_control_a_drivers_own_time_limit_sends_a_cancel(url: str) -> None:
    async with proxied(url) as (proxy, through):
        connection = await asyncpg.connect(through)
        with pytest.raises(TimeoutError):
            await connection.execute("SELECT pg_sleep(600)", timeout=0.1)
        await until(lambda: proxy.cancels == 1)
        connection.terminate()


@pytest.mark.guarantee(
    "cancelled-commit.unknown",
    "While the standby is away, the wait of a booking's commit is cancelled again and again: nobody hears a "
    "yes before it is there.",
)
def test_a_commit_whose_wait_is_cancelled_is_no_yes(url: str, there: Client) -> None:
    there.pool("cancelled", 9, "checkout")
    asyncio.run(commits_wait_for_nobody_here(url))
    path, body = "/v1/pools/cancelled/bookings", {"party": "ann"}
    cancelled: set[int] = set()

    def cancel_another() -> bool:
        waiting = {row[0] for row in asyncio.run(who_waits(url, "fairhold"))} - cancelled
        for pid in waiting:
            asyncio.run(ask(url, f"SELECT pg_cancel_backend({pid})"))
        cancelled.update(waiting)
        return len(cancelled) >= 3 or booking.done()

    with ThreadPoolExecutor(1) as caller:
        booking = caller.submit(lambda: there.post(path, json=body, **keyed("k")))
        try:
            wait_until(cancel_another)
            assert not booking.done() or booking.result().status_code == 503
        finally:
            asyncio.run(commits_wait_for(url, ""))
        answer = booking.result()
    assert answer.status_code in (201, 503)
    assert insist(there, path, body, "k")["party"]["id"] == "ann"
    assert events(there, "cancelled").count("Held") == 1


def change_pool(client: Client, path: str, body: Any, key: str) -> int:
    return client.patch(path, json=body, **keyed(key)).status_code


@pytest.mark.guarantee(
    "frozen-node.freed",
    "One of two nodes is stopped in its transaction: PostgreSQL ends that, and the other node books. The "
    "first goes on; whoever asked it asks again with the same key, and the change is there once.",
)
def test_a_frozen_node_does_not_keep_a_pool(
    postgres: TemporaryPostgres, proxy: tuple[Proxy, str], here: Server, there: Client, key: str
) -> None:
    assert postgres.directory is not None
    assert here.process is not None
    log = postgres.directory / "log"
    seen = len(log.read_text())
    there.pool("frozen", 9, "checkout")
    asked = ("/v1/pools/frozen", {"title": "Changed"}, "changed")

    with here.client(key) as freezing, ThreadPoolExecutor(1) as caller:
        proxy[0].at_commit = ["stall before"] * 50
        change = caller.submit(change_pool, freezing, *asked)
        wait_until(lambda: len(proxy[0].at_commit) < 50)
        here.process.send_signal(signal.SIGSTOP)
        try:
            insist(there, "/v1/pools/frozen/bookings", {"party": "bea"}, "frozen")
            wait_until(lambda: "idle-in-transaction timeout" in log.read_text()[seen:])
        finally:
            proxy[0].at_commit = []
            here.process.send_signal(signal.SIGCONT)
        assert change.result() in (200, 503)
        wait_until(lambda: change_pool(freezing, *asked) == 200)
    found = events(there, "frozen")
    assert (found.count("Held"), found.count("PoolChanged")) == (1, 1)


def crash_after_a_yes(postgres: TemporaryPostgres, client: Client, pool: str) -> int:
    """Nobody writes to the disk but who commits, and then the server is gone: what the answer is worth."""
    client.pool(pool, 5, "checkout")
    freeze_who_flushes(postgres)
    made = client.book(pool, "ann")
    postgres.kill9()
    postgres.start()

    return known(client, made)


def known(client: Client, booking: Any) -> int:
    """What is said of a booking, once anything can be said."""

    def told() -> int:
        status = client.get(f"/v1/bookings/{booking['id']}").status_code
        return 0 if status == 503 else status

    return wait_until(told)


@pytest.mark.guarantee(
    "database-crash.kept",
    "Where the server's default is not to wait for the disk, and nobody else flushes: an answered yes is "
    "there after a kill of all its processes.",
)
def test_a_yes_outlives_a_crash_though_the_server_would_not_wait(
    postgres: TemporaryPostgres, there: Client
) -> None:
    assert crash_after_a_yes(postgres, there, "crash") == 200


@pytest.mark.guarantee(
    "database-crash", "With the server's default, the same crash takes back an answered yes.", control=True
)
def test_control_a_commit_that_does_not_wait_for_the_disk_is_lost(
    postgres: TemporaryPostgres, url: str, key: str, tmp_path: Path
) -> None:
    (tmp_path / "no durable commits").touch()
    with serving(url, program=PROGRAM, broken=str(tmp_path)) as server, server.client(key) as client:
        # Another node may commit at that very moment, and so flush for both: then once more.
        assert any(crash_after_a_yes(postgres, client, f"lost-{n}") == 404 for n in range(5))


def book_without_end(client: Client, stop: threading.Event, answers: list[httpx.Response]) -> None:
    """One after the other, each with a key; who is told to come again comes again."""
    number = 0
    # What became of the last one must be known, too.
    while not stop.is_set() or answers[-1].status_code != 201:
        body = {"party": f"p{number}"}
        answers.append(client.post("/v1/pools/failover/bookings", json=body, **keyed(f"p{number}")))
        if answers[-1].status_code == 201:
            number += 1
        else:
            stop.wait(0.05)


def not_now(answer: httpx.Response) -> list[httpx.Response]:
    return [answer] if answer.status_code == 503 else []


def at(url: str, server: TemporaryPostgres) -> str:
    """The same database on another server."""
    return urlsplit(url)._replace(netloc=urlsplit(server.url).netloc).geturl()


@pytest.mark.guarantee(
    "failover",
    "Where a commit does not wait for the standby, an answered yes is not on the new primary: the service, "
    "asked for it, says that there is no such booking.",
    control=True,
)
def test_control_a_yes_that_the_standby_did_not_have_is_lost(
    postgres: TemporaryPostgres, url: str, there: Client, key: str, tmp_path: Path
) -> None:
    there.pool("behind", None, "checkout")
    there.pool("behind-too", None, "checkout")
    (tmp_path / "no durable commits").touch()
    with Standby(postgres, "behind") as behind, ThreadPoolExecutor(1) as caller:
        wait_until_following(url, "behind")
        asyncio.run(commits_wait_for_nobody_here(url))
        asyncio.run(commits_wait_for(url, "behind"))
        asyncio.run(ask(behind.url, "ALTER SYSTEM SET primary_conninfo = ''"))
        asyncio.run(ask(behind.url, "SELECT pg_reload_conf()"))
        wait_until_following(url)
        with (
            serving(both(url, behind), program=PROGRAM, broken=str(tmp_path)) as server,
            server.client(key) as client,
        ):
            made = client.book("behind", "ann")
            # With the protection, nobody is told anything as long as the standby has not got it.
            asked = ("/v1/pools/behind-too/bookings", {"party": "bea"}, "bea")
            patient = caller.submit(insist, there, *asked)
            wait_until(lambda: asyncio.run(who_waits(url, "fairhold")))
            assert not patient.done()
            postgres.kill9()
            asyncio.run(ask(behind.url, "SELECT pg_promote(true, 60)"))
            assert known(client, made) == 404
        postgres.start()
        asyncio.run(commits_wait_for(url, ""))
        assert patient.result()["party"]["id"] == "bea"


@pytest.mark.guarantee(
    "failover.resumes",
    "The primary is killed under load and its synchronous standby promoted: 503 with Retry-After, then yes "
    "again from the same process.",
)
@pytest.mark.guarantee(
    "failover.kept",
    "Every answered yes is on the new primary, nobody is there twice, and the record is whole.",
)
def test_a_failover_loses_nothing_that_was_answered(
    postgres: TemporaryPostgres, url: str, standby: Standby, there: Client
) -> None:
    there.pool("failover", None, "checkout")
    standby.start()
    wait_until_following(url, "kept")
    asyncio.run(commits_wait_for_nobody_here(url))
    asyncio.run(commits_wait_for(url, "kept"))
    with Client(base_url=there.base_url, headers=there.headers) as booking:
        stop, answers = threading.Event(), list[httpx.Response]()
        load = threading.Thread(target=book_without_end, args=(booking, stop, answers))
        load.start()
        try:
            wait_until(lambda: len(answers) > 50)
            postgres.kill9()
            told = wait_until(lambda: not_now(there.get("/v1/pools/failover")))
            asyncio.run(ask(standby.url, "SELECT pg_promote(true, 60)"))
            dead = len(answers)
            wait_until(lambda: [it.status_code for it in answers[dead:]].count(201) > 10)
        finally:
            stop.set()
            load.join()
        assert {it.status_code for it in answers} <= {201, 503}
        told += [it for it in answers if it.status_code == 503]
        assert all(int(it.headers["retry-after"]) >= 1 for it in told)
        yes = [it.json()["party"]["id"] for it in answers if it.status_code == 201]
        found = (
            "SELECT party_id FROM fairhold_bookings JOIN fairhold_pools ON id = pool_id WHERE "
            "key = 'failover'"
        )
        rows = asyncio.run(ask(at(url, standby), found))
        assert sorted(party for (party,) in rows) == sorted(yes)
        asyncio.run(assert_verified(at(url, standby)))
