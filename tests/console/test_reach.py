"""Who cannot be told of an offer is seen by staff: why, what to set or whom to call, and what to do."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.console.desk import Desk, make_members
from tests.console.stage import freed
from tests.http.server import Client, make_key, serving
from tests.pages.visitor import plain
from tests.patience import wait_until

NEEDS = "/console/needs"
CANNOT = "Letters cannot be sent."


class Place:
    """A service, its admin, and Olga at her desk."""

    def __init__(self, url: str, admin: Client, desk: Desk) -> None:
        self.url, self.admin, self.desk = url, admin, desk

    def freed(self, pool: str, name: str, preset: str = "class_waitlist", **contacts: str) -> str:
        """A pool whose one seat comes free for somebody who came by the page; the booking's id."""
        policy = {} if preset == "class_waitlist" else {"policy": {"confirm_while_waiting": False}}
        self.admin.pool(pool, 1, preset=preset, title=pool.title(), **policy)
        return freed(self.url, self.admin, pool, name, **contacts)

    def booking(self, booking: str) -> Any:
        return self.admin.booking(booking)

    def needs(self) -> str:
        return plain(self.desk.look(NEEDS))


def placed(url: str, **settings: str) -> Iterator[Place]:
    with (
        serving(url, "--test-clock", **settings) as server,
        server.client(make_key(url)) as admin,
        Desk(base_url=server.base) as desk,
    ):
        make_members(url)
        desk.sign_in("Olga")
        yield Place(url, admin, desk)


@pytest.fixture
def mute(tmp_path: Path) -> Iterator[Place]:
    """A service that others come to, and that nothing is set up for to send letters."""
    yield from placed(f"sqlite:///{tmp_path}/mute.db", fairhold_base_url="http://seats.example.org")


@pytest.fixture
def broken(tmp_path: Path) -> Iterator[Place]:
    """A service whose mail server does not answer."""
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        mail = f"smtp://127.0.0.1:{closed.getsockname()[1]}"
        settings = {"fairhold_smtp_url": mail, "fairhold_mail_from": "desk@example.org"}
        yield from placed(f"sqlite:///{tmp_path}/broken.db", **settings)


def test_where_nothing_can_send_every_page_says_what_to_set(mute: Place) -> None:
    mute.admin.pool("yoga", 1)
    pool = mute.admin.ask("GET", "/v1/pools/yoga")["id"]
    for path in ("/console/pools", NEEDS, "/console/settings", "/console/numbers", f"/console/pools/{pool}"):
        words = plain(mute.desk.look(path))
        assert CANNOT in words, path
        assert "Set FAIRHOLD_SMTP_URL and FAIRHOLD_MAIL_FROM" in words, path
    assert "All is well" not in mute.needs()
    assert mute.desk.get("/console/letters").status_code == 404
    assert "/console/letters" not in mute.desk.look("/console/pools")


def test_a_program_that_is_told_of_offers_carries_them_so_nothing_is_missing(mute: Place) -> None:
    hook = {"url": "https://receiver.invalid/", "kinds": ["joined"]}
    made = mute.admin.ask("POST", "/v1/webhooks", hook, expect=201)
    assert CANNOT in mute.needs()
    mute.admin.ask("PATCH", f"/v1/webhooks/{made['id']}", {"kinds": ["offer"]})
    assert CANNOT not in mute.needs()
    assert "Nothing needs you. All is well." in mute.needs()


def test_who_is_passed_over_needs_you_with_what_to_set(mute: Place) -> None:
    before = mute.desk.look("/console/pools")
    ann = mute.freed("yoga", "Ann", email="ann@example.org")
    assert mute.booking(ann)["reach"] == "no_channel"
    words = mute.needs()
    assert "In line, and cannot be told of an offer" in words
    assert "No mail server is set up: set FAIRHOLD_SMTP_URL and FAIRHOLD_MAIL_FROM." in words
    assert "#1 · 1 place · ann@example.org" in words
    assert 'data-part="needs-count" hidden' in before
    assert 'data-part="needs-count" hidden' not in mute.desk.look("/console/pools")
    pool = mute.booking(ann)["pool"]
    line = plain(mute.desk.look(f"/console/pools/{pool}"))
    assert "cannot be told" in line
    story = plain(mute.desk.look(f"/console/happened?pool={pool}"))
    assert "Ann cannot be told of the offer: nothing is set up that could tell them." in story
    person = plain(mute.desk.look(f"/console/happened?person={mute.booking(ann)['reference']}"))
    assert "Ann cannot be told of the offer: nothing is set up that could tell them." in person


def assert_yours_to_tell(place: Place, booking: str) -> None:
    """Check that staff are asked to tell somebody of an offer, are counted on it, and can answer for them."""
    page = place.desk.look(NEEDS)
    words = plain(page)
    assert "Offers that you tell them of" in words
    assert "You tell them: offered until" in words
    assert "1 place · ann@example.org" in words
    assert "In line, and cannot be told of an offer" not in words
    assert 'data-part="needs-count" hidden' not in page
    assert {f"/console/bookings/{booking}/yes", f"/console/bookings/{booking}/no"} <= set(
        place.desk.actions(NEEDS)
    )


def test_a_seat_is_offered_and_staff_are_asked_to_tell_them(mute: Place) -> None:
    ann = mute.freed("yoga", "Ann", email="ann@example.org")
    there = mute.desk.press(NEEDS, f"/console/bookings/{ann}/offer")
    assert there == "/console/needs?told=offered_by_you"
    words = plain(mute.desk.look(there))
    assert "Please tell them yourselves: no letter reaches them." in words
    assert "they are told" not in words
    assert mute.booking(ann)["state"] == "offered"
    assert_yours_to_tell(mute, ann)
    assert "No mail server is set up: set FAIRHOLD_SMTP_URL" in mute.needs()
    assert "you tell them" in plain(mute.desk.look(f"/console/pools/{mute.booking(ann)['pool']}"))


def test_nobody_is_called_told_whose_letter_came_back(broken: Place) -> None:
    """Mail is set up and there is an address, but it does not take mail: staff tell of what they offer."""
    bea = broken.freed("yoga", "Bea", email="bea at nowhere")
    assert broken.booking(bea)["reach"] == "dead_contact"
    page = f"/console/bookings/{bea}"
    assert "Offers pass them over. The address does not take mail" in plain(broken.desk.look(page))
    assert broken.desk.press(NEEDS, f"{page}/offer") == "/console/needs?told=offered_by_you"
    words = plain(broken.desk.look(page))
    assert "You tell them of this offer. The address does not take mail: the letter came back." in words
    assert "Later offers pass them over again." in words
    broken.admin.advance(24 * 3600)
    broken.desk.sign_in("Olga")
    assert (broken.booking(bea)["state"], broken.booking(bea)["attempts"]) == ("waiting", 1)
    assert "Offers pass them over. The address does not take mail" in plain(broken.desk.look(page))
    assert "In line, and cannot be told of an offer" in broken.needs()


def test_without_room_there_is_nothing_to_offer_now(mute: Place) -> None:
    ann = mute.freed("yoga", "Ann", email="ann@example.org")
    assert f"/console/bookings/{ann}/offer" in mute.desk.actions(NEEDS)
    mute.admin.book("yoga", "walk-in", confirmed=True)
    actions = mute.desk.actions(NEEDS)
    assert f"/console/bookings/{ann}/tell" in actions
    assert f"/console/bookings/{ann}/offer" not in actions


def test_staff_say_that_they_tell_them_and_take_it_back(mute: Place) -> None:
    ann = mute.freed("yoga", "Ann", email="ann@example.org")
    there = mute.desk.press(NEEDS, f"/console/bookings/{ann}/tell")
    assert there == "/console/needs?told=told_by_staff"
    assert "you tell them" in plain(mute.desk.look(there))
    assert "cannot be told of an offer" not in mute.needs()
    # The seat that was free goes to her at once, and Olga has said so.
    assert (mute.booking(ann)["reach"], mute.booking(ann)["state"]) == ("staff", "offered")
    assert_yours_to_tell(mute, ann)
    page = f"/console/bookings/{ann}"
    assert "You tell them of offers yourselves." in plain(mute.desk.look(page))
    assert mute.desk.press(page, f"{page}/tell-no-more") == f"{page}?told=told_by_letters"
    assert mute.booking(ann)["reach"] != "staff"
    log = mute.admin.ask("GET", "/v1/pools/yoga/log?limit=500")["items"]
    said = [(it["by"], it["facts"]["details"]) for it in log if it["event"] == "BookingChanged"]
    assert said == [("staff:Olga", ["told_by_staff"]), ("staff:Olga", ["told_by_channels"])]
    story = plain(mute.desk.look(f"/console/happened?person={mute.booking(ann)['reference']}"))
    assert "Staff tell Ann of offers themselves." in story
    assert "Letters tell Ann of offers again." in story


def test_the_desk_says_by_which_door_somebody_came(mute: Place) -> None:
    ann = mute.freed("yoga", "Ann", email="ann@example.org")
    words = plain(mute.desk.look(f"/console/bookings/{ann}"))
    assert "Came by the public page" in words
    assert "Offers pass them over. No mail server is set up" in words
    bea = mute.admin.book("yoga", "bea")
    words = plain(mute.desk.look(f"/console/bookings/{bea['id']}"))
    assert "Came by a program of yours" in words
    assert "Offers pass them over" not in words
    # The link on the page of what needs one leads to the fields, open.
    assert f"/console/bookings/{ann}?change=yes#details" in mute.desk.look(NEEDS)
    assert 'id="details" open' in mute.desk.look(f"/console/bookings/{ann}?change=yes")
    assert 'id="details" open' not in mute.desk.look(f"/console/bookings/{ann}")


def test_a_letter_that_nothing_could_carry_is_not_sent_with_the_reason(mute: Place) -> None:
    ann = mute.freed("yoga", "Ann", email="ann@example.org")
    pool = mute.booking(ann)["pool"]
    page = mute.desk.look(f"/console/pools/{pool}/messages")
    words = plain(page)
    assert "Offer" in words
    assert "Not sent no mail server is set up (FAIRHOLD_SMTP_URL)" in words
    assert ">Sent<" not in page
    # Nor were staff: nobody of them has said where.
    assert "Not sent nobody of staff has said where to be told (Settings, Contacts and web sites)" in words
    replays = [it for it in mute.desk.actions(f"/console/pools/{pool}/messages") if it.endswith("/replay")]
    assert replays
    assert mute.desk.press(f"/console/pools/{pool}/messages", replays[0]).endswith("told=replayed")


def test_who_was_given_a_place_and_does_not_know_it_needs_you(mute: Place) -> None:
    ann = mute.freed("ball", "Ann", "event_signup", email="ann@example.org")
    assert mute.booking(ann)["state"] == "held"
    words = mute.needs()
    assert "People who could not be reached" in words
    assert "They do not know what became of their booking." in words
    assert "Got a place Not sent ann@example.org · no mail server is set up (FAIRHOLD_SMTP_URL)" in words
    (away,) = [it for it in mute.desk.actions(NEEDS) if it.endswith("/dismiss")]
    mute.desk.press(NEEDS, away)
    assert "Besides that, nothing needs you." in mute.needs()


def test_a_place_that_is_held_and_not_told_of_needs_you_until_after_the_hold(broken: Place) -> None:
    """The mail server does not answer, and half an hour is soon over."""
    ann = broken.freed("ball", "Ann", "event_signup", email="ann@example.org")
    page = f"/console/bookings/{ann}"
    words = wait_until(lambda: (it := broken.needs()) and "A place is held for them until" in it and it)
    assert "Got a place On its way ann@example.org" in words
    assert f"{page}/extend" in broken.desk.actions(NEEDS)
    assert not [it for it in broken.desk.actions(NEEDS) if it.endswith(("/replay", "/dismiss"))]
    broken.admin.advance(1_801)
    assert broken.booking(ann)["state"] == "expired"
    assert "The place was held for them, and the time is over: put it back" in broken.needs()
    assert broken.desk.press(page, f"{page}/put-back") == f"{page}?told=put_back"
    assert "The place was held for them" not in broken.needs()


def test_every_reason_has_its_words(broken: Place) -> None:
    people = {
        "no_contact": ("Ann", {}, "There is no address to send an offer to."),
        "dead_contact": ("Bea", {"email": "bea at nowhere"}, "The address does not take mail"),
        "no_channel": ("Cyd", {"phone": "+358401234567"}, "No text service is set up: set FAIRHOLD_SMS_URL"),
        "channel_down": (
            "Dee",
            {"email": "dee@example.org"},
            "No program or mail server took the letter in time.",
        ),
    }
    booked = {
        reach: broken.freed(name.lower(), name, **contacts) for reach, (name, contacts, _) in people.items()
    }
    # What the server does not take is tried until the window ends.
    assert broken.booking(booked["channel_down"])["reach"] == ""
    broken.admin.advance(24 * 3600)
    broken.desk.sign_in("Olga")
    words = broken.needs()
    for reach, (name, contacts, sentence) in people.items():
        assert broken.booking(booked[reach])["reach"] == reach
        told = words.partition(f"{name} · {name}")[2][:200]
        assert sentence in told, reach
        assert next(iter(contacts.values()), "no contact") in told, reach
    # Letters can be sent here, so the page says nothing of settings at its head.
    assert CANNOT not in words
    # The last offer is known to have been late, and counts as none.
    story = plain(broken.desk.look("/console/happened?pool=dee"))
    assert "The offer cannot be sent to Dee yet; it is tried again." in story
    assert "no program or mail server took the letter in time. It does not count" in story
    figures = plain(broken.desk.look("/console/numbers?pool=dee"))
    assert "Could not be told 1" in figures


@pytest.mark.parametrize(("name", "hears"), [("Ann", True), ("Bea", False)])
def test_nobody_is_called_told_whom_no_letter_reaches(broken: Place, name: str, hears: bool) -> None:
    """Bea gave no address at the desk. Control: Ann, to whom letters can go."""
    contacts = {"email": "ann@example.org"} if hears else {}
    broken.admin.pool("yoga", 1)
    holder = broken.admin.book("yoga", "holder", confirmed=True)
    made = broken.admin.book("yoga", {"id": name.lower(), "name": name, "contacts": contacts})
    broken.admin.ask("PATCH", "/v1/pools/yoga", {"status": "paused"})
    broken.admin.act(holder["id"], "cancel", {"as_staff": True})
    page = f"/console/bookings/{made['id']}"
    before = plain(broken.desk.look(page))
    offered = plain(broken.desk.look(broken.desk.press(page, f"{page}/offer", why="first")))
    assert broken.booking(made["id"])["state"] == "offered"
    cancelled = plain(broken.desk.look(broken.desk.press(page, f"{page}/cancel")))
    if hears:
        assert "Those behind move up. They are told." in before
        assert "Done: they are told." in offered
        assert "Cancelled. They are told." in cancelled
    else:
        assert "Those behind move up. No letter reaches them: please tell them yourselves." in before
        assert "Done. Please tell them yourselves: no letter reaches them." in offered
        assert "Cancelled. Please tell them yourselves." in cancelled
        for words in (before, offered, cancelled):
            assert "hey are told" not in words


def test_an_address_that_is_mended_makes_them_reachable(broken: Place) -> None:
    bea = broken.freed("yoga", "Bea", email="bea at nowhere")
    assert broken.booking(bea)["reach"] == "dead_contact"
    page = f"/console/bookings/{bea}"
    there = broken.desk.press(page, f"{page}/details", email="bea@example.org", name="Bea")
    assert there == f"{page}?told=saved"
    assert (broken.booking(bea)["reach"], broken.booking(bea)["state"]) == ("", "offered")
