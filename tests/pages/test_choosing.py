"""What is chosen on a pool's page is not lost, and what the page says fits how things stand."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.http.server import Client
from tests.pages.test_signing_up import bookings
from tests.pages.visitor import Visitor, heading, plain

ANN = {"id": "ann", "name": "Ann", "contacts": {"email": "ann@example.org"}}


def row(admin: Client, key: str, labels: list[str], **fields: Any) -> None:
    quotas = [{"key": "main", "units": labels}]
    body = {"key": key, "preset": "checkout", "page": True, "quotas": quotas, **fields}
    admin.ask("POST", "/v1/pools", body, expect=201)


def test_several_places_and_one_by_name_are_a_calm_no_and_nothing_is_lost(
    admin: Client, visitor: Visitor
) -> None:
    row(admin, "flight", ["13C", "13D"])
    there = visitor.sign_up("flight", quantity="2", **{"unit-main": "13C"})
    assert there == "/p/flight?no=one_by_name&quantity=2&unit-main=13C"
    assert bookings(admin, "flight") == []
    page = visitor.look(there)
    assert "Only one place can be chosen by its name." in plain(page)
    assert re.search(r'<input id="quantity"[^>]* value="2"', page)
    assert '<option value="13C" selected>' in page
    held = visitor.sign_up("flight", quantity="2")
    assert heading(visitor.look(held)) == "13C, 13D are held for you"


def test_a_refused_sign_up_keeps_what_was_chosen(admin: Client, visitor: Visitor) -> None:
    row(admin, "full", ["1A", "1B"])
    admin.book("full", "olga", units=["1A"])
    there = visitor.sign_up("full", quantity="2")
    assert there == "/p/full?no=not_enough_room&quantity=2"
    assert re.search(r'<input id="quantity"[^>]* value="2"', visitor.look(there))
    # What is nonsense comes back as nothing.
    page = visitor.look("/p/full?no=invalid&quantity=%22x&unit-main=%3Cb%3E")
    assert re.search(r'<input id="quantity"[^>]* value="1"', page)
    assert " selected" not in page


def test_free_places_behind_a_line_say_why_they_cannot_be_had(admin: Client, visitor: Visitor) -> None:
    admin.pool("cooling", 1)
    olga = admin.book("cooling", "olga")
    ann = admin.book("cooling", ANN)
    said = "Those in line are asked first."
    assert said not in plain(visitor.look("/p/cooling"))
    admin.act(olga["id"], "cancel")
    admin.act(ann["id"], "decline")
    page = plain(visitor.look("/p/cooling"))
    assert "1 of 1 free · 1 in line" in page
    assert said in page


@pytest.mark.parametrize("status", ["paused", "closed"])
def test_a_pool_without_a_line_promises_nothing_about_it(
    admin: Client, visitor: Visitor, status: str
) -> None:
    key = f"rules-{status}"
    admin.pool(key, 1)
    assert "the next in line has 24 hours" in plain(visitor.look(f"/p/{key}"))
    admin.ask("PATCH", f"/v1/pools/{key}", {"status": status})
    assert "the next in line has 24 hours" not in plain(visitor.look(f"/p/{key}"))


def test_news_are_told_only_while_they_are_true(admin: Client, visitor: Visitor) -> None:
    admin.pool("news", 1, "checkout")
    there = f"/b/{admin.book('news', ANN)['edit_token']}"
    extended = visitor.submit(f"{there}/extend")
    assert "You have more time now." in plain(visitor.look(extended))
    visitor.submit(f"{there}/confirm", {"name": "Ann", "email": "ann@example.org"})
    # As one sees it who goes back in the browser.
    assert "You have more time now." not in plain(visitor.look(extended))
    assert "Saved" in plain(visitor.look(f"{there}?told=saved"))
    visitor.submit(f"{there}/cancel")
    assert "Saved" not in plain(visitor.look(f"{there}?told=saved"))


def test_several_units_are_spoken_of_as_several(admin: Client, visitor: Visitor) -> None:
    row(admin, "seats", ["13C", "13D"])
    there = f"/b/{admin.book('seats', ANN, quantity=2)['edit_token']}"
    assert heading(visitor.look(there)) == "13C, 13D are held for you"
    assert heading(visitor.look(f"{there}?lang=de")) == "13C, 13D sind für Sie reserviert"
    visitor.submit(f"{there}/confirm", {"name": "Ann", "email": "ann@example.org"})
    assert heading(visitor.look(there)) == "13C, 13D are yours"
    admin.pool("pair", 2)
    olga, ann = admin.book("pair", "olga", quantity=2), admin.book("pair", ANN, quantity=2)
    admin.act(olga["id"], "cancel")
    assert "2 places are kept for you until" in plain(visitor.look(f"/b/{ann['edit_token']}"))


def test_how_many_places_one_may_ask_for_is_said_before_one_asks(admin: Client, visitor: Visitor) -> None:
    admin.pool("twelve", 12)
    page = visitor.look("/p/twelve")
    assert re.search(r'<input id="quantity"[^>]* max="4"', page)
    # Beside the field, and among the rules.
    assert plain(page).count("At most 4 places for each sign-up.") == 2
    there = visitor.sign_up("twelve", quantity="12")
    assert there == "/p/twelve?no=invalid&quantity=12"
    said = "That number of places cannot be had here. At most 4 places for each sign-up."
    assert said in plain(visitor.look(there))
    assert bookings(admin, "twelve") == []
    assert visitor.sign_up("twelve", quantity="4").startswith("/b/")


def test_where_one_place_is_all_nobody_is_asked_how_many(admin: Client, visitor: Visitor) -> None:
    admin.pool("single", 12, "event_signup")
    page = visitor.look("/p/single")
    assert 'id="quantity"' not in page
    assert "for each sign-up" not in plain(page)
    there = visitor.sign_up("single", quantity="2")
    assert "cannot be had here. One place for each sign-up." in plain(visitor.look(there))
    assert bookings(admin, "single") == []


def test_who_was_called_off_hears_what_is_so(admin: Client, visitor: Visitor) -> None:
    admin.pool("off", 2)
    booked = admin.book("off", "olga")
    admin.ask("PATCH", "/v1/pools/off", {"status": "cancelled"})
    words = plain(visitor.look("/p/off"))
    assert "This has been called off, and all bookings have ended." in words
    # Nobody could write to Olga.
    assert "told" not in words
    assert admin.booking(booked["id"])["state"] == "closed"
