"""Who attacks a running service, and what they would have without its protections."""

from __future__ import annotations

import asyncio
import csv
import io
import json
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path

import pytest

from tests.console.desk import Desk
from tests.database import asking
from tests.guarantees.broken import broken
from tests.http.server import Client, Server, make_key
from tests.notifiers.servers import MailServer, Receiver, receiver
from tests.pages.visitor import Visitor, plain
from tests.patience import PATIENCE_S, wait_until

PERSON = {"X-Forwarded-For": "198.51.100.7"}


@pytest.fixture(scope="session")
def public(server: Server) -> str:
    return make_key(server.url, "public")


def tries_of_a_bot(server: Server, public: str, pool: str, tries: int, address: str) -> Counter[int]:
    """What a bot is told that asks under ever new names, from one address, ten at a time."""
    headers = {"Authorization": f"Bearer {public}", "Content-Type": "application/json"}
    headers["X-Forwarded-For"] = address

    def ask(first: int) -> list[int]:
        told = []
        with closing(HTTPConnection("127.0.0.1", server.port, PATIENCE_S)) as bot:
            for number in range(first, tries, 10):
                body = json.dumps({"party": f"bot {number}"})
                bot.request("POST", f"/v1/pools/{pool}/bookings", body, headers)
                answer = bot.getresponse()
                answer.read()
                told.append(answer.status)
        return told

    with ThreadPoolExecutor(10) as many:
        return Counter(status for told in many.map(ask, range(10)) for status in told)


@pytest.mark.guarantee(
    "hoarding.served",
    "A bot asks a thousand times for a pool of a hundred, under new names: twenty holds, and 980 times 429. "
    "Somebody else gets a seat.",
)
def test_a_bot_that_asks_a_thousand_times_leaves_seats_for_people(
    server: Server, admin: Client, public: str
) -> None:
    admin.pool("tickets", 100, "checkout")
    assert tries_of_a_bot(server, public, "tickets", 1_000, "203.0.113.9") == {201: 20, 429: 980}
    with server.client(public) as person:
        person.headers.update(PERSON)
        assert person.book("tickets", "ann")["state"] == "held"


@pytest.mark.guarantee("hoarding", "It has every seat, and the next person none.", control=True)
def test_control_without_limits_a_bot_has_every_seat(
    server: Server, admin: Client, public: str, place: Path
) -> None:
    admin.pool("sold-out", 30, "checkout")
    with broken(place, "no limits"):
        assert tries_of_a_bot(server, public, "sold-out", 30, "203.0.113.10") == {201: 30}
    assert admin.book("sold-out", "ann", expect=409)["code"] == "not_enough_room"


@pytest.mark.guarantee("other-org", "The key of another org reads a pool of ours.", control=True)
def test_control_without_a_scope_another_org_reads_ours(
    admin: Client, other_org: Client, place: Path
) -> None:
    admin.pool("ours", 1, title="Ours alone")
    assert other_org.get("/v1/pools/ours").status_code == 404
    with broken(place, "no scope"):
        assert "Ours alone" in other_org.get("/v1/pools").text


@pytest.mark.guarantee(
    "forged-post", "A form that another site sends with Olga's cookie makes a pool.", control=True
)
def test_control_without_asking_for_the_origin_another_site_makes_a_pool(
    admin: Client, olga: Desk, place: Path
) -> None:
    body = {"key": "forged", "quotas": [{"key": "main", "size": 1}]}
    forged = {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}
    assert olga.post("/v1/pools", json=body, headers=forged).status_code == 403
    assert admin.get("/v1/pools/forged").status_code == 404
    with broken(place, "no origin"):
        assert olga.post("/v1/pools", json=body, headers=forged).status_code == 201


@pytest.mark.guarantee("names", "A script in a title is a script in the page.", control=True)
def test_control_without_escaping_a_title_is_markup(admin: Client, visitor: Visitor, place: Path) -> None:
    admin.pool("evil", 1, title="<script>alert(1)</script>")
    assert "<script>alert" not in visitor.look("/p/evil")
    with broken(place, "no escaping"):
        assert "<script>alert" in visitor.look("/p/evil")


@pytest.fixture
def inside() -> Iterator[Receiver]:
    with receiver() as running:
        yield running


@pytest.mark.guarantee(
    "inner-address.redirect", "A receiver that answers 302 to an inner address has failed; nobody went there."
)
def test_a_redirect_is_not_followed(admin: Client, hook: Receiver, inside: Receiver) -> None:
    webhook = admin.ask("POST", "/v1/webhooks", {"url": hook.url}, expect=201)
    hook.status, hook.headers = 302, {"Location": inside.url}
    went = admin.ask("POST", f"/v1/webhooks/{webhook['id']}/test")
    assert (went["state"], went["error"]) == ("failed", "answered 302")
    assert len(hook.received) == 1
    assert inside.received == []
    admin.ask("DELETE", f"/v1/webhooks/{webhook['id']}")


@pytest.mark.guarantee("injection.mail", "A title with line ends and a Bcc is one subject, to one person.")
def test_a_title_writes_no_headers(admin: Client, mail: MailServer, url: str) -> None:
    pool = f"headers-{url[:5]}"
    admin.pool(pool, 5, "checkout", title="Gala\r\nBcc: eve@example.org\r\n\r\nBuy!")
    party = {"id": "ann", "name": "Ann\nCc: eve@example.org", "contacts": {"email": f"{pool}@example.org"}}
    admin.book(pool, party, confirmed=True)
    (letter,) = wait_until(lambda: mail.to(f"{pool}@example.org"))
    assert (letter["Bcc"], letter["Cc"], letter["To"]) == (None, None, f"{pool}@example.org")
    assert "Gala Bcc: eve@example.org" in " ".join(str(letter["Subject"]).split())


@pytest.mark.guarantee("injection", "A formula stands in the table as it was written.", control=True)
def test_control_without_a_prefix_a_formula_stands_in_the_table(admin: Client, place: Path) -> None:
    admin.pool("formula", 5, "checkout")
    admin.book("formula", {"id": "ann", "name": "=1+1"})

    def name() -> str:
        found = admin.get("/v1/pools/formula/bookings.csv").content.decode("utf-8-sig")
        return next(csv.DictReader(io.StringIO(found)))["name"]

    assert name() == "'=1+1"
    with broken(place, "no prefix"):
        assert name() == "=1+1"


ENTRY = "pool_id = (SELECT id FROM fairhold_pools WHERE key = 'record') AND seq"
TAMPERED = {
    "edited": (
        f"UPDATE fairhold_log SET by = 'staff:mallory' WHERE {ENTRY} = 3",
        "log entry 3: it was edited",
    ),
    "deleted": (f"DELETE FROM fairhold_log WHERE {ENTRY} = 3", "log entry 4: 3 missing before it"),
    "cut off": (f"DELETE FROM fairhold_log WHERE {ENTRY} > 3", "log entry 4: the end is missing"),
}


def checked(olga: Desk, admin: Client) -> str:
    """What the console says when somebody of staff presses the button that checks the record."""
    pool = admin.ask("GET", "/v1/pools/record")["id"]
    return plain(olga.press(f"/console/happened?pool={pool}", "/console/happened/check", 200))


async def tampered(url: str, statement: str) -> None:
    """The log with a change by somebody who has the database; what it was is kept beside it."""
    async with asking(url) as run:
        await run("CREATE TABLE kept AS SELECT * FROM fairhold_log")
        await run(statement)


async def put_right(url: str) -> None:
    async with asking(url) as run:
        await run("DELETE FROM fairhold_log")
        await run("INSERT INTO fairhold_log SELECT * FROM kept")
        await run("DROP TABLE kept")


@pytest.fixture
def record(admin: Client) -> None:
    if admin.get("/v1/pools/record").status_code == 404:
        admin.pool("record", 1)
        for name in ("olga", "ann", "bea", "cyd"):
            admin.book("record", name)


@pytest.mark.guarantee(
    "tampering.found",
    "Entries of a served database are edited, deleted and cut off: the console's check names the entry.",
)
@pytest.mark.usefixtures("record")
def test_tampering_is_found_at_the_desk(server: Server, admin: Client, olga: Desk) -> None:
    assert "The record is whole." in checked(olga, admin)
    for statement, said in TAMPERED.values():
        asyncio.run(tampered(server.url, statement))
        page = checked(olga, admin)
        asyncio.run(put_right(server.url))
        assert "Something is wrong with the record." in page
        assert said in page
    assert "The record is whole." in checked(olga, admin)


@pytest.mark.guarantee("tampering", "An edited entry passes for the record.", control=True)
@pytest.mark.usefixtures("record")
def test_control_without_the_chain_an_edit_is_not_found(
    server: Server, admin: Client, olga: Desk, place: Path
) -> None:
    asyncio.run(tampered(server.url, TAMPERED["edited"][0]))
    with broken(place, "no chain"):
        assert "The record is whole." in checked(olga, admin)
    asyncio.run(put_right(server.url))
