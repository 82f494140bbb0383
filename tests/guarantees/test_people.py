"""What people, staff and those whom we write to do to a running service: twice, late, or not at all."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.console.desk import Desk
from tests.database import ask, dialect_of
from tests.guarantees.broken import broken
from tests.http.server import Client, Server
from tests.http.test_nodes import post_all
from tests.notifiers.servers import MailServer, Receiver
from tests.pages.visitor import plain
from tests.patience import wait_until

HOUR_S = 3_600


def key_of(client: Client) -> str:
    return str(client.headers["authorization"]).removeprefix("Bearer ")


def keyed(key: str) -> dict[str, Any]:
    return {"headers": {"Idempotency-Key": key}}


def events(client: Client, pool: str) -> list[str]:
    return [it["event"] for it in client.ask("GET", f"/v1/pools/{pool}/log?limit=500")["items"]]


def person(name: str, pool: str) -> dict[str, Any]:
    return {"id": name, "name": name.title(), "contacts": {"email": f"{name}.{pool}@example.org"}}


def offered(admin: Client, pool: str, *names: str, **policy: Any) -> list[Any]:
    """Olga gives her place back, and the first of these is offered it."""
    admin.pool(pool, 1, policy=policy)
    olga = admin.book(pool, "olga")
    waiting = [admin.book(pool, person(name, pool)) for name in names]
    admin.act(olga["id"], "cancel")
    return waiting


@pytest.mark.guarantee(
    "local-time.gap",
    "In the console, half past two in the night of the change is refused; no pool is made.",
)
@pytest.mark.guarantee("local-time.fold", "Half past two in autumn is refused, with both ways to say it.")
@pytest.mark.guarantee("local-time.utc", "Noon in Berlin in summer is ten o'clock in UTC ever after.")
def test_a_time_that_is_not_there_is_refused(admin: Client, olga: Desk) -> None:
    new = ("/console/pools/new?preset=checkout", "/console/pools/new")
    berlin = {"title": "Change of clocks", "time_zone": "Europe/Berlin"}
    page = olga.press(*new, 422, **berlin, starts_at="2027-03-28T02:30")
    assert "does not exist in Europe/Berlin" in plain(page)
    page = olga.press(*new, 422, **berlin, starts_at="2027-10-31T02:30")
    assert "2027-10-31T02:30+02:00 or 2027-10-31T02:30+01:00" in plain(page)
    assert admin.get("/v1/pools/change-of-clocks").status_code == 404
    body = {"key": "naive", "quotas": [{"key": "main", "size": 1}], "starts_at": "2027-07-01T12:00"}
    assert admin.ask("POST", "/v1/pools", body, expect=422)["field"] == "starts_at"
    olga.press(*new, **berlin, starts_at="2027-07-01T12:00")
    assert admin.ask("GET", "/v1/pools/change-of-clocks")["starts_at"] == "2027-07-01T10:00:00Z"


@pytest.mark.guarantee("local-time", "The hour that is not there becomes some other hour.", control=True)
def test_control_a_time_that_nobody_looks_at_becomes_another(admin: Client, olga: Desk, place: Path) -> None:
    new = ("/console/pools/new?preset=checkout", "/console/pools/new")
    with broken(place, "no look at local times"):
        said = {"time_zone": "Europe/Berlin", "starts_at": "2027-03-28T02:30"}
        olga.press(*new, title="Some other hour", **said)
    assert admin.ask("GET", "/v1/pools/some-other-hour")["starts_at"] == "2027-03-28T01:30:00Z"


@pytest.mark.guarantee("timers.after-claim", "A day after a claim, its offer's timer has changed nothing.")
def test_a_timer_after_a_claim_does_nothing(admin: Client) -> None:
    (ann,) = offered(admin, "claimed", "ann")
    token = admin.booking(ann["id"])["offer"]["token"]
    admin.ask("POST", f"/v1/offers/{token}/claim")
    before = events(admin, "claimed")
    admin.advance(25 * HOUR_S)
    assert events(admin, "claimed") == before
    assert admin.booking(ann["id"])["state"] == "confirmed"


@pytest.mark.guarantee(
    "two-taps.two-people",
    "Fifty people tap for one seat at once: one yes, and 49 times 409 with what is free.",
)
def test_of_fifty_people_one_gets_the_seat(server: Server, admin: Client) -> None:
    admin.pool("seat", 1, "checkout")
    bodies = [{"party": f"party {n}"} for n in range(50)]
    answers = asyncio.run(post_all([server], key_of(admin), "/v1/pools/seat/bookings", bodies))
    told = [(it.status_code, it.json().get("code")) for it in answers]
    assert told.count((201, None)) == 1
    assert told.count((409, "not_enough_room")) == 49
    assert events(admin, "seat").count("Held") == 1


@pytest.mark.guarantee(
    "retries.without-keys",
    "Fifty times the same request at once and without a key: one place in line, one answer.",
)
def test_a_storm_without_keys_is_one_place_in_line(server: Server, admin: Client) -> None:
    admin.pool("storm", 0)
    path = "/v1/pools/storm/bookings"
    answers = asyncio.run(post_all([server], key_of(admin), path, [{"party": "ann"}] * 50))
    assert {it.status_code for it in answers} == {201}
    assert len({it.json()["id"] for it in answers}) == 1
    assert admin.ask("GET", "/v1/pools/storm")["waiting"] == 1


@pytest.mark.guarantee(
    "retries", "A key that nobody looks up: the same request, sent twice, has two seats.", control=True
)
def test_control_without_keys_a_retry_books_again(admin: Client, place: Path) -> None:
    admin.pool("again", 9, "checkout", policy={"holds_per_party_max": 5})
    asked = ("POST", "/v1/pools/again/bookings", {"party": "ann"})

    def seats() -> int:
        return len({admin.ask(*asked, expect=201, **keyed("again"))["id"] for _ in range(2)})

    with broken(place, "no keys"):
        assert seats() == 2
    assert seats() == 1


@contextmanager
def not_unique(url: str, index: str) -> Iterator[None]:
    """The database without this promise of its own: the index is there, and lets in what is there twice."""
    kept = {
        "sqlite": f"SELECT sql FROM sqlite_master WHERE name = '{index}'",
        "postgres": f"SELECT indexdef FROM pg_indexes WHERE indexname = '{index}'",
    }
    ((unique,),) = asyncio.run(ask(url, kept[dialect_of(url)]))
    asyncio.run(ask(url, f"DROP INDEX {index}"))
    asyncio.run(ask(url, unique.replace("UNIQUE ", "", 1)))
    try:
        yield
    finally:
        asyncio.run(ask(url, f"DROP INDEX {index}"))
        asyncio.run(ask(url, unique))


@pytest.mark.guarantee(
    "retries",
    "Where nobody looks who is in line, the unique index still gives a party one place; without that, too, "
    "Ann has two.",
    control=True,
)
def test_control_without_one_place_in_line_a_party_has_two(
    server: Server, admin: Client, place: Path
) -> None:
    admin.pool("queue", 0)
    path = "/v1/pools/queue/bookings"
    ann = admin.book("queue", "ann")
    with broken(place, "no one place"):
        assert admin.post(path, json={"party": "ann"}).status_code >= 500
        assert admin.ask("GET", "/v1/pools/queue")["waiting"] == 1
        with not_unique(server.url, "fairhold_one_place_in_line"):
            again = admin.book("queue", "ann")
            assert admin.ask("GET", "/v1/pools/queue")["waiting"] == 2
            for booking in (ann, again):
                admin.act(booking["id"], "cancel")


@pytest.mark.guarantee(
    "reused-key",
    "Who asks for two seats under a used key is told that they have them, and has one.",
    control=True,
)
def test_control_without_a_fingerprint_a_used_key_answers_for_anything(admin: Client, place: Path) -> None:
    admin.pool("fingerprint", 9, "checkout")
    path = "/v1/pools/fingerprint/bookings"
    with broken(place, "no fingerprint"):
        first = admin.ask("POST", path, {"party": "ann"}, expect=201, **keyed("f"))
        assert admin.ask("POST", path, {"party": "ann", "quantity": 2}, expect=201, **keyed("f")) == first


@pytest.mark.guarantee(
    "post.slow",
    "While the mail server keeps one letter waiting, ten people book and get theirs.",
)
def test_a_slow_mail_server_keeps_nobody_waiting(admin: Client, mail: MailServer, url: str) -> None:
    pool = f"slow-{url[:5]}"
    admin.pool(pool, None, "checkout")
    slow = person("olga", pool)
    mail.held.add(slow["contacts"]["email"])
    try:
        admin.book(pool, slow, confirmed=True)
        people = [person(f"p{n}", pool) for n in range(10)]
        for one in people:
            admin.book(pool, one, confirmed=True)
        wait_until(lambda: all(mail.to(one["contacts"]["email"]) for one in people))
        assert mail.to(slow["contacts"]["email"]) == []
    finally:
        mail.held.clear()
    wait_until(lambda: mail.to(slow["contacts"]["email"]) or admin.advance(60))


@pytest.mark.guarantee(
    "post.down",
    "With the mail server down for an hour no letter is lost: then it comes, once.",
)
def test_what_could_not_be_sent_for_an_hour_is_sent_then(admin: Client, mail: MailServer, url: str) -> None:
    letters = through_an_hour(admin, mail, f"down-{url[:5]}")
    assert [it["X-Fairhold-Kind"] for it in letters] == ["confirmed"]


@pytest.mark.guarantee(
    "post",
    "After the first failure it is given up, and the letter never comes.",
    control=True,
)
def test_control_without_trying_again_the_letter_is_lost(
    admin: Client, mail: MailServer, place: Path, url: str
) -> None:
    with broken(place, "no trying again"):
        assert through_an_hour(admin, mail, f"lost-{url[:5]}") == []


def through_an_hour(admin: Client, mail: MailServer, pool: str) -> list[Any]:
    """What Ann got of a letter that was to be sent while the mail server was down."""
    admin.pool(pool, 5, "checkout")
    ann = person("ann", pool)
    mail.down()
    try:
        admin.book(pool, ann, confirmed=True)
        admin.advance(HOUR_S)
        assert mail.to(ann["contacts"]["email"]) == []
    finally:
        mail.up()
    admin.advance(2 * HOUR_S)
    return mail.to(ann["contacts"]["email"])


@pytest.mark.guarantee(
    "post.failing",
    "A webhook answers 500: thirty tries, ever further apart, then a dead letter; sent again by hand, "
    "it arrives.",
)
def test_a_receiver_that_fails_is_tried_less_and_less_often(admin: Client, hook: Receiver) -> None:
    webhook = admin.ask("POST", "/v1/webhooks", {"url": hook.url}, expect=201)
    try:
        hook.status = 500
        admin.pool("failing", 5, "checkout")
        made = admin.book("failing", "ann", confirmed=True)
        (message,) = admin.ask("GET", f"/v1/bookings/{made['id']}/messages")["items"]
        path, tries = f"/v1/messages/{message['id']}", [0]
        for hours in (1, 1, 48):
            admin.advance(hours * HOUR_S)
            tries.append(admin.ask("GET", path)["attempts"])
        assert 5 <= tries[1] <= 15
        assert tries[2] - tries[1] <= 3
        assert (tries[3], admin.ask("GET", path)["state"]) == (30, "dead")
        hook.status = 200
        admin.ask("POST", f"{path}/replay")
        wait_until(lambda: admin.ask("GET", path)["state"] == "sent")
        assert [it.headers["webhook-id"] for it in hook.received].count(message["id"]) > 1
    finally:
        admin.ask("DELETE", f"/v1/webhooks/{webhook['id']}")


@pytest.mark.guarantee(
    "post.bounce",
    "Ann's mailbox does not exist: her offer goes on to Bea at once, and the desk is told.",
)
def test_an_offer_that_can_never_arrive_goes_on(admin: Client, mail: MailServer, url: str) -> None:
    pool = f"bounce-{url[:5]}"
    desk = {"notifier": "email", "address": f"desk.{pool}@example.org"}
    desk = admin.ask("POST", "/v1/staff-contacts", desk, expect=201)
    mail.answers[f"ann.{pool}@example.org"] = "550 5.1.1 no such mailbox"
    try:
        _, bea = offered(admin, pool, "ann", "bea", cooldown=0)
        wait_until(lambda: admin.booking(bea["id"])["state"] == "offered")
        wait_until(lambda: mail.to(desk["address"]))
    finally:
        mail.answers.clear()
        admin.ask("DELETE", f"/v1/staff-contacts/{desk['id']}")


@pytest.mark.guarantee(
    "less-room", "Nobody is asked: who came last has no place any more, and staff did not know.", control=True
)
def test_control_without_asking_first_somebody_loses_their_place(admin: Client, place: Path) -> None:
    admin.pool("smaller", 2)
    _, bea = (admin.act(admin.book("smaller", name)["id"], "confirm") for name in ("ann", "bea"))
    less = ("PATCH", "/v1/pools/smaller", {"sizes": {"main": 1}})
    assert admin.ask(*less, expect=409)["code"] == "would_demote"
    with broken(place, "no asking first"):
        admin.ask(*less)
    assert admin.booking(bea["id"])["state"] == "waiting"


@pytest.mark.guarantee(
    "less-room.closed",
    "A pool with a seat taken, a hold, an offer and a line is called off: each booking has an end, and "
    "each letter says so.",
)
def test_who_has_a_hold_in_a_pool_that_is_called_off_is_told(
    admin: Client, mail: MailServer, url: str
) -> None:
    pool = f"off-{url[:5]}"
    admin.pool(pool, 3)
    people = [person(name, pool) for name in ("olga", "cyd", "dot", "ann", "bea")]
    made = [admin.book(pool, one) for one in people]
    admin.act(made[0]["id"], "confirm")
    admin.act(made[2]["id"], "cancel")
    states = [admin.booking(it["id"])["state"] for it in made]
    assert states == ["confirmed", "held", "cancelled", "offered", "waiting"]
    admin.ask("PATCH", f"/v1/pools/{pool}", {"status": "cancelled"})
    ended = {admin.booking(it["id"])["state"] for it in made}
    assert ended <= {"cancelled", "closed"}

    def told() -> bool:
        last = [mail.to(one["contacts"]["email"])[-1:] for one in people]
        return all(it and it[0]["X-Fairhold-Kind"] in ("cancelled", "closed") for it in last)

    wait_until(told)
