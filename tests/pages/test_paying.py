"""Where staff confirm: the pages say what is to be paid, until when, and that nothing is theirs before."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.http.server import Client
from tests.pages.test_answering_offers import offered_to_a_stranger
from tests.pages.test_bookings_and_offers import ANN, line, offered
from tests.pages.visitor import Form, Visitor, heading, plain

PRICE = {"amount": 2500, "currency": "EUR"}
SAID = {"name": "Ann", "email": "ann@example.org"}
PAID = "once your payment has arrived."


def actions(page: str) -> list[str]:
    """The last part of the address of every form."""
    return [action.rpartition("/")[2] for action, _ in Form(page).forms]


def test_a_hold_that_is_to_be_paid_says_how_much_and_until_when(admin: Client, visitor: Visitor) -> None:
    admin.pool("shop", 5, "checkout", page=True, price=PRICE)
    there = visitor.sign_up("shop", quantity="2")
    page = visitor.look(there)
    assert heading(page) == "2 places are held for you"
    words = plain(page)
    assert "Time left to pay 15:00 To pay: €50.00" in words
    assert f"The places are yours {PAID} We keep them for you until" in words
    assert "confirm by" not in words
    assert actions(page) == ["details", "cancel"]


def test_who_is_to_pay_says_who_they_are_and_may_have_more_time(admin: Client, visitor: Visitor) -> None:
    admin.pool("till", 5, "checkout", page=True, price=PRICE)
    there = visitor.sign_up("till")
    page = visitor.look(there)
    (form,) = re.findall(rf'<form method="post" action="{there}/details">.*?</form>', page, re.DOTALL)
    assert re.search(rf'<button[^>]* formaction="{there}/extend"', form)
    assert visitor.submit(f"{there}/details", SAID) == f"{there}?told=saved"
    page = visitor.look(f"{there}?told=saved")
    assert "Saved. Thank you." in page
    ends = re.findall(r'name="ends" value="([0-9]+)"', page)[0]
    assert 'data-left="1800"' in visitor.submit(f"{there}/extend", {**SAID, "ends": ends}, expect=200)
    (made,) = admin.ask("GET", "/v1/bookings?pool=till")["items"]
    assert (made["state"], made["party"]["name"]) == ("held", "Ann")


def test_what_was_taken_for_nothing_stays_so_whatever_it_costs_since(admin: Client, visitor: Visitor) -> None:
    admin.pool("gift", 5, "checkout", page=True)
    there = visitor.sign_up("gift")
    admin.ask("PATCH", "/v1/pools/gift", {"price": PRICE})
    page = visitor.look(there)
    assert "To pay" not in plain(page)
    assert actions(page) == ["confirm", "cancel"]
    visitor.submit(f"{there}/confirm", SAID)
    assert "The place is yours" in plain(visitor.look(there))
    # Control: who takes a place from now on is to pay for it.
    assert "To pay: €25.00" in plain(visitor.look(visitor.sign_up("gift")))


def test_a_confirmation_sent_by_hand_leads_back_with_the_reason(admin: Client, visitor: Visitor) -> None:
    admin.pool("hand", 5, "checkout", page=True, price=PRICE)
    there = visitor.sign_up("hand")
    led = visitor.submit(f"{there}/confirm", SAID)
    assert led == f"{there}?told=not_yours_to_confirm"
    assert f"You cannot confirm this yourself. The place is yours {PAID}" in plain(visitor.look(led))
    (made,) = admin.ask("GET", "/v1/bookings?pool=hand")["items"]
    assert made["state"] == "held"
    admin.act(made["id"], "confirm")
    page = visitor.look(led)
    assert heading(page) == "The place is yours"
    assert "cannot confirm" not in plain(page)
    # Who did it: the shop's own program, not the visitor.
    assert "Your booking was confirmed." in plain(page)


def test_what_is_free_of_charge_says_that_the_organiser_confirms(admin: Client, visitor: Visitor) -> None:
    admin.pool("vetted", 5, "event_signup", policy={"confirm_by": "staff"})
    words = plain(visitor.look(visitor.sign_up("vetted")))
    assert "The place is yours once the organiser has confirmed it." in words
    assert "Time left 30:00" in words
    assert "pay" not in words


@pytest.mark.parametrize("fields", [{}, {"price": PRICE, "policy": {"confirm_by": "party"}}])
def test_where_parties_confirm_there_is_a_button_for_it(
    admin: Client, visitor: Visitor, fields: dict[str, Any]
) -> None:
    """The control."""
    key = f"own-{len(fields)}"
    admin.pool(key, 5, "checkout", page=True, **fields)
    there = visitor.sign_up(key)
    page = visitor.look(there)
    assert actions(page) == ["confirm", "cancel"]
    assert "payment" not in plain(page)
    # What a link of before says is not said where it is not so.
    assert "cannot confirm" not in plain(visitor.look(f"{there}?told=not_yours_to_confirm"))
    assert visitor.submit(f"{there}/confirm", SAID) == there
    assert "You confirmed." in plain(visitor.look(there))


def test_who_confirms_in_line_completes_the_sign_up_and_is_promised_no_more(
    admin: Client, visitor: Visitor
) -> None:
    admin.pool("ball", 1, "event_signup", price=PRICE, policy={"confirm_by": None})
    olga = admin.book("ball", "olga")
    admin.act(olga["id"], "confirm")
    there = visitor.sign_up("ball")
    page = visitor.look(there)
    assert actions(page) == ["confirm", "cancel"]
    turn = "When it is your turn, the place is held for you for 30 minutes. We write to you then. "
    turn += f"The place is yours {PAID}"
    assert visitor.submit(f"{there}/confirm", SAID) == there
    words = plain(visitor.look(there))
    assert "You are #1 in line" in words
    assert turn in words
    assert "yours at once" not in words
    assert "You completed your sign-up, and kept your place in line." in words
    admin.act(olga["id"], "cancel")
    page = visitor.look(there)
    assert heading(page) == "A place is held for you"
    assert "To pay: €25.00" in plain(page)
    assert "It was held for 30 minutes." in plain(page)


def test_whom_staff_confirm_in_line_has_the_place_at_once(admin: Client, visitor: Visitor) -> None:
    """The control: nothing more is to be done once it is their turn."""
    admin.pool("dance", 1, "event_signup", price=PRICE, policy={"confirm_by": "staff"})
    admin.act(admin.book("dance", "olga")["id"], "confirm")
    there = visitor.sign_up("dance")
    visitor.submit(f"{there}/confirm", SAID)
    (made,) = admin.ask("GET", "/v1/bookings?pool=dance&state=waiting")["items"]
    admin.act(made["id"], "confirm")
    words = plain(visitor.look(there))
    assert "When it is your turn, the place is yours at once. We write to you then." in words
    assert "payment" not in words


def test_an_offer_says_before_the_yes_what_comes_after_it(admin: Client, visitor: Visitor) -> None:
    policy = {"confirm_by": "staff"}
    _, there = offered_to_a_stranger(admin, "lesson", price=PRICE, policy=policy)
    page = visitor.look(there)
    said = f"If you say yes, we hold it for you for 15 minutes. The place is yours {PAID}"
    assert f"{said} Yes, I take it" in plain(page)
    # What is still to be said is asked on the booking's page: there is time for it.
    assert "name" not in Form(page).forms[0][1]
    visitor.submit(f"{there}/claim")
    page = visitor.look(there)
    assert heading(page) == "It is held for you"
    words = plain(page)
    assert "Time left to pay 15:00 To pay: €25.00" in words
    assert f"The place is yours {PAID} We keep it for you until" in words
    assert "One more step" not in words
    assert "Go on to your details" in words
    # The control: where parties confirm, a yes settles it.
    _, there = offered_to_a_stranger(admin, "settled", price=PRICE)
    page = visitor.look(there)
    assert "If you say yes" not in plain(page)
    assert "name" in Form(page).forms[0][1]


def test_an_offer_that_parties_confirm_says_so_too(admin: Client, visitor: Visitor) -> None:
    _, _, there = offered(admin, "two-steps", policy={"claim_to": "held"})
    said = "If you say yes, we hold it for you for 15 minutes, so that you can fill in the form and confirm."
    assert said in plain(visitor.look(there))


def test_who_is_confirmed_already_says_only_yes(admin: Client, visitor: Visitor) -> None:
    admin.pool("known", 1, price=PRICE, policy={"confirm_by": "staff"})
    olga = admin.book("known", "olga", confirmed=True)
    ann = admin.book("known", ANN, confirmed=True)
    admin.act(olga["id"], "cancel")
    there = f"/o/{admin.booking(ann['id'])['offer']['token']}"
    assert "If you say yes" not in plain(visitor.look(there))
    visitor.submit(f"{there}/claim")
    assert heading(visitor.look(there)) == "It is yours"


def test_a_part_that_is_held_says_what_becomes_of_the_rest(admin: Client, visitor: Visitor) -> None:
    admin.pool("half", 2, price=PRICE, policy={"confirm_by": "staff", "cooldown": 0})
    olga = admin.book("half", "olga", quantity=2)
    ann = admin.book("half", ANN, quantity=2)
    admin.act(olga["id"], "cancel")
    there = f"/o/{admin.booking(ann['id'])['offer']['token']}"
    visitor.submit(f"{there}/claim", {"quantity": "1"})
    words = plain(visitor.look(there))
    assert "To pay: €25.00" in words
    assert "For the rest (1 place) there is a new offer." in words


def test_the_line_of_a_pool_says_what_a_turn_brings(admin: Client, visitor: Visitor) -> None:
    _, ann, _ = line(admin, "queue", price=PRICE, policy={"confirm_by": "staff"})
    words = plain(visitor.look(f"/b/{ann['edit_token']}"))
    assert f"you then have 24 hours to accept. We write to you then. The place is yours {PAID}" in words


@pytest.mark.parametrize(
    ("key", "fields", "said"),
    [
        ("costs", {"price": PRICE, "policy": {"confirm_by": None}}, f"The place is yours {PAID}"),
        (
            "asks",
            {"policy": {"confirm_by": "staff"}},
            "The place is yours once the organiser has confirmed it.",
        ),
        ("plain", {"price": PRICE}, ""),
    ],
)
def test_the_rules_of_a_pool_say_when_a_place_is_theirs(
    admin: Client, visitor: Visitor, key: str, fields: dict[str, Any], said: str
) -> None:
    admin.pool(f"rules-{key}", 3, "event_signup", **fields)
    words = plain(visitor.look(f"/p/rules-{key}"))
    assert said in words
    assert ("The place is yours" in words) is bool(said)
    assert ("the first in line gets it at once" in words) is not bool(said)
