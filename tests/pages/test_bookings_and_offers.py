"""A booking's and an offer's page: how things stand, and what can be done by who has the link."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.http.server import Client, Server
from tests.pages.visitor import Visitor, heading, plain
from tests.patience import wait_until

ANN = {"id": "ann", "name": "Ann", "contacts": {"email": "ann@example.org"}}
BEA = {"id": "bea", "name": "Bea", "contacts": {"email": "bea@example.org"}}


def line(admin: Client, key: str, preset: str = "class_waitlist", **fields: Any) -> tuple[Any, Any, Any]:
    """Olga has the seat, Ann and Bea wait for it."""
    admin.pool(key, 1, preset, **fields)
    olga = admin.book(key, "olga")
    admin.act(olga["id"], "confirm")
    return olga, admin.book(key, ANN), admin.book(key, BEA)


def offered(admin: Client, key: str, preset: str = "class_waitlist", **fields: Any) -> tuple[Any, Any, str]:
    """The seat is offered to Ann: she, Bea behind her, and the address of the offer."""
    olga, ann, bea = line(admin, key, preset, **fields)
    admin.act(olga["id"], "cancel")
    return ann, bea, f"/o/{admin.booking(ann['id'])['offer']['token']}"


def test_who_waits_sees_the_position_and_what_comes_next(admin: Client, visitor: Visitor) -> None:
    _, ann, bea = line(admin, "wait")
    page = visitor.look(f"/b/{bea['edit_token']}")
    assert heading(page) == "You are #2 in line"
    assert "1 ahead of you" in plain(page)
    assert "you then have 24 hours to accept" in plain(page)
    assert "You joined the line as #2." in plain(page)
    assert visitor.submit(f"/b/{ann['edit_token']}/cancel") == f"/b/{ann['edit_token']}"
    page = visitor.look(f"/b/{bea['edit_token']}")
    assert heading(page) == "You are #1 in line"
    assert "You are next" in plain(page)
    assert heading(visitor.look(f"/b/{ann['edit_token']}")) == "This booking is cancelled"


def test_why_staff_moved_somebody_is_for_staff(admin: Client, visitor: Visitor, server: Server) -> None:
    _, ann, bea = line(admin, "private")
    admin.act(ann["id"], "move", {"to": "back", "why": "always complains"})
    page = visitor.look(f"/b/{ann['edit_token']}")
    assert "The organiser moved you from #1 to #2." in plain(page)
    assert "complains" not in page
    # A program for visitors may ask by the link: it is told no more. Staff are.
    key = admin.ask("POST", "/v1/keys", {"name": "shop", "role": "public"}, expect=201)["secret"]
    with server.client(key) as shop:
        (*_, moved) = shop.ask("GET", f"/v1/bookings/{ann['edit_token']}/explain")["items"]
        assert moved["sentence"] == "Staff moved you from #1 to #2."
        assert "why" not in moved["facts"]
    (*_, moved) = admin.ask("GET", f"/v1/bookings/{ann['id']}/explain")["items"]
    assert moved["facts"]["why"] == "always complains"
    admin.act(bea["id"], "cancel", {"as_staff": True, "why": "asked by phone"})
    assert "asked by phone" in visitor.look(f"/b/{bea['edit_token']}")


def test_who_has_had_a_turn_is_not_told_to_be_next(admin: Client, visitor: Visitor) -> None:
    rounds = {"turns": "round", "cooldown": 0, "attempts_max": None}
    ann, _, there = offered(admin, "rounds", policy=rounds)
    cyd = admin.book("rounds", "cyd")
    visitor.submit(f"{there}/decline")
    had = "You have had your turn: those who have had no offer in this round come first."
    for there_or_booking in (there, f"/b/{ann['edit_token']}"):
        page = plain(visitor.look(there_or_booking))
        assert had in page
        assert "you are next" not in page.lower()
        assert "The next offer to you" not in page
    # While Bea is asked, nobody else is in line: the next place is Ann's.
    admin.act(cyd["id"], "cancel")
    page = plain(visitor.look(f"/b/{ann['edit_token']}"))
    assert had not in page
    assert "You are next" in page


def test_who_waits_can_change_what_was_said(admin: Client, visitor: Visitor) -> None:
    _, ann, _ = line(admin, "change")
    there = f"/b/{ann['edit_token']}"
    told = visitor.submit(f"{there}/details", {"name": "Ann A.", "email": "new@example.org"})
    assert told == f"{there}?told=saved"
    assert "Saved" in visitor.look(told)
    party = admin.booking(ann["id"])["party"]
    assert (party["name"], party["contacts"]) == ("Ann A.", {"email": "new@example.org"})


def test_a_language_that_is_asked_for_is_kept_with_the_region_of_the_browser(
    admin: Client, visitor: Visitor
) -> None:
    british = {"accept-language": "fi,en-GB;q=0.8"}
    said = {"name": "Ann", "email": "ann@example.org"}
    for key, locale, kept in (("asked", "fi", "en-GB"), ("known", "en-US", "en-US")):
        _, ann, _ = line(admin, key)
        admin.ask("PATCH", f"/v1/bookings/{ann['id']}", {"locale": locale})
        visitor.submit(f"/b/{ann['edit_token']}/details?lang=en", said, **british)
        assert admin.booking(ann["id"])["party"]["locale"] == kept


def test_to_reload_what_came_of_more_time_takes_no_more(admin: Client, visitor: Visitor) -> None:
    admin.pool("reloaded", 5, "checkout", page=True)
    there = visitor.sign_up("reloaded")
    form = {"ends": re.findall(r'name="ends" value="([0-9]+)"', visitor.look(there))[0]}
    admin.advance(60)
    visitor.submit(f"{there}/extend", form, expect=200)
    token = there.rpartition("/")[2]
    once = admin.booking(token)["expires_at"]
    admin.advance(60)
    visitor.submit(f"{there}/extend", form, expect=200)
    assert admin.booking(token)["expires_at"] == once


def test_a_hold_can_be_extended_as_long_as_the_policy_lets_one(admin: Client, visitor: Visitor) -> None:
    admin.pool("more", 1, "checkout")
    there = f"/b/{admin.book('more', ANN)['edit_token']}"
    for left in (30, 45, 60):
        assert "I need more time" in visitor.look(there)
        assert visitor.submit(f"{there}/extend") == f"{there}?told=extended"
        assert f'data-left="{left * 60}"' in visitor.look(there)
    assert "I need more time" not in visitor.look(there)
    told = visitor.submit(f"{there}/extend")
    assert told == f"{there}?told=hold_lifetime_used_up"
    assert "More time cannot be given" in visitor.look(told)
    admin.pool("fixed", 1, "event_signup")
    assert "I need more time" not in visitor.look(f"/b/{admin.book('fixed', ANN)['edit_token']}")


def test_who_needs_more_time_keeps_what_was_typed(admin: Client, visitor: Visitor) -> None:
    asked = [{"key": "diet", "title": "Diet"}, {"key": "rules", "title": "Rules", "kind": "checkbox"}]
    admin.pool("typing", 1, "checkout", questions=asked)
    made = admin.book("typing", "ann")
    there = f"/b/{made['edit_token']}"
    page = visitor.look(there)
    # The button sends the very form, whatever is still missing in it.
    (form,) = re.findall(rf'<form method="post" action="{there}/confirm">.*?</form>', page, re.DOTALL)
    assert re.search(rf'<button[^>]* formaction="{there}/extend"[^>]* formnovalidate', form)
    typed = {"name": "Ann", "email": "ann@", "q-diet": "nuts", "q-rules": "yes"}
    page = visitor.submit(f"{there}/extend", typed, expect=200)
    assert "You have more time now." in plain(page)
    assert 'data-left="1800"' in page
    assert all(f'value="{said}"' in page for said in ("Ann", "ann@"))
    assert ">nuts</textarea>" in page
    assert re.search(r'id="q-rules"[^>]* checked', page)
    # Nothing of it is kept before they confirm, and nothing is called wrong yet.
    assert 'role="alert" tabindex' not in page
    assert admin.booking(made["id"])["party"]["name"] == ""
    for _ in range(2):
        visitor.submit(f"{there}/extend", typed, expect=200)
    page = visitor.submit(f"{there}/extend", typed, expect=200)
    assert "More time cannot be given" in plain(page)
    assert 'value="Ann"' in page


def test_a_hold_that_ended_says_so_and_cannot_be_confirmed(admin: Client, visitor: Visitor) -> None:
    admin.pool("late", 1, "checkout", page=True)
    there = f"/b/{admin.book('late', ANN)['edit_token']}"
    admin.advance(15 * 60)
    page = visitor.look(there)
    assert heading(page) == "The time ran out"
    assert "Sign up again" in page
    assert visitor.submit(f"{there}/confirm", {"name": "Ann", "email": "a@example.org"}) == there
    assert visitor.submit(f"{there}/cancel") == f"{there}?told=not_possible"
    assert heading(visitor.look(there)) == "The time ran out"


@pytest.mark.guarantee("two-taps.one-person", "On the page, pressing again shows the same yes.")
def test_claiming_is_one_yes_however_often_it_is_pressed(admin: Client, visitor: Visitor) -> None:
    ann, _, there = offered(admin, "claim")
    page = visitor.look(there)
    assert heading(page) == "A place is free for you"
    assert 'data-left="86400"' in page
    assert "you keep your place in line" in plain(page)
    booking = visitor.look(f"/b/{ann['edit_token']}")
    assert heading(booking) == "It is your turn"
    assert f'href="{there}"' in booking
    for _ in range(2):
        assert visitor.submit(f"{there}/claim") == there
        page = visitor.look(there)
        assert heading(page) == "It is yours"
        assert ann["reference"] in page
    assert visitor.submit(f"{there}/decline") == there
    assert heading(visitor.look(there)) == "It is yours"
    assert admin.booking(ann["id"])["state"] == "confirmed"


def test_declining_goes_on_to_the_next_at_once(admin: Client, visitor: Visitor) -> None:
    ann, bea, there = offered(admin, "decline")
    assert visitor.submit(f"{there}/decline") == there
    page = visitor.look(there)
    assert heading(page) == "Thank you for telling us"
    # Bea is asked, and Ann is first only when her cooldown is over: nothing else would be true.
    assert "You are still in line, as #1." in plain(page)
    assert "The next offer to you is possible from" in plain(page)
    for there_or_booking in (there, f"/b/{ann['edit_token']}"):
        assert "you are next" not in plain(visitor.look(there_or_booking)).lower()
    assert admin.booking(bea["id"])["state"] == "offered"
    # Too late to say yes: the page says the same.
    assert visitor.submit(f"{there}/claim") == there
    assert heading(visitor.look(there)) == "Thank you for telling us"
    assert admin.booking(ann["id"])["state"] == "waiting"


@pytest.mark.guarantee(
    "two-taps.late",
    "After the window the page says calmly that it is over, and the button does nothing.",
)
def test_an_offer_that_ended_is_a_calm_page(admin: Client, visitor: Visitor) -> None:
    ann, _, there = offered(admin, "expire")
    admin.advance(24 * 3600)
    for _ in range(2):
        page = visitor.look(there)
        assert heading(page) == "The time to answer has passed"
        assert "You are still in line" in plain(page)
        visitor.submit(f"{there}/claim")
    assert admin.booking(ann["id"])["state"] == "waiting"
    _, _, there = offered(admin, "leave", "course_section")
    admin.advance(24 * 3600)
    assert "has gone to the next in line" in plain(visitor.look(there))


def test_an_offer_that_was_taken_back_says_that_it_is_gone(admin: Client, visitor: Visitor) -> None:
    _, _, there = offered(admin, "smaller")
    body = {"sizes": {"main": 0}, "allow_demotion": True}
    admin.ask("PATCH", "/v1/pools/smaller", body)
    page = visitor.look(there)
    assert heading(page) == "This is no longer available"
    assert "You are still in line, and you are next." in plain(page)
    _, _, there = offered(admin, "ended")
    admin.ask("PATCH", "/v1/pools/ended", {"status": "closed"})
    assert heading(visitor.look(there)) == "This has ended"
    ann, _, there = offered(admin, "gone")
    admin.act(ann["id"], "cancel")
    assert heading(visitor.look(there)) == "This offer has been answered already"


def test_a_late_tap_on_a_chair_that_somebody_else_took_says_that_it_was_filled(
    admin: Client, visitor: Visitor
) -> None:
    quotas = [{"key": "main", "units": [{"label": "1A"}]}]
    admin.ask("POST", "/v1/pools", {"key": "filled", "preset": "last_minute", "quotas": quotas}, expect=201)
    olga, ann, bea = [admin.book("filled", who) for who in ("olga", ANN, BEA)]
    admin.act(olga["id"], "cancel")
    there = f"/o/{admin.booking(ann['id'])['offer']['token']}"
    admin.advance(10 * 60)
    assert heading(visitor.look(there)) == "The time to answer has passed"
    admin.ask("POST", f"/v1/offers/{admin.booking(bea['id'])['offer']['token']}/claim")
    for _ in range(2):
        page = visitor.look(there)
        assert heading(page) == "Sorry, this was just filled"
        assert "You are still in line, and you are next." in plain(page)
        visitor.submit(f"{there}/claim")
    assert admin.booking(ann["id"])["state"] == "waiting"


def test_part_of_an_offer_can_be_taken_where_the_policy_lets_one(admin: Client, visitor: Visitor) -> None:
    admin.pool("part", 2)
    olga = admin.book("part", "olga", quantity=2)
    ann = admin.book("part", ANN, quantity=2)
    admin.act(olga["id"], "cancel")
    there = f"/o/{admin.booking(ann['id'])['offer']['token']}"
    page = visitor.look(there)
    assert heading(page) == "2 places are free for you"
    assert '<option value="1">1 place</option>' in page
    assert visitor.submit(f"{there}/claim", {"quantity": "3"}) == f"{there}?no=invalid"
    assert "cannot be had here" in visitor.look(f"{there}?no=invalid")
    assert visitor.submit(f"{there}/claim", {"quantity": "1"}) == there
    page = visitor.look(there)
    assert heading(page) == "It is yours"
    # There is room for the rest too, so it is offered at once, with an answer of its own.
    assert "For the rest (1 place) there is a new offer." in plain(page)
    assert f'href="/b/{ann["edit_token"]}"' in page
    assert admin.booking(ann["id"])["state"] == "offered"
    admin.act(ann["id"], "decline")
    assert "For the rest (1 place) you are #1 in line." in plain(visitor.look(there))


def test_an_offer_that_is_held_first_leads_on_to_the_booking(admin: Client, visitor: Visitor) -> None:
    ann, _, there = offered(admin, "pay", policy={"claim_to": "held"})
    visitor.submit(f"{there}/claim")
    page = visitor.look(there)
    assert heading(page) == "It is held for you"
    assert f'href="/b/{ann["edit_token"]}"' in page


@pytest.mark.guarantee(
    "mail-scanner.looking",
    "The pages of an offer and a booking, and every address that acts, asked by GET and HEAD: no change.",
)
def test_looking_changes_nothing_however_it_is_done(admin: Client, visitor: Visitor) -> None:
    ann, _, there = offered(admin, "scanned")
    held = admin.pool("scanned-too", 1, "checkout") and admin.book("scanned-too", ANN)
    # That the letter about the offer has gone out is noted once.
    wait_until(lambda: admin.ask("GET", "/v1/pools/scanned/log")["items"][-1]["event"] == "Told")
    before = [admin.ask("GET", f"/v1/pools/{key}/log")["items"] for key in ("scanned", "scanned-too")]
    acts = [f"/b/{it['edit_token']}" for it in (ann, held)]
    acts += [f"{acts[1]}/{act}" for act in ("confirm", "details", "extend", "cancel", "code.svg")]
    acts += [there, f"{there}/claim", f"{there}/decline", "/p/scanned", "/embed/scanned"]
    for path in acts:
        for method in ("GET", "HEAD"):
            answer = visitor.request(method, path)
            assert answer.status_code in (200, 303), path
    after = [admin.ask("GET", f"/v1/pools/{key}/log")["items"] for key in ("scanned", "scanned-too")]
    assert after == before
    for method in ("PUT", "DELETE", "PATCH"):
        assert visitor.request(method, there).status_code == 405


@pytest.mark.guarantee("enumeration.same-no", "A made-up link gets the same calm page, whatever is made up.")
@pytest.mark.parametrize(
    "path", ["/b/nope", "/b/%00", "/o/nope", "/o/a.b", "/p/nope", "/embed/nope", "/embed/b/x"]
)
def test_a_link_that_is_not_ours_is_a_calm_page(visitor: Visitor, path: str) -> None:
    answer = visitor.get(path)
    assert answer.status_code == 404
    assert answer.headers["content-type"].startswith("text/html")
    assert heading(answer.text) == "There is nothing here"


def test_a_token_of_one_booking_opens_no_other(admin: Client, visitor: Visitor) -> None:
    _, ann, bea = line(admin, "apart")
    mixed = ann["edit_token"][:20] + bea["edit_token"][20:]
    visitor.look(f"/b/{mixed}", expect=404)
    visitor.submit(f"/b/{mixed}/cancel", expect=404)
    assert admin.booking(ann["id"])["state"] == "waiting"


def test_the_calendar_and_the_code_are_there_once_the_place_is(admin: Client, visitor: Visitor) -> None:
    admin.pool("dated", 1, "checkout", starts_at="2099-05-04T16:00:00Z", title="A walk")
    made = admin.book("dated", ANN)
    there = f"/b/{made['edit_token']}"
    visitor.look(f"{there}/calendar.ics", expect=404)
    admin.act(made["id"], "confirm")
    answer = visitor.get(f"{there}/calendar.ics")
    assert answer.headers["content-type"] == "text/calendar; charset=utf-8"
    assert made["reference"] in answer.headers["content-disposition"]
    assert "DTSTART:20990504T160000Z" in answer.text
    assert "SUMMARY:A walk" in answer.text
    answer = visitor.get(f"{there}/code.svg")
    assert answer.headers["content-type"] == "image/svg+xml"
    assert answer.text.startswith("<svg")
    for path in (f"{there}/calendar.ics", f"{there}/code.svg"):
        assert f'{path}"' in visitor.look(there)
