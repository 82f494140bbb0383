"""The machine fails under a running service: its disk is full, its clock is set, its timers stand still."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_hex
from typing import Any

import pytest

from tests.database import ask, dialect_of
from tests.guarantees.broken import broken
from tests.guarantees.small_disk import filled, log_on, small_disk
from tests.http.server import Client, Server, make_key, serving
from tests.notifiers.servers import MailServer
from tests.patience import wait_until
from tests.verified import assert_verified, verified

DAY_S = 86_400


@pytest.fixture(scope="module")
def server(module_url: str, settings: dict[str, str]) -> Iterator[Server]:
    """On the machine's own clock."""
    with serving(module_url, **settings) as running:
        yield running


@pytest.fixture(scope="module")
def admin(server: Server) -> Iterator[Client]:
    with server.client(make_key(server.url)) as client:
        yield client


def events(client: Client, pool: str) -> list[tuple[str, str]]:
    """What happened, and to whom."""
    log = client.ask("GET", f"/v1/pools/{pool}/log?limit=500")["items"]
    return [(it["event"], it.get("booking", "")) for it in log]


@contextmanager
def refusing(url: str, table: str, what: str, when: str = "") -> Iterator[None]:
    """The database fails to write a row of this table: always, or when it is so."""
    if dialect_of(url) == "sqlite":
        trigger = f"CREATE TRIGGER refusing BEFORE INSERT ON {table} {f'WHEN {when}' if when else ''}"
        made = [f"{trigger} BEGIN SELECT RAISE(ABORT, '{what}'); END"]
        gone = ["DROP TRIGGER refusing"]
    else:
        body = f"BEGIN RAISE EXCEPTION 'not now' USING ERRCODE = '{what}'; END"
        made = [f"CREATE FUNCTION refusing() RETURNS trigger LANGUAGE plpgsql AS $${body}$$"]
        trigger = f"CREATE TRIGGER refusing BEFORE INSERT ON {table} FOR EACH ROW"
        made += [f"{trigger} {f'WHEN ({when})' if when else ''} EXECUTE FUNCTION refusing()"]
        gone = [f"DROP TRIGGER refusing ON {table}", "DROP FUNCTION refusing"]
    for statement in made:
        asyncio.run(ask(url, statement))
    try:
        yield
    finally:
        for statement in gone:
            asyncio.run(ask(url, statement))


@contextmanager
def full_disk(url: str, place: Path) -> Iterator[None]:
    """SQLite finds no more pages; what PostgreSQL logs goes to a disk that has no room left."""
    if dialect_of(url) == "sqlite":
        with broken(place, "full disk"):
            yield
    elif (disk := small_disk()) is None:
        with refusing(url, "fairhold_log", "disk_full"):
            yield
    else:
        with disk as mounted, log_on(url, mounted), filled(mounted):
            yield


@pytest.mark.guarantee(
    "disk-full.clear",
    "With no room left, one request and then fifty at once are told 503 with Retry-After; who was told yes "
    "is there, and nobody else. SQLite may have no more pages; PostgreSQL's log of bookings is on a file "
    "system that is full (where none can be mounted, a trigger fails as it would).",
)
@pytest.mark.guarantee(
    "disk-full.goes-on",
    "The pool can be read meanwhile; with room again, the next booking is a yes, and the record is whole.",
)
def test_a_full_disk_is_a_503_and_nothing_is_half_done(server: Server, admin: Client, place: Path) -> None:
    admin.pool("full", None, "checkout")
    path, seated = "/v1/pools/full/bookings", list[str]()

    def book(party: str) -> Any:
        answer = admin.post(path, json={"party": {"id": party, "attributes": {"note": token_hex(1_500)}}})
        if answer.status_code == 201:
            seated.append(party)
        else:
            assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
            assert int(answer.headers["retry-after"]) >= 1
        return answer.status_code

    book("before")
    with full_disk(server.url, place):
        wait_until(lambda: book(f"party-{len(seated)}") == 503)
        with ThreadPoolExecutor(10) as many:
            assert 503 in many.map(book, [f"crowd-{n}" for n in range(50)])
        assert admin.ask("GET", "/v1/pools/full")["quotas"][0]["used"] == len(seated)
    assert book("after") == 201
    found = admin.ask("GET", "/v1/bookings?pool=full&limit=500")["items"]
    assert sorted(it["party"]["id"] for it in found) == sorted(seated)
    asyncio.run(assert_verified(server.url))


@pytest.mark.guarantee(
    "disk-full",
    "Where every write commits by itself and the log finds no room, a booking is there that the log does not "
    "know.",
    control=True,
)
def test_control_without_one_transaction_a_full_disk_leaves_half_a_booking(
    server: Server, admin: Client, place: Path
) -> None:
    admin.pool("half", 5, "checkout")
    with refusing(server.url, "fairhold_log", "disk_full"), broken(place, "no one transaction"):
        assert admin.post("/v1/pools/half/bookings", json={"party": "half"}).status_code != 201
    assert "pool half, booking 1" in str(asyncio.run(verified(server.url)))


@pytest.mark.guarantee(
    "clock.ahead",
    "The clock of the running service's machine is set a day ahead: the alarm is in its figures, and every "
    "hold is still held.",
)
def test_a_clock_set_a_day_ahead_is_an_alarm_and_ends_nothing(
    server: Server, admin: Client, place: Path
) -> None:
    admin.pool("ahead", 10, "checkout")
    holds = [admin.book("ahead", f"party {n}")["id"] for n in range(5)]
    with broken(place, "clock", how=str(DAY_S)):
        stats = admin.ask("GET", "/v1/pools/ahead/stats")
        assert abs(stats["clock_ahead_s"] - DAY_S) <= 60

        def alarm() -> list[str]:
            return re.findall(
                r"^fairhold_clock_ahead_seconds 86\d\d\d", admin.get("/metrics").text, re.MULTILINE
            )

        wait_until(alarm)
        # Somebody comes, and all that is due is looked for.
        assert admin.act(admin.book("ahead", "late")["id"], "confirm")["state"] == "confirmed"
        assert {admin.booking(hold)["state"] for hold in holds} == {"held"}
    assert {admin.booking(hold)["state"] for hold in holds} == {"held"}
    assert {event for event, _ in events(admin, "ahead")} == {"PoolCreated", "Held", "Confirmed"}


@pytest.mark.guarantee(
    "clock.back",
    "It is set an hour back: what has expired stays so, once, and new holds end later than old ones.",
)
def test_a_clock_set_an_hour_back_brings_nothing_back(server: Server, admin: Client, place: Path) -> None:
    admin.pool("back", 1, "checkout", policy={"hold_window": 1, "hold_lifetime_max": 1})
    ann = admin.book("back", "ann")
    wait_until(lambda: admin.booking(ann["id"])["state"] == "expired")
    with broken(place, "clock", how="-3600"):
        assert admin.ask("GET", "/v1/pools/back/stats")["clock_ahead_s"] < -3_500
        bea = admin.book("back", "bea")
        assert bea["expires_at"] > ann["expires_at"]
        wait_until(lambda: admin.booking(bea["id"])["state"] == "expired")
        assert admin.act(ann["id"], "confirm", expect=410)["code"] == "hold_expired"
    expired = [event for event, _ in events(admin, "back") if event == "Expired"]
    assert len(expired) == 2


def over(instant: str) -> bool:
    return datetime.now(UTC) > datetime.fromisoformat(instant)


@pytest.mark.guarantee(
    "timers.late", "With the service's timers stopped, a tap after the window gets a calm no, not the seat."
)
@pytest.mark.guarantee(
    "timers.lost",
    "Once they go again, all that fell due meanwhile has happened, in the order of its due times: who booked "
    "last had less time, and goes first.",
)
def test_without_timers_deadlines_hold_and_all_is_caught_up(
    server: Server, admin: Client, place: Path
) -> None:
    admin.pool("chair", 1, policy={"offer_window": 1, "cooldown": 0})
    admin.pool("short", 5, "checkout", policy={"hold_window": 2, "hold_lifetime_max": 2})
    olga, ann = admin.book("chair", "olga"), admin.book("chair", "ann")
    with broken(place, "no timers"):
        held = [admin.book("short", "cyd")]
        admin.ask("PATCH", "/v1/pools/short", {"policy": {"hold_window": 1}})
        held += [admin.book("short", "dot")]
        assert held[1]["expires_at"] < held[0]["expires_at"]
        admin.act(olga["id"], "cancel")
        offer = admin.booking(ann["id"])["offer"]
        wait_until(lambda: over(offer["expires_at"]) and over(held[0]["expires_at"]))
        assert {admin.booking(hold["id"])["state"] for hold in held} == {"held"}
        assert admin.ask("POST", f"/v1/offers/{offer['token']}/claim", expect=410)["code"] == "offer_expired"
    wait_until(lambda: admin.booking(held[0]["id"])["state"] == "expired")
    expired = [booking for event, booking in events(admin, "short") if event == "Expired"]
    assert expired == [held[1]["id"], held[0]["id"]]


@pytest.mark.guarantee("timers.doubled", "Two nodes with timers on one database: each hold ends once.")
@pytest.mark.guarantee("two-workers.timers", "Forty short holds with two nodes awake: forty ends in the log.")
@pytest.mark.guarantee("two-workers.messages", "Forty people who join get forty letters from the two.")
def test_two_nodes_have_one_effect(
    server: Server, admin: Client, settings: dict[str, str], mail: MailServer
) -> None:
    with serving(server.url, **settings) as other, other.client(make_key(server.url)) as elsewhere:
        admin.pool("brief", None, "checkout", policy={"hold_window": 1, "hold_lifetime_max": 1})
        admin.pool("crowd", 0)
        people, place = [], f"@crowd.{dialect_of(server.url)}.example.org"
        for n in range(40):
            client = (admin, elsewhere)[n % 2]
            client.book("brief", f"p{n}")
            people.append(f"p{n}{place}")
            client.book("crowd", {"id": f"p{n}", "contacts": {"email": people[-1]}})
        wait_until(lambda: admin.ask("GET", "/v1/pools/brief/stats")["active_holds"] == 0)
        wait_until(lambda: [event for event, _ in events(admin, "brief")].count("Expired") >= 40)
        assert [event for event, _ in events(admin, "brief")].count("Expired") == 40

        def told() -> bool:
            sent = admin.ask("GET", "/v1/pools/crowd/messages?limit=100")["items"]
            return len(sent) == 40 and {it["state"] for it in sent} == {"sent"}

        wait_until(told)
        assert sorted(str(it["To"]) for it in mail.letters if place in str(it["To"])) == sorted(people)


def book_together(server: Server, admin: Client, pool: str) -> dict[str, int]:
    """Thirty people at once, one of whom the database refuses; what each was told."""
    key = admin.headers["authorization"].removeprefix("Bearer ")
    people = [f"{pool} {n}" for n in range(30)]
    people[15] = f"broken {pool}"

    def book(party: str) -> int:
        with server.client(key) as client:
            return client.post(f"/v1/pools/{pool}/bookings", json={"party": party}).status_code

    said = "check_violation" if dialect_of(server.url) == "postgres" else "CHECK"
    with (
        refusing(server.url, "fairhold_bookings", said, "NEW.party_id LIKE 'broken%'"),
        ThreadPoolExecutor(30) as many,
    ):
        return dict(zip(people, many.map(book, people), strict=True))


@pytest.mark.guarantee(
    "bad-apple.alone", "Of thirty at once the database refuses one: it alone fails, and 29 have their seats."
)
def test_one_broken_command_fails_alone(server: Server, admin: Client) -> None:
    admin.pool("apple", None, "checkout")
    told = book_together(server, admin, "apple")
    assert told.pop("broken apple") >= 500
    assert set(told.values()) == {201}
    found = admin.ask("GET", "/v1/bookings?pool=apple&limit=100")["items"]
    assert sorted(it["party"]["id"] for it in found) == sorted(told)


@pytest.mark.guarantee("bad-apple", "Its neighbours fail with it.", control=True)
def test_control_without_trying_alone_the_neighbours_fail_too(
    server: Server, admin: Client, place: Path
) -> None:
    rounds = iter(range(1_000))

    def spoiled() -> bool:
        pool = f"spoiled-{next(rounds)}"
        admin.pool(pool, None, "checkout")
        told = book_together(server, admin, pool)
        del told[f"broken {pool}"]
        return set(told.values()) != {201}

    with broken(place, "no trying alone"):
        wait_until(spoiled)
