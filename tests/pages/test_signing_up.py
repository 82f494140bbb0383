"""Signing up on a pool's page: at once, once, and only from the page itself."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.http.server import Client
from tests.pages.visitor import Form, Visitor, heading, plain

ANN = {"name": "Ann", "email": "ann@example.org"}
QUESTIONS: list[dict[str, Any]] = [
    {"key": "diet", "title": "Is there anything you do not eat?"},
    {"key": "meal", "title": "Meal", "kind": "choice", "choices": ["fish", "beans"], "required": True},
    {"key": "rules", "title": "I know the rules", "kind": "checkbox", "required": True},
    {"key": "age", "title": "Age", "kind": "number", "min": 18},
]


def bookings(admin: Client, pool: str) -> list[Any]:
    found: list[Any] = admin.ask("GET", f"/v1/bookings?pool={pool}")["items"]
    return found


def test_a_button_signs_up_at_once_and_the_form_confirms(admin: Client, visitor: Visitor) -> None:
    admin.pool("supper", 2, "event_signup", title="Supper", questions=QUESTIONS)
    there = visitor.sign_up("supper")
    (made,) = bookings(admin, "supper")
    assert made["state"] == "held"
    page = visitor.look(there)
    assert heading(page) == "A place is held for you"
    assert 'data-left="1800"' in page
    answers = {"q-diet": "nuts", "q-meal": "fish", "q-rules": "yes", "q-age": "44"}
    assert visitor.submit(f"{there}/confirm", ANN | answers) == there
    page = visitor.look(there)
    assert heading(page) == "The place is yours"
    assert made["reference"] in page
    kept = admin.booking(made["id"])
    assert (kept["state"], kept["party"]["name"]) == ("confirmed", "Ann")
    assert kept["party"]["contacts"] == {"email": "ann@example.org"}
    assert kept["answers"] == {"diet": "nuts", "meal": "fish", "rules": True, "age": 44}
    # And once more, as after a double tap.
    assert visitor.submit(f"{there}/confirm", ANN | answers) == there


def test_what_is_wrong_is_said_by_field_and_nothing_is_kept(admin: Client, visitor: Visitor) -> None:
    admin.pool("brunch", 2, "event_signup", questions=QUESTIONS)
    there = visitor.sign_up("brunch")
    wrong = {"name": " ", "email": "ann", "q-meal": "beef", "q-age": "17", "q-diet": "<b>nuts"}
    page = visitor.submit(f"{there}/confirm", wrong, expect=422)
    assert "5 things need another look" in plain(page)
    for name in ("name", "email", "q-meal", "q-rules", "q-age"):
        assert f'id="error-{name}"' in page
    assert "&lt;b&gt;nuts" in page
    (made,) = bookings(admin, "brunch")
    assert (made["state"], made["party"]["name"]) == ("held", "")


def test_pressing_twice_is_signing_up_once(admin: Client, visitor: Visitor) -> None:
    admin.pool("twice", 5, "event_signup", policy={"party_quantity_max": 2})
    (action, fields), *_ = Form(visitor.look("/p/twice")).forms
    first = visitor.submit(action, {**fields, "quota": "main"})
    assert visitor.submit(action, {**fields, "quota": "main"}) == first
    # For another number it is the same person, who has something already.
    assert visitor.submit(action, {**fields, "quota": "main", "quantity": "2"}) == first
    assert len(bookings(admin, "twice")) == 1
    # The page anew is another sign-up.
    assert visitor.sign_up("twice") != first


def test_a_full_pool_gives_a_place_in_line_or_a_calm_no(admin: Client, visitor: Visitor) -> None:
    admin.pool("small", 1)
    admin.book("small", "olga")
    page = visitor.look("/p/small")
    assert "Join the line" in page
    assert "has 24 hours to accept" in plain(page)
    there = visitor.sign_up("small")
    assert heading(visitor.look(there)) == "You are #1 in line"
    admin.pool("strict", 1, "checkout", page=True)
    form = Form(visitor.look("/p/strict")).forms[0]
    admin.book("strict", "olga")
    there = visitor.submit(form[0], {**form[1], "quota": "main"})
    assert there == "/p/strict?no=not_enough_room"
    assert "not enough room" in visitor.look(there)
    assert 'value="main"' not in visitor.look(there)


def test_who_joins_the_line_is_written_to_as_soon_as_we_know_where(admin: Client, visitor: Visitor) -> None:
    admin.pool("post", 1)
    admin.book("post", "olga")
    there = visitor.sign_up("post")
    visitor.submit(f"{there}/details", ANN)
    made = next(it for it in bookings(admin, "post") if it["state"] == "waiting")
    told = admin.ask("GET", f"/v1/bookings/{made['id']}/messages")["items"]
    assert [it["kind"] for it in told] == ["joined", "joined"]


@pytest.mark.parametrize(
    "headers",
    [
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"sec-fetch-site": "none"},
        {"origin": "https://evil.example"},
        {"origin": "null"},
    ],
)
def test_a_form_from_elsewhere_does_nothing(admin: Client, visitor: Visitor, headers: dict[str, str]) -> None:
    key = "guarded-" + re.sub("[^a-z]", "", str(headers))
    admin.pool(key, 5)
    (action, fields), *_ = Form(visitor.look(f"/p/{key}")).forms
    answer = visitor.post(action, data={**fields, "quota": "main"}, headers=headers)
    assert answer.status_code == 403
    assert heading(answer.text) == "Please start on the page itself"
    assert bookings(admin, key) == []
    # The control: the same form from our own page, as new and as old browsers send it.
    for fine in ({"sec-fetch-site": "same-origin"}, {"origin": str(visitor.base_url).rstrip("/")}, {}):
        assert visitor.post(action, data={**fields, "quota": "main"}, headers=fine).status_code == 303
    assert len(bookings(admin, key)) == 1


def test_a_form_that_is_not_ours_for_this_pool_now_does_nothing(admin: Client, visitor: Visitor) -> None:
    admin.pool("mine", 5)
    admin.pool("other", 5)
    (_, others), *_ = Form(visitor.look("/p/other")).forms
    (_, mine), *_ = Form(visitor.look("/p/mine")).forms
    forged = mine["form"][:-1] + ("0" if mine["form"][-1] != "0" else "1")
    for token in ("", "x", others["form"], forged, "ä"):
        there = visitor.submit("/p/mine", {"form": token, "quota": "main"})
        assert there == "/p/mine?no=stale"
    admin.advance(24 * 3600 + 1)
    assert visitor.submit("/p/mine", {**mine, "quota": "main"}) == "/p/mine?no=stale"
    assert "open for a long time" in visitor.look("/p/mine?no=stale")
    assert bookings(admin, "mine") == []


def test_a_pool_opens_and_closes_by_its_times(admin: Client, visitor: Visitor) -> None:
    clock = admin.ask("POST", "/v1/clock", {"advance_s": 0})["now"]
    now = datetime.fromisoformat(clock)
    times = {
        "opens_at": (now + timedelta(hours=2)).isoformat(),
        "closes_at": (now + timedelta(hours=3)).isoformat(),
        "starts_at": (now + timedelta(days=3)).isoformat(),
    }
    admin.pool("timed", 5, "event_signup", **times)
    page = visitor.look("/p/timed")
    assert 'data-state="not_open_yet"' in page
    assert 'data-left="7200"' in page
    assert not Form(page).buttons
    admin.advance(7200)
    page = visitor.look("/p/timed")
    assert Form(page).buttons == [("quota", "main")]
    assert 'data-left="3600"' in page
    admin.advance(3600)
    page = visitor.look("/p/timed")
    assert 'data-state="closed"' in page
    assert not Form(page).buttons


@pytest.mark.parametrize(("status", "word"), [("paused", "paused"), ("cancelled", "called off")])
def test_a_pool_that_is_not_open_says_so(admin: Client, visitor: Visitor, status: str, word: str) -> None:
    admin.pool(f"shut-{status}", 5)
    admin.ask("PATCH", f"/v1/pools/shut-{status}", {"status": status})
    page = visitor.look(f"/p/shut-{status}")
    assert word in plain(page)
    assert not Form(page).buttons


def test_quotas_and_the_open_share_are_shown_each_with_its_button(admin: Client, visitor: Visitor) -> None:
    quotas = [
        {"key": "members", "title": "Members", "size": 2},
        {"key": "guests", "title": "Guests", "size": 1},
        {"key": "crew", "size": 3, "eligible": {"tag": "crew"}},
        {"key": "web", "title": "From home", "size": None},
    ]
    body = {"key": "gala", "preset": "event_signup", "quotas": quotas, "open_size": 2}
    body["policy"] = {"party_quantity_max": 2}
    admin.ask("POST", "/v1/pools", body, expect=201)
    for n in range(3):
        admin.book("gala", f"guest-{n}", quota="guests")
    words = plain(page := visitor.look("/p/gala"))
    assert "2 of 2 free" in words
    assert "The place is taken" in words
    assert "for any of these: 0 of 2 free" in words
    assert "Room for everyone" in words
    assert "By invitation" in words
    assert Form(page).buttons == [("quota", "members"), ("quota", "guests"), ("quota", "web")]
    there = visitor.sign_up("gala", "members", quantity="2")
    assert heading(visitor.look(there)) == "2 places are held for you"


def test_where_there_are_no_units_there_is_nothing_to_give_out(admin: Client, visitor: Visitor) -> None:
    body = {"key": "salon", "preset": "last_minute", "quotas": [{"key": "main", "units": []}]}
    admin.ask("POST", "/v1/pools", body, expect=201)
    words = plain(visitor.look("/p/salon"))
    assert "Nothing to give out at the moment" in words
    assert "0 places" not in words


def test_a_unit_can_be_chosen_and_a_taken_one_is_a_calm_no(admin: Client, visitor: Visitor) -> None:
    quotas = [{"key": "main", "units": ["12A", "12B"]}]
    body = {"key": "row", "preset": "checkout", "page": True, "quotas": quotas}
    admin.ask("POST", "/v1/pools", body, expect=201)
    there = visitor.sign_up("row", **{"unit-main": "12B"})
    assert heading(visitor.look(there)) == "12B is held for you"
    assert visitor.sign_up("row", **{"unit-main": "12B"}) == "/p/row?no=unit_taken"
    assert "somebody was quicker" in visitor.look("/p/row?no=unit_taken")


@pytest.mark.parametrize("quantity", ["0", "-1", "x", "1.5", "9999999", "21474836470", ""])
def test_a_number_that_is_none_is_refused(admin: Client, visitor: Visitor, quantity: str) -> None:
    admin.pool(f"many-{quantity.replace('.', '-') or 'none'}", 5)
    there = visitor.sign_up(f"many-{quantity.replace('.', '-') or 'none'}", quantity=quantity)
    assert there.endswith("?no=invalid")


def test_a_pool_without_a_page_has_none_and_its_links_work_all_the_same(
    admin: Client, visitor: Visitor
) -> None:
    made = admin.pool("hidden", 5, page=False)
    form = Form(visitor.look("/p/hidden", expect=404)).forms
    assert form == []
    visitor.look(f"/p/{made['id']}", expect=404)
    visitor.submit("/p/hidden", {"quota": "main"}, expect=404)
    token = admin.book("hidden", "ann")["edit_token"]
    assert heading(visitor.look(f"/b/{token}")) == "A place is held for you"


def test_a_pool_of_another_org_is_found_by_its_id_alone(other_org: Client, visitor: Visitor) -> None:
    made = other_org.pool("theirs", 5)
    visitor.look("/p/theirs", expect=404)
    there = visitor.sign_up(made["id"])
    assert heading(visitor.look(there)) == "A place is held for you"
    assert len(bookings(other_org, "theirs")) == 1
