"""A mail server that is down costs nobody a turn; on one's own machine a drawer of letters counts as told."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.console.desk import Desk, make_members
from tests.http.server import Client, Server, make_key, serving
from tests.notifiers.servers import MailServer, mail_server
from tests.pages.visitor import Visitor, plain
from tests.patience import wait_until
from tests.stories.people import DAY_S, events, full_pool, messages, needs_of, token_of, waiting_by_page

CYD = "cyd@example.org"


@pytest.fixture
def mail() -> Iterator[MailServer]:
    with mail_server() as running:
        yield running


@pytest.fixture
def writing(database_url: str, mail: MailServer) -> Iterator[Server]:
    """A service with a mail server, which may be down."""
    settings = {"fairhold_smtp_url": mail.url, "fairhold_mail_from": "Seats <seats@example.org>"}
    with serving(database_url, "--test-clock", **settings) as running:
        yield running


def asked(server: Server) -> tuple[Client, Visitor]:
    """Return a client of staff, and a visitor at the pages, of a service."""
    return server.client(make_key(server.url)), Visitor(base_url=server.base)


def of_kind(mail: MailServer, kind: str) -> int:
    return sum(letter["X-Fairhold-Kind"] == kind for letter in mail.to(CYD))


@pytest.mark.guarantee(
    "untold.down",
    "The mail server is down for all of Cyd's 24 hours: her offer ends as unreachable and costs her nothing. "
    "When it is up again she gets the late letter, and is asked again.",
)
def test_an_offer_whose_letter_no_server_took_does_not_count(writing: Server, mail: MailServer) -> None:
    admin, visitor = asked(writing)
    with admin, visitor:
        olga = full_pool(admin, "yoga")
        cyd = waiting_by_page(admin, visitor, "yoga", "Cyd")
        wait_until(lambda: of_kind(mail, "joined"))
        mail.down()
        admin.act(olga["id"], "cancel")
        wait_until(lambda: events(admin, "yoga", cyd)[-1] == "delayed")
        admin.advance(DAY_S - 60)
        assert admin.booking(cyd["id"])["state"] == "offered"
        admin.advance(60)
        kept = admin.booking(cyd["id"])
        assert (kept["state"], kept["reach"]) == ("waiting", "channel_down")
        assert (kept["position"], kept["attempts"]) == (1, 0)
        assert [it.reach for it in needs_of(writing.url).passed_over] == ["channel_down"]
        assert of_kind(mail, "offer") == 0
        mail.up()
        admin.advance(7_200)
        again = admin.booking(cyd["id"])
        assert (again["state"], again["reach"], again["attempts"]) == ("offered", "", 1)
        assert of_kind(mail, "offer") == 2
        assert needs_of(writing.url).passed_over == ()


@pytest.mark.guarantee(
    "untold.said",
    "A line is served by itself while the mail server is down: staff see who got a place that is held and "
    "was not told, while the hold runs and after it, until the letter comes.",
)
def test_a_place_that_no_letter_told_of_is_seen_by_staff(writing: Server, mail: MailServer) -> None:
    admin, visitor = asked(writing)
    with admin, visitor:
        price = {"amount": 2_500, "currency": "EUR"}
        policy = {"confirm_by": None, "hold_window": 1_800}
        olga = full_pool(admin, "gala", "event_signup", price=price, policy=policy)
        token = token_of(visitor.sign_up("gala"))
        visitor.submit(f"/b/{token}/confirm", {"name": "Una", "email": CYD})
        (una,) = admin.ask("GET", "/v1/pools/gala/line")["items"]
        wait_until(lambda: of_kind(mail, "confirmed"))
        mail.down()
        admin.act(olga["id"], "cancel")

        def listed() -> list[str]:
            return [it.booking.id for it in needs_of(writing.url).unreached if it.booking is not None]

        wait_until(lambda: listed() == [una["id"]])
        assert admin.booking(una["id"])["state"] == "held"
        admin.advance(1_801)
        assert (admin.booking(una["id"])["state"], listed()) == ("expired", [una["id"]])
        mail.up()
        admin.advance(7_200)
        wait_until(lambda: listed() == [])
        assert of_kind(mail, "promoted") == 1


def test_an_offer_whose_letter_was_taken_lapses_as_ever(writing: Server, mail: MailServer) -> None:
    """Control: the same with a mail server that is there."""
    admin, visitor = asked(writing)
    with admin, visitor:
        olga = full_pool(admin, "yoga")
        cyd = waiting_by_page(admin, visitor, "yoga", "Cyd")
        admin.act(olga["id"], "cancel")
        admin.advance(3 * DAY_S)
        assert of_kind(mail, "offer") == 3
        assert admin.booking(cyd["id"])["state"] == "closed"


def test_on_ones_own_machine_letters_are_in_a_drawer_and_everything_works(database_url: str) -> None:
    with serving(database_url, "--test-clock") as server:
        make_members(server.url)
        admin, visitor = asked(server)
        with admin, visitor, Desk(base_url=server.base) as desk:
            olga = full_pool(admin, "yoga")
            cyd = waiting_by_page(admin, visitor, "yoga", "Cyd")
            admin.act(olga["id"], "cancel")
            wait_until(lambda: events(admin, "yoga", cyd)[-1] == "told")
            assert messages(admin, cyd) == [("sent", "")]
            desk.sign_in("Olga")
            assert CYD in plain(desk.look("/console/letters"))
            # Whoever asks under another name than the machine's own could not read the drawer.
            elsewhere = visitor.look("/p/yoga", headers={"host": "seats.example.org"})
            assert "You cannot sign up here yet" in plain(elsewhere)
            assert "You cannot sign up here yet" not in plain(visitor.look("/p/yoga"))
            admin.advance(DAY_S)
            assert admin.booking(cyd["id"])["attempts"] == 2
            assert "lapsed" in events(admin, "yoga", cyd)
