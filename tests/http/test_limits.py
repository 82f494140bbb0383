"""Floods and hoarding are bounded, people are still served, and the figures tell of it."""

from __future__ import annotations

import asyncio
import json
import re
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import httpx2 as httpx
import pytest

from fairhold.http.attempts import Attempts
from fairhold.http.limits import Buckets, whose
from fairhold.http.problems import Problem
from fairhold.keys import with_checksum
from tests.database import START, ask, opened
from tests.http.server import Client, Server, make_key, serving
from tests.patience import PATIENCE_S, wait_until

LIMITS = {
    "fairhold_rate_per_address": "5",
    "fairhold_burst_per_address": "30",
    "fairhold_holds_per_address_max": "3",
    "fairhold_holds_per_party_max": "2",
    "fairhold_stream_patience_s": "1",
    "fairhold_origins": "https://www.example.org",
}


@pytest.fixture(scope="module")
def server(module_url: str) -> Iterator[Server]:
    with serving(module_url, "--test-clock", **LIMITS) as running:
        yield running


def test_a_bot_cannot_hold_every_seat_and_a_person_still_gets_one(server: Server, admin: Client) -> None:
    admin.pool("tickets", 10, "checkout")
    with server.client(make_key(server.url, "public")) as bot:
        made = [bot.book("tickets", f"bot {n}") for n in range(2)]
        path, keyed = "/v1/pools/tickets/bookings", {"Idempotency-Key": "third"}
        made += [bot.ask("POST", path, {"party": "bot 2"}, expect=201, headers=keyed)]
        assert bot.ask("POST", path, {"party": "bot 2"}, expect=201, headers=keyed) == made[2]
        for n in range(3, 8):
            answer = bot.post("/v1/pools/tickets/bookings", json={"party": f"bot {n}"})
            assert (answer.status_code, answer.json()["code"]) == (429, "too_many_requests")
            assert int(answer.headers["retry-after"]) == 900
        assert admin.ask("GET", "/v1/pools/tickets")["quotas"][0]["room"] == 7
        # What is confirmed or given back does not count any more, nor what has expired.
        bot.act(made[0]["edit_token"], "confirm")
        assert bot.book("tickets", "bot 9")["state"] == "held"
        admin.advance(900)
        assert bot.book("tickets", "bot 10")["state"] == "held"


def test_a_party_cannot_hold_seats_everywhere(server: Server, admin: Client) -> None:
    admin.advance(3600)
    with server.client(make_key(server.url, "public")) as client:
        for n in range(2):
            admin.pool(f"show-{n}", 10, "checkout")
            client.book(f"show-{n}", "greedy")
        admin.pool("show-2", 10, "checkout")
        assert client.book("show-2", "greedy", expect=429)["detail"].startswith("This party has 2 live holds")
        assert client.book("show-2", "modest")["state"] == "held"


@pytest.mark.guarantee(
    "retries.slowed",
    "While twenty at once ask without end with a public key, and are told 429 with Retry-After, staff ask "
    "sixty times and are served each time.",
)
def test_a_flood_is_told_to_slow_down_and_staff_are_not(server: Server, admin: Client) -> None:
    slowed: list[httpx.Response] = []
    ended = Event()

    def flood(asking: Client) -> None:
        while not ended.is_set():
            answer = asking.get("/v1/pools")
            if answer.status_code == 429:
                slowed.append(answer)

    with server.client(make_key(server.url, "public")) as public, ThreadPoolExecutor(20) as many:
        asking = [many.submit(flood, public) for _ in range(20)]
        try:
            wait_until(lambda: slowed)
            before = len(slowed)
            assert {admin.get("/v1/pools").status_code for _ in range(60)} == {200}
            wait_until(lambda: len(slowed) > before)
            assert not any(it.done() for it in asking)
        finally:
            ended.set()
    assert all(int(answer.headers["retry-after"]) >= 1 for answer in slowed)
    assert slowed[0].json()["retry_after_s"] >= 1


def made_up_key(number: int) -> dict[str, str]:
    """Return the headers of a caller who has guessed a key, checksum and all."""
    return {"Authorization": f"Bearer {with_checksum(f'fh_{number:043}')}"}


GUESSES = {
    "keys": lambda asking, n: asking.get("/v1/pools", headers=made_up_key(n)),
    "links of offers": lambda asking, n: asking.get(f"/o/{n:040}.{n:043}"),
    "links of bookings": lambda asking, n: asking.get(f"/b/b{n:060}"),
}


@pytest.mark.guarantee(
    "tokens.slowed", "Two hundred wrong keys, or made-up links of offers or bookings: 429 before long."
)
@pytest.mark.parametrize("guess", GUESSES.values(), ids=GUESSES)
def test_guessing_is_slowed_down(server: Server, guess: Callable[[Client, int], httpx.Response]) -> None:
    with server.client() as guesser, ThreadPoolExecutor(20) as many:
        wait_until(lambda: guess(guesser, 0).status_code in (401, 404))
        wait_until(
            lambda: 429 in [it.status_code for it in many.map(lambda n: guess(guesser, n), range(1, 200))]
        )


def test_a_client_that_takes_nothing_is_dropped_and_can_resume(server: Server, admin: Client) -> None:
    admin.pool("slow", None, "checkout")
    key = admin.headers["authorization"]
    with socket.create_connection(("127.0.0.1", server.port)) as sleepy:
        sleepy.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sleepy.sendall(f"GET /v1/stream HTTP/1.1\r\nHost: x\r\nAuthorization: {key}\r\n\r\n".encode())
        head = sleepy.recv(2000)
        while b"event: ready" not in head:
            head += sleepy.recv(2000)
        last = re.findall(rb"\nid: (\S+)", head)[0].decode()
        large = {"note": "x" * 9_000, "more": "y" * 9_000, "yet": "z" * 9_000}
        made = 0

        def dropped() -> bool:
            nonlocal made
            for _ in range(50):
                admin.book("slow", {"id": f"party {made}", "attributes": large})
                made += 1
            return open_streams(admin) == 0

        wait_until(dropped)
    headers = {"Last-Event-ID": last}
    heard: set[str] = set()
    with admin.stream("GET", "/v1/stream", headers=headers) as answer:
        for line in answer.iter_lines():
            assert line != "event: reset"
            heard.update(re.findall(r'"party":\{"id":"(party \d+)"', line[:2_000]))
            if len(heard) == made:
                break
    assert len(heard) == made


def open_streams(admin: Client) -> float:
    (found,) = re.findall(r"^fairhold_streams (\S+)$", admin.get("/metrics").text, re.MULTILINE)
    return float(found)


def test_buckets_fill_again_and_forget_the_oldest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairhold.http.limits._NAMES_MAX", 3)
    buckets = Buckets(2, 4)
    assert [buckets.take("a", 0.0) for _ in range(4)] == [0.0] * 4
    assert buckets.take("a", 0.0) == 0.5
    assert buckets.take("a", 0.5) == 0.0
    assert buckets.take("a", 0.5) > 0
    for name in "bcd":
        buckets.take(name, 1.0)
    assert len(buckets._left) == 3
    assert Buckets(0, 0).take("a", 0.0) == 0.0


def test_who_was_kept_waiting_before_asking_is_not_taken_for_many() -> None:
    """A request that waited for the database brings the instant at which it came, long ago."""
    buckets = Buckets(10, 20)
    assert buckets.take("a", 100.0) == 0.0
    assert buckets.take("a", 90.0) == 0.0
    assert buckets.take("a", 100.0) == 0.0
    assert [buckets.take("a", 90.0) for _ in range(17)] == [0.0] * 17
    assert buckets.take("a", 90.0) > 0.0


def test_the_figures_are_there(server: Server, admin: Client) -> None:
    admin.pool("counted", 1)
    admin.book("counted", "olga")
    admin.book("counted", "ann")
    admin.book("counted", "olga", expect=409)
    # What stands in the database is read every two seconds at most.
    wait_until(lambda: "fairhold_waiting 1.0" in admin.get("/metrics").text)
    text = admin.get("/metrics").text

    def figure(name: str) -> float:
        (found,) = re.findall(rf"^{re.escape(name)} (\S+)$", text, re.MULTILINE)
        return float(found)

    assert figure('fairhold_commands_total{kind="Book",outcome="done"}') >= 2
    assert figure('fairhold_commands_total{kind="Book",outcome="already_holding"}') >= 1
    assert figure('fairhold_requests_total{operation="book",status="201"}') >= 2
    assert figure("fairhold_live_holds") >= 1
    assert figure("fairhold_waiting") >= 1
    assert figure("fairhold_longest_line") == 1
    assert figure("fairhold_batch_commands_count") > 0
    assert figure("fairhold_commit_seconds_count") > 0
    assert figure("fairhold_due_lag_seconds") == 0
    assert figure("fairhold_outbox_lag_seconds") >= 0


def test_each_page_is_counted_under_its_own_name(admin: Client) -> None:
    pages = {"/docs": "docs", "/openapi.json": "openapi", "/healthz": "healthz", "/readyz": "readyz"}
    for path in (*pages, "/metrics"):
        assert admin.get(path).status_code == 200
    text = admin.get("/metrics").text
    for name in (*pages.values(), "metrics"):
        assert f'fairhold_requests_total{{operation="{name}",status="200"}}' in text


def test_logs_are_json_and_name_the_request(server: Server, admin: Client) -> None:
    admin.get("/v1/pools", headers={"X-Request-ID": "find-me"})
    lines = [json.loads(line) for line in server.log("find-me").splitlines()]
    (line,) = [line for line in lines if line.get("request_id") == "find-me"]
    assert (line["operation"], line["status"], line["org"]) == ("list_pools", 200, "default")
    assert line["at"].endswith("Z")


def test_only_named_web_sites_may_ask_from_a_browser(admin: Client) -> None:
    asked = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}
    for origin, status in (("https://www.example.org", 200), ("https://evil.example", 400)):
        answer = admin.options("/v1/pools", headers={"Origin": origin, **asked})
        assert answer.status_code == status
        seen = admin.get("/v1/pools", headers={"Origin": origin}).headers.get("access-control-allow-origin")
        assert seen == (origin if status == 200 else None)


def test_a_setting_that_cannot_be_is_refused_in_one_line(module_url: str) -> None:
    server = Server(module_url, fairhold_rate_per_key="many").start(wait=False)
    with server:
        assert server.process is not None
        assert server.process.wait(PATIENCE_S) == 2
        assert "FAIRHOLD_RATE_PER_KEY must be a whole number" in server.log()


def test_a_whole_network_of_addresses_is_one_of_somebody() -> None:
    one, other, far = "2001:db8:1:2::3", "2001:db8:1:2:ffff::9", "2001:db8:1:3::3"
    assert whose(one) == whose(other) != whose(far)
    assert whose("fe80::1%eth0") == whose("fe80::2")
    assert whose("::ffff:192.0.2.1") == whose("192.0.2.1") == "192.0.2.1"
    assert whose("192.0.2.1") != whose("192.0.2.2")
    assert whose("no address") == "no address"


async def tried(
    attempts: Attempts, account: str, address: str, now: int = START, *, good: bool = False
) -> int:
    """0 if one may try now, else for how many seconds one is told to wait."""
    try:
        async with attempts.attempt(account, address, now) as attempt:
            attempt.good = good
    except Problem as problem:
        return int(problem.facts["retry_after_s"])
    return 0


async def test_attempts_are_counted_over_all_nodes_and_forgiven_in_time(database_url: str) -> None:
    async with opened(database_url) as one, opened(database_url) as two:
        nodes = [Attempts(hf.store, hf.secret) for hf in (one, two)]
        # Many at once, at both: as many as one node alone would let through.
        waits = await asyncio.gather(*(tried(nodes[n % 2], "ann", "192.0.2.1") for n in range(12)))
        assert waits.count(0) == 5
        assert {wait for wait in waits if wait} == {60}
        assert await tried(nodes[0], "ann", "192.0.2.2") == 0, "from elsewhere it is another's mistake"
        assert await tried(nodes[0], "bea", "192.0.2.1") == 0
        # After a minute one more, wherever it is asked; who signs in has spent none.
        later = START + 60_000
        assert await tried(nodes[1], "ann", "192.0.2.1", later, good=True) == 0
        assert [await tried(node, "ann", "192.0.2.1", later) for node in nodes] == [0, 60]
        assert await tried(nodes[1], "ann", "192.0.2.1", later + 59_000) == 1
    named = await ask(database_url, "SELECT name FROM fairhold_sign_in_attempts")
    assert named
    assert not any("ann" in name or "192" in name for (name,) in named)
    # A restart forgives nothing, and what is forgiven leaves nothing behind.
    async with opened(database_url) as hf:
        attempts = Attempts(hf.store, hf.secret)
        assert await tried(attempts, "ann", "192.0.2.1", later + 59_000) == 1
        assert await tried(attempts, "zed", "192.0.2.9", later + 86_400_000, good=True) == 0
        assert await tried(Attempts(hf.store, hf.secret), "zed", "192.0.2.9", later + 2 * 86_400_000) == 0
    assert len(await ask(database_url, "SELECT name FROM fairhold_sign_in_attempts")) == 3


async def test_many_addresses_slow_an_account_down_and_one_address_many_accounts(sqlite_url: str) -> None:
    async with opened(sqlite_url) as hf:
        attempts = Attempts(hf.store, hf.secret)
        assert [await tried(attempts, "ann", f"192.0.2.{n}") for n in range(31)] == [0] * 30 + [10]
        assert [await tried(attempts, f"p{n}", "198.51.100.1") for n in range(51)] == [0] * 50 + [2]


async def test_who_has_a_network_has_no_more_attempts_at_a_password(sqlite_url: str) -> None:
    async with opened(sqlite_url) as hf:
        attempts = Attempts(hf.store, hf.secret)
        waits = [await tried(attempts, "ann", f"2001:db8:1:2::{number:x}") for number in range(20)]
    assert waits.count(0) == 5
