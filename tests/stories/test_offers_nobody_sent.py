"""Nobody loses a place over an offer that nobody sent, and staff see whom to call or what to set.

The service has no mail server, and its address is not that of a developer's own machine. A webhook that is
subscribed to offers carries them while it is there, so it is how people could sign up at the pages.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from fairhold import Fairhold, granted, tokens
from tests.http.server import Client, Server, serving
from tests.pages.visitor import Visitor, plain
from tests.patience import wait_until
from tests.stories.people import (
    DAY_S,
    carried,
    events,
    full_pool,
    messages,
    needs_of,
    say_details,
    waiting_by_page,
)

SECRET = "a secret of the stories"
SETTINGS = {
    "fairhold_base_url": "https://seats.example.org",
    "fairhold_secret": SECRET,
    "fairhold_webhooks_to_private": "yes",
}
NOT_READY = "You cannot sign up here yet"
NOT_SET = "no mail server is set up: FAIRHOLD_SMTP_URL"


@pytest.fixture(scope="module")
def server(module_url: str) -> Iterator[Server]:
    with serving(module_url, "--test-clock", **SETTINGS) as running:
        yield running


def passed_over(server: Server, booking: Any) -> str:
    """Return why staff are told that no offer can reach this booking; empty if they are not."""
    return next((it.reach for it in needs_of(server.url).passed_over if it.id == booking["id"]), "")


def unreachable(admin: Client, booking: Any) -> Any:
    """Return why a booking is passed over, once it is."""
    return wait_until(lambda: (it := admin.booking(booking["id"]))["state"] == "waiting" and it["reach"])


def offered(admin: Client, booking: Any) -> Any:
    """Return a booking once it is offered a place."""
    return wait_until(lambda: (it := admin.booking(booking["id"]))["state"] == "offered" and it)


@pytest.mark.guarantee(
    "untold.page",
    "Where nothing can send, the page of a pool with a line says that it is not ready, and takes nobody.",
)
def test_a_page_that_could_tell_nobody_says_that_signing_up_is_not_ready(
    admin: Client, visitor: Visitor
) -> None:
    admin.pool("yoga", 3)
    assert NOT_READY in plain(visitor.look("/p/yoga"))
    there = visitor.submit("/p/yoga", {"quota": "main"})
    assert "no=not_ready" in there
    assert NOT_READY in plain(visitor.look(there))
    assert admin.ask("GET", "/v1/bookings?pool=yoga")["items"] == []
    # Controls: a pool without a line needs no letters, and a program that is told of offers carries them.
    admin.pool("shop", 3, "checkout", page=True)
    assert "/b/" in visitor.sign_up("shop")
    with carried(admin):
        assert NOT_READY not in plain(visitor.look("/p/yoga"))
        assert "/b/" in visitor.sign_up("yoga")


@pytest.mark.guarantee(
    "untold.kept",
    "Cyd signed up by a page, and since then nothing can send: her offer ends at once, and after three days "
    "she is still the first in line, with no attempt and no turn used. The seat went on to Dan.",
)
@pytest.mark.guarantee(
    "untold.said",
    "The letters say not_sent, that to staff as well, and which setting is missing; what needs staff lists "
    "Cyd.",
)
def test_who_could_not_be_told_keeps_everything_and_the_seat_goes_on(
    server: Server, admin: Client, visitor: Visitor
) -> None:
    with carried(admin):
        olga = full_pool(admin, "class")
        cyd = waiting_by_page(admin, visitor, "class", "Cyd")
    dan = admin.book("class", "dan")
    admin.act(olga["id"], "cancel")
    assert unreachable(admin, cyd) == "no_channel"
    assert offered(admin, dan)["door"] == "secret_key"
    admin.advance(3 * DAY_S)
    kept = admin.booking(cyd["id"])
    assert (kept["state"], kept["position"], kept["attempts"]) == ("waiting", 1, 0)
    assert kept["round"] == cyd["round"]
    # Who let Dan in tells him: his offers ran as ever.
    assert admin.booking(dan["id"])["state"] == "closed"
    assert messages(admin, cyd) == [("not_sent", NOT_SET)]
    told = {(it["kind"], it["state"]) for it in admin.ask("GET", "/v1/pools/class/messages")["items"]}
    assert ("unreachable", "not_sent") in told
    assert not {it for it in told if it[1] == "sent"} - {("joined", "sent")}
    assert "not_reached" in events(admin, "class", cyd)
    assert passed_over(server, cyd) == "no_channel"
    old = admin.get(f"/v1/offers/{tokens.offer_token(SECRET, cyd['id'], 1)}").json()
    assert old["outcome"] == "unreachable"
    late = admin.ask("POST", f"/v1/offers/{tokens.offer_token(SECRET, cyd['id'], 1)}/claim", expect=410)
    assert late["code"] == "offer_withdrawn"
    # No seat stands idle over it: newcomers may have it.
    assert admin.book("class", "eve")["state"] == "held"


@pytest.mark.guarantee(
    "untold.again",
    "Cyd changes her address, or a webhook for offers is added: she is asked again, and takes the seat.",
)
def test_who_could_not_be_told_is_asked_again_when_that_changes(
    server: Server, admin: Client, visitor: Visitor
) -> None:
    with carried(admin):
        olga = full_pool(admin, "choir")
        cyd = waiting_by_page(admin, visitor, "choir", "Cyd")
    admin.act(olga["id"], "cancel")
    unreachable(admin, cyd)
    say_details(visitor, cyd["edit_token"], name="Cyd", email="cyd@example.com")
    wait_until(lambda: events(admin, "choir", cyd).count("not_reached") == 2)
    assert unreachable(admin, cyd) == "no_channel"
    assert admin.booking(cyd["id"])["attempts"] == 0
    with carried(admin) as hook:
        admin.advance(60)
        assert offered(admin, cyd)["reach"] == ""
        wait_until(lambda: hook.received)
        assert passed_over(server, cyd) == ""
        token = admin.booking(cyd["id"])["offer"]["token"]
        assert visitor.submit(f"/o/{token}/claim")
        assert admin.booking(cyd["id"])["state"] == "confirmed"
    assert messages(admin, cyd) == [("not_sent", NOT_SET), ("not_sent", NOT_SET), ("sent", "")]


@pytest.mark.guarantee(
    "untold.again",
    "The only program that was told of offers is gone (410): Cyd is asked again once another one is added.",
)
def test_whom_a_program_that_is_gone_should_have_told_is_asked_again(
    server: Server, admin: Client, visitor: Visitor
) -> None:
    with carried(admin) as gone:
        olga = full_pool(admin, "chess")
        cyd = waiting_by_page(admin, visitor, "chess", "Cyd")
        gone.status = 410
        admin.act(olga["id"], "cancel")
        assert unreachable(admin, cyd) == "channel_down"
        admin.advance(3_600)
        about_cyd = [it for it in gone.received if cyd["id"].encode() in it.body]
        assert (len(about_cyd), passed_over(server, cyd)) == (1, "channel_down")
        with carried(admin) as other:
            admin.advance(7_200)
            assert offered(admin, cyd)["reach"] == ""
            wait_until(lambda: other.received)
            assert passed_over(server, cyd) == ""


@pytest.mark.guarantee(
    "untold.kept",
    "Staff offer Cyd a seat, and tell her of it: that offer counts. After it she is passed over as before, "
    "and three days later has used no other attempt.",
)
@pytest.mark.guarantee(
    "untold.said", "Staff see of which live offer they have to tell, and who is passed over again after it."
)
def test_a_seat_that_staff_offer_once_makes_no_other_offer_count(
    server: Server, admin: Client, visitor: Visitor
) -> None:
    with carried(admin):
        olga = full_pool(admin, "sewing")
        cyd = waiting_by_page(admin, visitor, "sewing", "Cyd")
    admin.act(olga["id"], "cancel")
    unreachable(admin, cyd)
    assert admin.ask("POST", f"/v1/bookings/{cyd['id']}/offer", {})["state"] == "offered"
    needs = needs_of(server.url)
    assert cyd["id"] in [it.id for it in needs.to_tell]
    assert cyd["id"] not in [it.id for it in needs.passed_over]
    admin.advance(4 * DAY_S)
    kept = admin.booking(cyd["id"])
    assert (kept["state"], kept["position"], kept["attempts"]) == ("waiting", 1, 1)
    assert passed_over(server, cyd) == "no_channel"
    assert cyd["id"] not in [it.id for it in needs_of(server.url).to_tell]


def test_whom_staff_tell_themselves_has_the_usual_time(
    admin: Client, visitor: Visitor, server: Server
) -> None:
    with carried(admin):
        olga = full_pool(admin, "pottery")
        cyd = waiting_by_page(admin, visitor, "pottery", "Cyd")
    admin.act(olga["id"], "cancel")
    unreachable(admin, cyd)
    said = admin.ask("PATCH", f"/v1/bookings/{cyd['id']}", {"told_by_staff": True})
    assert (said["state"], said["reach"], said["attempts"]) == ("offered", "staff", 1)
    assert passed_over(server, cyd) == ""
    assert cyd["id"] in [it.id for it in needs_of(server.url).to_tell]
    admin.advance(DAY_S)
    assert admin.booking(cyd["id"])["attempts"] == 2


def by_library(url: str, pool: str) -> None:
    async def book() -> None:
        async with Fairhold.open(url, ticker=False) as hf:
            granted(await hf.book(pool, "ann"))

    asyncio.run(book())


def test_whoever_lets_somebody_in_tells_them(server: Server, admin: Client, public: Client) -> None:
    """Control: who came by another door than a page is offered and lapses as ever, without any channel."""
    csv = {"content": b"party_id\nann\n", "headers": {"content-type": "text/csv"}}
    ways: dict[str, Callable[[str], Any]] = {
        "secret_key": lambda pool: admin.book(pool, "ann"),
        "public_key": lambda pool: public.book(pool, "ann"),
        "csv": lambda pool: admin.ask("POST", f"/v1/pools/{pool}/import", **csv),
        "library": lambda pool: by_library(server.url, pool),
    }
    for door, let_in in ways.items():
        pool = door.replace("_", "-")
        olga = full_pool(admin, pool)
        let_in(pool)
        admin.act(olga["id"], "cancel")
    admin.advance(3 * DAY_S)
    for door in ways:
        (ann,) = admin.ask("GET", f"/v1/bookings?pool={door.replace('_', '-')}&party=ann")["items"]
        assert (ann["door"], ann["state"], ann["attempts"]) == (door, "closed", 3)
        assert messages(admin, ann)[0][0] == "not_sent"
