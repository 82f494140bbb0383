"""Answering an offer: what is still to be said comes with the yes, and a no that ends it asks once more."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.http.server import Client
from tests.pages.test_bookings_and_offers import offered
from tests.pages.visitor import Form, Visitor, heading, plain

ANN = {"name": "Ann", "email": "ann@example.org"}
RULES = [{"key": "rules", "title": "I know the rules", "kind": "checkbox", "required": True}]


def offered_to_a_stranger(admin: Client, key: str, **fields: Any) -> tuple[Any, str]:
    """A program of the organiser's put somebody in line of whom nothing is known, who is offered a seat."""
    admin.pool(key, 1, **fields)
    olga = admin.book(key, "olga")
    made = admin.book(key, "number-7")
    admin.act(olga["id"], "cancel")
    return made, f"/o/{admin.booking(made['id'])['offer']['token']}"


def test_who_has_said_nothing_yet_says_it_with_the_yes(admin: Client, visitor: Visitor) -> None:
    made, there = offered_to_a_stranger(admin, "say", questions=RULES)
    action, fields = Form(visitor.look(there)).forms[0]
    assert action == f"{there}/claim"
    assert fields.keys() >= {"name", "email"}
    # Without it nothing is taken, and what was typed is still there.
    page = visitor.submit(action, {"name": "Ann", "email": "ann"}, expect=422)
    assert "2 things need another look" in plain(page)
    assert 'value="Ann"' in page
    assert admin.booking(made["id"])["state"] == "offered"
    assert visitor.submit(action, ANN | {"q-rules": "yes"}) == there
    kept = admin.booking(made["id"])
    assert (kept["state"], kept["party"]["name"]) == ("confirmed", "Ann")
    assert (kept["party"]["contacts"], kept["answers"]) == ({"email": "ann@example.org"}, {"rules": True})
    # And once more, as after a double tap.
    assert visitor.submit(action, ANN | {"q-rules": "yes"}) == there
    assert heading(visitor.look(there)) == "It is yours"


def test_who_has_said_everything_says_only_yes(admin: Client, visitor: Visitor) -> None:
    ann, _, there = offered(admin, "said")
    assert "name" not in Form(visitor.look(there)).forms[0][1]
    assert visitor.submit(f"{there}/claim") == there
    assert admin.booking(ann["id"])["state"] == "confirmed"


def test_what_is_held_after_the_yes_asks_on_its_own_page(admin: Client, visitor: Visitor) -> None:
    made, there = offered_to_a_stranger(admin, "later", policy={"claim_to": "held"})
    assert "name" not in Form(visitor.look(there)).forms[0][1]
    assert visitor.submit(f"{there}/claim") == there
    assert admin.booking(made["id"])["state"] == "held"


def test_what_is_said_too_late_is_not_kept(admin: Client, visitor: Visitor) -> None:
    made, there = offered_to_a_stranger(admin, "too-late")
    admin.advance(24 * 3600)
    assert visitor.submit(f"{there}/claim", ANN) == there
    assert heading(visitor.look(there)) == "The time to answer has passed"
    assert admin.booking(made["id"])["party"]["name"] == ""


def test_a_part_is_taken_with_what_was_said(admin: Client, visitor: Visitor) -> None:
    admin.pool("part", 2, policy={"partial": "give_less"})
    olga = admin.book("part", "olga", quantity=2)
    made = admin.book("part", "number-7", quantity=2)
    admin.act(olga["id"], "cancel")
    there = f"/o/{admin.booking(made['id'])['offer']['token']}"
    page = visitor.submit(f"{there}/claim", {"quantity": "1", "name": "Ann", "email": ""}, expect=422)
    assert '<option value="1" selected>' in page
    visitor.submit(f"{there}/claim", ANN | {"quantity": "1"})
    (taken,) = admin.ask("GET", "/v1/bookings?pool=part&state=confirmed")["items"]
    assert (taken["quantity"], taken["party"]["name"]) == (1, "Ann")


def test_an_offer_of_two_places_says_what_both_cost(admin: Client, visitor: Visitor) -> None:
    admin.pool("two", 2, price={"amount": 4500, "currency": "EUR"})
    assert "€45.00 per place" in plain(visitor.look("/p/two"))
    olga = admin.book("two", "olga", quantity=2)
    ann = admin.book("two", "ann", quantity=2)
    admin.act(olga["id"], "cancel")
    there = f"/o/{admin.booking(ann['id'])['offer']['token']}"
    assert "Price €90.00 · €45.00 per place" in plain(visitor.look(there))
    visitor.submit(f"{there}/claim", ANN)
    assert "Price €90.00" in plain(visitor.look(there))
    # What is one place's alone needs no such words.
    admin.pool("one", 1, price={"amount": 4500, "currency": "EUR"}, policy={"party_quantity_max": 1})
    assert "per place" not in plain(visitor.look("/p/one"))


@pytest.mark.parametrize(
    ("key", "policy"),
    [("ends", {"after_decline": "leave"}), ("tried", {"after_decline": "stay", "attempts_max": 1})],
)
def test_a_no_that_ends_the_place_in_line_asks_once_more(
    admin: Client, visitor: Visitor, key: str, policy: dict[str, Any]
) -> None:
    ann, _, there = offered(admin, key, policy=policy)
    page = visitor.look(there)
    (fold,) = re.findall(r"<details[^>]*>.*?</details>", page, re.DOTALL)
    assert f'action="{there}/decline"' in fold
    asked = "Your place in line ends for good, and the offer goes to the next."
    assert plain(fold) == f"I can't make it {asked} Yes, leave the line"
    visitor.submit(f"{there}/decline")
    assert admin.booking(ann["id"])["state"] not in ("offered", "waiting")


def test_a_no_that_ends_nothing_is_one_tap(admin: Client, visitor: Visitor) -> None:
    _, _, there = offered(admin, "light", policy={"after_decline": "stay", "attempts_max": 2})
    assert "<details" not in visitor.look(there)
