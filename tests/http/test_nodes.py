"""Any number of processes on one PostgreSQL; starting before the database, losing it, stopping well."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from typing import Any

import httpx2 as httpx
import pytest

from testbed.postgres import TemporaryPostgres, fresh_database
from tests.database import ask
from tests.http.server import Server, make_key, serving
from tests.notifiers.servers import mail_server
from tests.patience import PATIENCE_S, wait_until

Nodes = tuple[Server, Server, str]


@pytest.fixture(scope="module")
def nodes(request: pytest.FixtureRequest) -> Iterator[Nodes]:
    with fresh_database(request.getfixturevalue("postgres_server_url")) as url:
        key = make_key(url)
        with serving(url) as one, serving(url) as two:
            yield one, two, key


async def post_all(servers: list[Server], key: str, path: str, bodies: list[Any], **more: str) -> list[Any]:
    """Every body at once, in turn to each of the servers."""
    headers = {"Authorization": f"Bearer {key}", **more}
    limits = httpx.Limits(max_connections=200)
    async with httpx.AsyncClient(verify=False, headers=headers, timeout=60, limits=limits) as client:
        asked = [
            client.post(f"{servers[n % len(servers)].base}{path}", json=body) for n, body in enumerate(bodies)
        ]
        return await asyncio.gather(*asked)


async def test_of_claims_and_declines_at_once_one_wins(nodes: Nodes) -> None:
    """Fifty answers to one offer, half of them yes: the first to come decides, and the others are told so."""
    one, two, key = nodes
    with one.client(key) as client:
        client.pool("race", 1)
        olga, ann = client.book("race", "olga"), client.book("race", "ann")
        client.act(olga["id"], "cancel")
        token = client.booking(ann["id"])["offer"]["token"]
        path = f"/v1/offers/{token}/"
        asked = [post_all([one, two], key, path + how, [{}] * 25) for how in ("claim", "decline")]
        claims, declines = await asyncio.gather(*asked)
        yes = [{answer.status_code for answer in answers} for answers in (claims, declines)]
        assert sorted(map(list, yes)) == [[200], [409]]
        log = [entry["event"] for entry in client.ask("GET", "/v1/pools/race/log?limit=500")["items"]]
        assert log.count("Claimed") + log.count("Declined") == 1


async def test_one_seat_goes_to_one_of_fifty(nodes: Nodes) -> None:
    one, two, key = nodes
    with one.client(key) as client:
        client.pool("seat", 1, "checkout")
        bodies = [{"party": f"party {n}"} for n in range(50)]
        answers = await post_all([one, two], key, "/v1/pools/seat/bookings", bodies)
        assert Counter(answer.status_code for answer in answers) == {201: 1, 409: 49}
        assert {answer.json()["code"] for answer in answers if answer.status_code == 409} == {
            "not_enough_room"
        }
        assert client.ask("GET", "/v1/pools/seat")["quotas"][0]["used"] == 1


@pytest.mark.guarantee(
    "two-taps.one-person",
    "Fifty taps at once over two nodes: fifty times the same yes, one claim in the log.",
)
async def test_one_claim_wins_when_fifty_post_at_once_over_two_nodes(
    nodes: tuple[Server, Server, str],
) -> None:
    """The same person tapping fifty times gets one seat and fifty times the same yes."""
    one, two, key = nodes
    with one.client(key) as client:
        client.pool("claims", 1)
        olga, ann = client.book("claims", "olga"), client.book("claims", "ann")
        client.act(olga["id"], "cancel")
        token = client.booking(ann["id"])["offer"]["token"]
        answers = await post_all([one, two], key, f"/v1/offers/{token}/claim", [{}] * 50)
        assert {answer.status_code for answer in answers} == {200}
        assert {answer.json()["id"] for answer in answers} == {ann["id"]}
        log = client.ask("GET", "/v1/pools/claims/log?limit=500")["items"]
        assert [entry["event"] for entry in log].count("Claimed") == 1


@pytest.mark.guarantee("retries.with-keys", "The same over two nodes.")
async def test_one_key_over_two_nodes_is_one_booking(nodes: Nodes) -> None:
    one, two, key = nodes
    with one.client(key) as client:
        client.pool("one-key", 50, "checkout")
        path, bodies = "/v1/pools/one-key/bookings", [{"party": "ann"}] * 20
        answers = await post_all([one, two], key, path, bodies, **{"Idempotency-Key": "one"})
        assert {answer.status_code for answer in answers} <= {201, 409}
        assert len({answer.json()["id"] for answer in answers if answer.status_code == 201}) == 1
        again = await post_all([one, two], key, path, bodies[:2], **{"Idempotency-Key": "one"})
        assert {answer.status_code for answer in again} == {201}
        assert len(client.ask("GET", "/v1/bookings?pool=one-key")["items"]) == 1


def test_a_key_revoked_on_one_node_ends_soon_on_the_other(nodes: Nodes) -> None:
    one, two, key = nodes
    with one.client(key) as here:
        made = here.ask("POST", "/v1/keys", {"role": "read", "name": "gone soon"}, expect=201)
        with two.client(made["secret"]) as there:
            there.ask("GET", "/v1/pools")
            here.ask("DELETE", f"/v1/keys/{made['id']}")
            wait_until(lambda: there.get("/v1/pools").status_code == 401)


def test_the_ticker_of_either_node_ends_a_hold(nodes: Nodes) -> None:
    one, _, key = nodes
    with one.client(key) as client:
        client.pool("short", 1, "checkout", policy={"hold_window": 1, "hold_lifetime_max": 1})
        made = client.book("short", "ann")
        wait_until(lambda: client.booking(made["id"])["state"] == "expired")


@pytest.mark.guarantee(
    "database-crash.recovers",
    "Started before its database, and with it killed twice: 503 with Retry-After, then on by itself.",
)
@pytest.mark.guarantee(
    "database-crash.kept",
    "What was answered before the server was killed is there when it is back.",
)
def test_the_service_waits_for_its_database_and_outlives_its_loss() -> None:
    with TemporaryPostgres(durable=True) as database:
        key = make_key(database.url)
        database.kill9()
        server = Server(database.url).start(wait=False)
        with server, server.client(key) as client:
            server.wait_until_ready(503)
            assert client.get("/healthz").status_code == 200
            answer = client.get("/v1/pools")
            assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
            assert int(answer.headers["retry-after"]) >= 1
            database.start()
            server.wait_until_ready()
            client.pool("survives", 5, "checkout")
            made = client.book("survives", "ann")
            database.kill9()
            answer = client.post("/v1/pools/survives/bookings", json={"party": "bea"})
            assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
            assert client.get("/readyz").status_code == 503
            database.start()
            server.wait_until_ready()
            assert client.booking(made["id"])["state"] == "held"
            assert client.book("survives", "bea")["state"] == "held"
            assert server.stop() == 0


@pytest.mark.guarantee(
    "database-crash.kept",
    "The server is killed three times while a crowd joins: who is in the line got a letter, and nobody "
    "else did.",
)
def test_who_is_written_to_has_what_the_letter_says_and_nobody_is_forgotten() -> None:
    """The database is killed while people join: who was rolled back is told nothing, all others are told."""
    with TemporaryPostgres(durable=True) as database, mail_server() as mail:
        key = make_key(database.url)
        settings = {"fairhold_smtp_url": mail.url, "fairhold_mail_from": "Seats <seats@example.org>"}
        with serving(database.url, "--test-clock", **settings) as server, server.client(key) as client:
            client.pool("crowd", 0)
            stop = threading.Event()

            def join(prefix: str) -> None:
                with server.client(key) as mine:
                    for n in range(10_000):
                        if stop.is_set():
                            return
                        party = {"id": f"{prefix}{n}", "contacts": {"email": f"{prefix}{n}@example.org"}}
                        answer = mine.post("/v1/pools/crowd/bookings", json={"party": party})
                        if answer.status_code != 201:
                            stop.wait(0.02)

            people = [threading.Thread(target=join, args=(prefix,)) for prefix in "abcd"]
            for person in people:
                person.start()
            for _ in range(3):
                enough = len(mail.letters) + 20
                wait_until(lambda enough=enough: len(mail.letters) > enough)
                database.kill9()
                database.start()
            server.wait_until_ready()
            wait_until(lambda: len(mail.letters) > 100)
            stop.set()
            for person in people:
                person.join()
            # In the crowd all who were cut off may have been served after all. Not so whoever comes now.
            database.kill9()
            late = {"id": "late", "contacts": {"email": "late@example.org"}}
            assert client.post("/v1/pools/crowd/bookings", json={"party": late}).status_code == 503
            database.start()
            server.wait_until_ready()
            found = asyncio.run(ask(database.url, "SELECT party_id FROM fairhold_bookings"))
            joined = {f"{row[0]}@example.org" for row in found}
            # What was in hand when the database died comes again two minutes later.
            client.advance(3_600)
            assert {str(letter["To"]) for letter in mail.letters} == joined
            assert "late@example.org" not in joined
            assert server.stop() == 0


def test_somebody_elses_database_ends_the_service_with_a_clear_line(tmp_path: Any) -> None:
    path = tmp_path / "theirs.db"
    with sqlite3.connect(path) as file:
        file.execute("CREATE TABLE customers (name TEXT)")
    file.close()
    server = Server(f"sqlite:///{path}").start(wait=False)
    with server:
        assert server.process is not None
        assert server.process.wait(PATIENCE_S) == 3
        assert "none of Fairhold's" in server.log()


def test_a_stop_does_not_wait_for_a_clock_that_goes_on_for_years(sqlite_url: str) -> None:
    """A seat that nobody answers for is offered every second, for ten years; others wait for their turn."""
    policy = {"offer_window": "1s", "cooldown": "0s", "attempts_max": None, "turns": "round"}
    key = make_key(sqlite_url)
    with serving(sqlite_url, "--test-clock") as server, server.client(key) as client:
        client.pool("class", 1, "class_waitlist", policy=policy)
        first = client.book("class", "ann", confirmed=True)
        for party in ("bea", "cyd"):
            client.book("class", party)
        client.ask("POST", f"/v1/bookings/{first['id']}/cancel")
        answers: list[httpx.Response] = []

        def move(name: str) -> None:
            with server.client(key) as mine:
                named = {"Idempotency-Key": name}
                answers.append(mine.post("/v1/clock", json={"advance_s": 300_000_000}, headers=named))

        def is_under_way(name: str) -> bool:
            twin = client.post("/v1/clock", json={}, headers={"Idempotency-Key": name})
            assert twin.status_code in (409, 422)
            return twin.status_code == 409

        moving = [threading.Thread(target=move, args=(name,)) for name in "abc"]
        for thread in moving:
            thread.start()
        began = client.ask("GET", "/v1/clock")["now"]
        wait_until(lambda: client.ask("GET", "/v1/clock")["now"] > began)
        wait_until(lambda: all(is_under_way(name) for name in "abc"))
        assert server.stop() == 0
        for thread in moving:
            thread.join()
        assert '"level":"error"' not in server.log()
    assert [(it.status_code, it.json()["code"]) for it in answers] == [(503, "unavailable")] * 3
    assert min(int(it.headers["retry-after"]) for it in answers) >= 1


def test_a_stop_finishes_what_was_accepted(database_url: str) -> None:
    """Everything that was answered yes is there, nothing was cut off, and the process ends by itself."""
    key = make_key(database_url)
    answered: list[str] = []
    cut_off: list[str] = []
    with serving(database_url) as server:
        with server.client(key) as client:
            client.pool("busy", None, "checkout")
        stop = threading.Event()

        def ask(name: int) -> None:
            with server.client(key) as client:
                for n in range(10_000):
                    if stop.is_set():
                        return
                    try:
                        answer = client.post("/v1/pools/busy/bookings", json={"party": f"party {name} {n}"})
                    except httpx.ConnectError:
                        return
                    except (httpx.TransportError, RuntimeError) as error:
                        cut_off.append(repr(error))
                        return
                    if answer.status_code == 201:
                        answered.append(answer.json()["id"])

        threads = [threading.Thread(target=ask, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        wait_until(lambda: len(answered) > 20)
        assert server.stop() == 0
        stop.set()
        for thread in threads:
            thread.join()
    with serving(database_url) as server, server.client(key) as client:
        there: list[str] = []
        cursor: str | None = ""
        while cursor is not None:
            page = client.ask("GET", "/v1/bookings", params={"pool": "busy", "limit": 500, "cursor": cursor})
            there += [booking["id"] for booking in page["items"]]
            cursor = page["next"]
        (key_shown,) = client.ask("GET", "/v1/keys")["items"]
    assert set(answered) <= set(there)
    assert key_shown["last_used_at"] is not None
    # A connection that waited idle for its next request may see it refused; none may lose an answer.
    assert len(there) - len(answered) <= len(cut_off)


def test_hoarding_is_limited_over_all_nodes(request: pytest.FixtureRequest) -> None:
    """One address gets so many holds, however its requests are spread; and a restart forgets nothing."""
    few = {"fairhold_holds_per_address_max": "4", "fairhold_rate_per_address": "0"}
    with fresh_database(request.getfixturevalue("postgres_server_url")) as url:
        admin, public = make_key(url), make_key(url, "public")
        with serving(url, **few) as one, serving(url, **few) as two, one.client(admin) as client:
            client.pool("tickets", 100, "checkout")
            bodies = [{"party": f"bot {n}"} for n in range(50)]
            path = "/v1/pools/tickets/bookings"
            answers = asyncio.run(post_all([one, two], public, path, bodies))
            assert Counter(answer.status_code for answer in answers) == {201: 4, 429: 46}
            assert all(
                int(answer.headers["retry-after"]) > 0 for answer in answers if answer.status_code == 429
            )
            two.kill()
        with serving(url, **few) as again:
            (answer,) = asyncio.run(post_all([again], public, path, [{"party": "bot"}]))
            assert answer.status_code == 429


LINGERS = """
import asyncio, time
from fairhold.http import serve

async def serving():
    asyncio.get_running_loop().run_in_executor(None, time.sleep, 600)

serve.run_fast({})
"""


def test_a_process_that_has_closed_all_waits_for_nothing() -> None:
    """Such as the name of a mail server, which is looked up for half a minute where nobody answers."""
    ends = subprocess.Popen([sys.executable, "-c", LINGERS.format("serve._and_leave(serving())")])
    control = subprocess.Popen([sys.executable, "-c", LINGERS.format("serving()")])
    try:
        assert ends.wait(PATIENCE_S) == 0
        assert control.poll() is None
    finally:
        for process in (ends, control):
            process.kill()
            process.wait()
