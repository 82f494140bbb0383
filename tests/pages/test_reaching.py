"""No page promises a letter that cannot come: it says why, what one can do, and that the place is kept."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from fairhold import Fairhold, tokens
from tests.http.server import Client, Server, make_key, serving
from tests.notifiers.servers import MailServer, mail_server, receiver
from tests.pages.test_bookings_and_offers import ANN, line
from tests.pages.visitor import Form, Visitor, heading, plain
from tests.patience import wait_until

SAID = {"name": "Cyd", "email": "cyd@example.org"}
KEPT = "You keep your place in line"
# Where nothing can send, and the address is not that of a developer's own machine.
ELSEWHERE = {"fairhold_base_url": "https://seats.example.org"}


def by_page(admin: Client, visitor: Visitor, key: str, **details: str) -> tuple[Any, Any, str]:
    """Olga has the only place, and somebody waits for it who came by the page: both, and the page."""
    admin.pool(key, 1)
    olga = admin.act(admin.book(key, "olga")["id"], "confirm")
    there = visitor.sign_up(key)
    if details:
        visitor.submit(f"{there}/details", details)
    (made,) = admin.ask("GET", f"/v1/pools/{key}/line")["items"]
    return olga, made, there


def offer_of(server: Server, booking: str, seq: int = 1) -> str:
    """The address of an offer, whatever has become of it."""

    async def secret() -> str:
        async with Fairhold.open(server.url, ticker=False) as hf:
            return hf.secret

    return f"/o/{tokens.offer_token(asyncio.run(secret()), booking, seq)}"


def test_who_has_left_no_address_is_promised_no_letter(admin: Client, visitor: Visitor) -> None:
    _, _, there = by_page(admin, visitor, "blank")
    page = visitor.look(there)
    words = plain(page)
    assert "No offer can reach you: please tell us below where to write." in words
    assert KEPT in words
    assert "We write to you" not in words
    # First in line, and not the next: the offer would go past.
    assert "You are next" not in words
    assert Form(page).forms[0][0] == f"{there}/details"
    # The control: once there is an address, there is a letter.
    visitor.submit(f"{there}/details", SAID)
    words = plain(visitor.look(there))
    assert "You are next When it is your turn" in words
    assert "you then have 24 hours to accept. We write to you then." in words
    assert "No offer can reach you" not in words


def test_whom_no_offer_could_reach_keeps_the_place_and_is_told_why(
    admin: Client, visitor: Visitor, server: Server
) -> None:
    olga, made, there = by_page(admin, visitor, "unheard")
    admin.act(olga["id"], "cancel")
    wait_until(lambda: admin.booking(made["id"])["reach"] == "no_contact")
    page = visitor.look(there)
    assert heading(page) == "You are #1 in line"
    words = plain(page)
    assert "please tell us below where to write" in words
    assert "The offer ended because we did not know where to send it. You kept your place in line" in words
    assert "A place has stayed free. Nobody could tell you of it." in words
    # First in line, and not the next.
    assert "You are next" not in words
    offer = visitor.look(offer_of(server, made["id"]))
    assert heading(offer) == "This is no longer available"
    assert "You are still in line, as #1. No offer can reach you at the moment" in plain(offer)
    # An address is all that was missing.
    visitor.submit(f"{there}/details", SAID)
    assert heading(visitor.look(there)) == "It is your turn"
    again = plain(visitor.look(offer_of(server, made["id"])))
    assert "There is a new offer for you: your booking's page leads to it." in again


def test_whom_staff_tell_hears_from_the_organiser(admin: Client, visitor: Visitor) -> None:
    _, ann, _ = line(admin, "by-phone")
    there = f"/b/{ann['edit_token']}"
    assert "We write to you then." in plain(visitor.look(there))
    admin.ask("PATCH", f"/v1/bookings/{ann['id']}", {"told_by_staff": True})
    words = plain(visitor.look(there))
    assert "The organiser tells you then." in words
    assert "From now on the organiser tells you of offers." in words
    assert "corrected your details" not in words
    admin.ask("PATCH", f"/v1/bookings/{ann['id']}", {"told_by_staff": False})
    assert "From now on offers are sent to you again." in plain(visitor.look(there))


def test_who_was_let_in_without_an_address_looks_at_the_page(admin: Client, visitor: Visitor) -> None:
    _, _, _ = line(admin, "kiosk")
    made = admin.book("kiosk", "number-7")
    words = plain(visitor.look(f"/b/{made['edit_token']}"))
    assert "Please look at this page from time to time: this is where you see it." in words
    assert "We write to you" not in words
    assert "No offer can reach you" not in words


# Where nothing can send.


@pytest.fixture
def mute(database_url: str) -> Iterator[tuple[Server, Client, Visitor]]:
    with (
        serving(database_url, "--test-clock", **ELSEWHERE) as server,
        server.client(make_key(server.url)) as admin,
        Visitor(base_url=server.base) as visitor,
    ):
        yield server, admin, visitor


def test_nobody_signs_up_for_a_line_where_nobody_could_be_told(mute: tuple[Server, Client, Visitor]) -> None:
    _, admin, visitor = mute
    admin.pool("yoga", 3)
    for path in ("/p/yoga", "/embed/yoga"):
        page = visitor.look(path)
        assert Form(page).buttons == []
        words = plain(page)
        assert "Not ready yet" in words
        assert "You cannot sign up here yet: this service cannot send messages" in words
        assert "If you are the organiser: the settings for sending mail are missing." in words
        assert "Sign-up is open" not in words
    (_, fields), *_ = Form(page).forms
    there = visitor.submit("/p/yoga", {**fields, "quota": "main"})
    assert there == "/p/yoga?no=not_ready"
    # It is said once, and not as a no beside it.
    assert plain(visitor.look(there)).count("You cannot sign up here yet") == 1
    assert 'role="alert"' not in visitor.look(there)
    assert admin.ask("GET", "/v1/bookings?pool=yoga")["items"] == []
    # The control: where there is no line, there is nothing to wait for.
    admin.pool("shop", 3, "checkout", page=True)
    assert Form(visitor.look("/p/shop")).buttons == [("quota", "main")]


def test_a_page_asked_for_under_another_name_does_not_count_on_the_drawer(
    admin: Client, visitor: Visitor
) -> None:
    admin.pool("tried-out", 3)
    assert Form(visitor.look("/p/tried-out")).buttons == [("quota", "main")]
    page = visitor.look("/p/tried-out", headers={"host": "seats.example.org"})
    assert Form(page).buttons == []
    assert "You cannot sign up here yet" in plain(page)
    # Who comes back when it is ready is asked to press once more.
    assert "It is now: please press once more." in plain(visitor.look("/p/tried-out?no=not_ready"))


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("X-Real-IP", "203.0.113.7"),
        ("X-Forwarded-For", "203.0.113.7"),
        ("X-Forwarded-Host", "seats.example.org"),
        ("X-Forwarded-Proto", "https"),
        ("X-Forwarded-Prefix", "/seats"),
        ("Forwarded", "for=203.0.113.7"),
        ("Via", "1.1 proxy"),
    ],
)
def test_whoever_asks_through_a_proxy_could_not_read_the_drawer(
    admin: Client, visitor: Visitor, name: str, says: str
) -> None:
    """The proxy may hand on another host than the one that was asked for: then only this tells it."""
    pool = f"behind-{name.lower()}"
    admin.pool(pool, 3)
    page = visitor.look(f"/p/{pool}", headers={name: says})
    assert Form(page).buttons == []
    assert "You cannot sign up here yet" in plain(page)
    # Control: the same from this machine, with a header that is no proxy's.
    assert Form(visitor.look(f"/p/{pool}", headers={"X-Real": says})).buttons == [("quota", "main")]


def test_where_nothing_can_send_no_page_says_that_we_write(mute: tuple[Server, Client, Visitor]) -> None:
    _, admin, visitor = mute
    looks = "Please look at this page from time to time"
    _, ann, _ = line(admin, "class")
    words = plain(visitor.look(f"/b/{ann['edit_token']}"))
    assert "you then have 24 hours to accept. " + looks in words
    assert "We write to you" not in words
    _, ann, _ = line(admin, "ball", "event_signup")
    visitor.submit(f"/b/{ann['edit_token']}/confirm", SAID)
    words = plain(visitor.look(f"/b/{ann['edit_token']}"))
    assert "When it is your turn, the place is yours at once. " + looks in words
    assert "We write to you" not in words


def test_a_program_that_hears_of_offers_is_no_letter_to_whoever_gave_no_address(
    mute: tuple[Server, Client, Visitor],
) -> None:
    _, admin, visitor = mute
    hook = {"url": "https://receiver.invalid/", "kinds": ["offer"]}
    admin.ask("POST", "/v1/webhooks", hook, expect=201)
    _, _, there = by_page(admin, visitor, "hooked")
    words = plain(visitor.look(there))
    assert "Please look at this page from time to time" in words
    assert "We write to you" not in words
    # The control: with an address, the program can write to them.
    visitor.submit(f"{there}/details", SAID)
    assert "We write to you then." in plain(visitor.look(there))


def test_who_came_by_a_page_that_can_send_no_more_is_told_so(database_url: str) -> None:
    with serving(database_url, "--test-clock") as server, Visitor(base_url=server.base) as visitor:
        key = make_key(server.url)
        with server.client(key) as admin:
            olga, made, there = by_page(admin, visitor, "class", **SAID)
    with (
        serving(database_url, "--test-clock", **ELSEWHERE) as server,
        server.client(key) as admin,
        Visitor(base_url=server.base) as visitor,
    ):
        said = "No offer can reach you: this service cannot send messages at the moment. " + KEPT
        # Before any offer, and after the first that nothing could send.
        assert said in plain(visitor.look(there))
        admin.act(olga["id"], "cancel")
        wait_until(lambda: admin.booking(made["id"])["reach"] == "no_channel")
        words = plain(visitor.look(there))
        assert said in words
        assert "Please ask the organiser, who can offer you a place." in words
        assert "The offer ended because nothing here could send it to you." in words


# A mail server that says no, or nothing.


@pytest.fixture
def mail() -> Iterator[MailServer]:
    with mail_server() as running:
        yield running


@pytest.fixture
def writing(database_url: str, mail: MailServer) -> Iterator[tuple[Client, Visitor]]:
    settings = {"fairhold_smtp_url": mail.url, "fairhold_mail_from": "Seats <seats@example.org>"}
    with (
        serving(database_url, "--test-clock", **settings) as server,
        server.client(make_key(server.url)) as admin,
        Visitor(base_url=server.base) as visitor,
    ):
        yield admin, visitor


def test_an_address_that_is_dead_can_be_corrected_on_the_page(
    writing: tuple[Client, Visitor], mail: MailServer
) -> None:
    admin, visitor = writing
    mail.answers["cid@example.org"] = "550 5.1.1 no such mailbox"
    olga, made, there = by_page(admin, visitor, "dead", name="Cyd", email="cid@example.org")
    admin.act(olga["id"], "cancel")
    wait_until(lambda: admin.booking(made["id"])["reach"] == "dead_contact")
    page = visitor.look(there)
    words = plain(page)
    assert "our message could not be delivered. Please correct your address below. " + KEPT in words
    action, fields = Form(page).forms[0]
    assert (action, fields["email"]) == (f"{there}/details", "cid@example.org")
    assert "The offer ended because our message could not be delivered to you." in words
    visitor.submit(action, {**fields, "email": "cyd@example.org"})
    assert heading(visitor.look(there)) == "It is your turn"


def test_a_mail_server_that_was_down_is_no_fault_of_whoever_waits(
    writing: tuple[Client, Visitor], mail: MailServer
) -> None:
    admin, visitor = writing
    olga, made, there = by_page(admin, visitor, "down", **SAID)
    wait_until(lambda: mail.to("cyd@example.org"))
    mail.down()
    admin.act(olga["id"], "cancel")
    wait_until(lambda: "could not be sent to you yet" in visitor.look(there))
    admin.advance(86_400)
    assert admin.booking(made["id"])["reach"] == "channel_down"
    words = plain(visitor.look(there))
    assert "An offer could not be sent to you in time, through a fault on our side. " + KEPT in words
    assert "The offer ended before it could be sent to you." in words
    assert "answer in time" not in words


def test_whoever_gave_no_address_is_asked_for_one_where_the_program_is_gone(
    database_url: str,
) -> None:
    """Nobody but a program was told of offers, and it says that it is gone: an address is another way."""
    settings = {**ELSEWHERE, "fairhold_webhooks_to_private": "yes"}
    with (
        serving(database_url, "--test-clock", **settings) as server,
        server.client(make_key(server.url)) as admin,
        Visitor(base_url=server.base) as visitor,
        receiver() as hook,
    ):
        admin.ask("POST", "/v1/webhooks", {"url": hook.url, "kinds": ["offer"]}, expect=201)
        hook.status = 410
        olga, made, there = by_page(admin, visitor, "gone")
        admin.act(olga["id"], "cancel")
        wait_until(lambda: admin.booking(made["id"])["reach"] == "channel_down")
        page = visitor.look(there)
        assert "No offer can reach you: please tell us below where to write. " + KEPT in plain(page)
        assert Form(page).forms[0][0] == f"{there}/details"
        # Control: whoever has said one already can do no more.
        hook.status = 410
        visitor.submit(f"{there}/details", SAID)
        wait_until(lambda: admin.booking(made["id"])["reach"] == "channel_down")
        words = plain(visitor.look(there))
        assert "through a fault on our side. " + KEPT in words
        assert "tell us below" not in words


def test_a_visitor_with_a_telephone_alone_is_asked_for_what_can_be_written_to(
    writing: tuple[Client, Visitor],
) -> None:
    admin, visitor = writing
    admin.pool("phone", 1)
    admin.book("phone", ANN)
    there = visitor.sign_up("phone")
    (made,) = admin.ask("GET", "/v1/pools/phone/line")["items"]
    admin.ask("PATCH", f"/v1/bookings/{made['id']}", {"contacts": {"phone": "+358 40 123 4567"}})
    page = visitor.look(there)
    assert "please tell us below where to write" in plain(page)
    assert "how do we reach you?" in plain(page)
    assert Form(page).forms[0][0] == f"{there}/details"
