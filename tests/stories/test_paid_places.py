"""A place that costs money is nobody's before the money is there: whoever takes the money confirms.

Each rule has its control: the same request succeeds where the party confirms by itself.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.http.server import Client
from tests.pages.visitor import Visitor, plain
from tests.stories.people import full_pool, token_of

PRICE = {"amount": 2500, "currency": "EUR"}
TOTAL = {"amount": 5000, "currency": "EUR"}
NAMED = {"name": "Sue Stranger", "email": "sue@example.org"}


def freed(admin: Client, olga: Any, waiting: Any) -> Any:
    """Let Olga cancel; return the booking that waited, as it is then."""
    admin.act(olga["id"], "cancel")
    return admin.booking(waiting["id"])


@pytest.mark.guarantee("unpaid.no-page", "A pool of the preset checkout has no page: its address is 404.")
@pytest.mark.parametrize("said", [{"preset": "checkout"}, {}])
def test_a_checkout_has_no_page_by_itself(admin: Client, visitor: Visitor, said: dict[str, str]) -> None:
    key = f"shop-{len(said)}"
    body = {"key": key, "quotas": [{"key": "main", "size": 5}], "price": PRICE, **said}
    assert admin.ask("POST", "/v1/pools", body, expect=201)["page"] is False
    assert visitor.get(f"/p/{key}").status_code == visitor.get(f"/embed/{key}").status_code == 404
    assert visitor.post(f"/p/{key}", data={"quota": "main"}).status_code == 404
    # Control: a pool has a page if it is asked for, or if its preset has one.
    assert admin.ask("PATCH", f"/v1/pools/{key}", {"page": True})["page"] is True
    assert visitor.get(f"/p/{key}").status_code == 200
    assert admin.pool(f"{key}-class", 5)["page"] is True


@pytest.mark.guarantee(
    "unpaid.refused",
    "A stranger signs up at the page of a pool that costs money: the page shows the total and the time left, "
    "has no button to confirm, and a confirmation sent by hand changes nothing and says why.",
)
@pytest.mark.guarantee(
    "unpaid.staff",
    "The secret key of the shop confirms the booking, and the page says that the places are theirs.",
)
def test_a_stranger_at_a_page_has_no_place_before_the_shop_confirms(admin: Client, visitor: Visitor) -> None:
    admin.pool("tickets", 5, "checkout", price=PRICE, page=True)
    token = token_of(there := visitor.sign_up("tickets", quantity="2"))
    page = visitor.look(there)
    assert "To pay: €50.00" in plain(page)
    assert "Time left to pay" in plain(page)
    assert f"/b/{token}/confirm" not in page
    there = visitor.submit(f"/b/{token}/confirm", NAMED)
    assert "told=not_yours_to_confirm" in there
    said = plain(visitor.look(there))
    assert "2 places are held for you" in said
    assert "You cannot confirm this yourself. The places are yours once your payment has arrived." in said
    (held,) = admin.ask("GET", "/v1/bookings?pool=tickets")["items"]
    assert (held["state"], held["total"], held["door"]) == ("held", TOTAL, "page")
    assert admin.act(held["id"], "confirm")["state"] == "confirmed"
    assert "2 places are yours" in plain(visitor.look(f"/b/{token}"))


def test_a_party_confirms_at_a_page_where_it_may(admin: Client, visitor: Visitor) -> None:
    """Controls: the policy says so, or it is left open and costs nothing."""
    pools: dict[str, Any] = {
        "party": {"price": PRICE, "policy": {"confirm_by": "party"}},
        "free": {},
        "nought": {"price": {**PRICE, "amount": 0}},
    }
    for name, fields in pools.items():
        admin.pool(f"own-{name}", 5, "checkout", page=True, **fields)
        token = token_of(there := visitor.sign_up(f"own-{name}"))
        assert f"/b/{token}/confirm" in visitor.look(there)
        visitor.submit(f"/b/{token}/confirm", NAMED)
        assert "The place is yours" in plain(visitor.look(f"/b/{token}")), name


@pytest.mark.guarantee(
    "unpaid.refused",
    "A public key confirms its own hold: 403 not_yours_to_confirm, with the total and the deadline.",
)
def test_a_public_key_confirms_only_where_parties_confirm(admin: Client, public: Client) -> None:
    admin.pool("kiosk", 5, "checkout", price=PRICE)
    hold = public.book("kiosk", "ann", quantity=2)
    no = public.act(hold["edit_token"], "confirm", expect=403)
    assert (no["code"], no["booking"]) == ("not_yours_to_confirm", hold["id"])
    assert (no["total"], no["expires_at"]) == (TOTAL, hold["expires_at"])
    assert admin.booking(hold["id"])["state"] == "held"
    assert admin.act(hold["id"], "confirm")["state"] == "confirmed"
    # Said twice it is the same yes, whoever says it.
    assert public.act(hold["edit_token"], "confirm")["state"] == "confirmed"
    # Control: the same request where the party confirms.
    admin.pool("kiosk-of-parties", 5, "checkout", price=PRICE, policy={"confirm_by": "party"})
    hold = public.book("kiosk-of-parties", "ann", quantity=2)
    assert public.act(hold["edit_token"], "confirm")["state"] == "confirmed"


@pytest.mark.guarantee(
    "unpaid.refused", "Where staff confirm, a claimed offer is a hold, and the party cannot confirm it."
)
@pytest.mark.parametrize(
    ("confirm_by", "price", "becomes"),
    [
        ("party", PRICE, "confirmed"),
        ("staff", PRICE, "held"),
        ("staff", None, "held"),
        (None, PRICE, "held"),
        (None, None, "confirmed"),
    ],
)
def test_a_claim_gives_a_hold_where_staff_confirm(
    admin: Client, public: Client, confirm_by: str | None, price: Any, becomes: str
) -> None:
    key, fields = f"class-{confirm_by}-{bool(price)}".lower(), {"price": price} if price else {}
    olga = full_pool(admin, key, policy={"confirm_by": confirm_by}, **fields)
    ann = public.book(key, "ann")
    token = freed(admin, olga, ann)["offer"]["token"]
    claimed = public.ask("POST", f"/v1/offers/{token}/claim")
    assert claimed["state"] == becomes
    if becomes == "held":
        no = public.act(ann["edit_token"], "confirm", expect=403)
        assert (no["code"], "total" in no) == ("not_yours_to_confirm", price is not None)
        assert admin.act(ann["id"], "confirm")["state"] == "confirmed"


@pytest.mark.guarantee(
    "unpaid.refused",
    "Where staff confirm, a confirmation in line keeps the place and gives a hold when its turn comes.",
)
def test_a_confirmation_in_line_only_completes_a_signup_where_staff_confirm(
    admin: Client, public: Client
) -> None:
    olga = full_pool(admin, "gala", "event_signup", price=PRICE, policy={"confirm_by": None})
    ann = public.book("gala", "ann")
    assert ann["expires_at"] is not None
    done = public.act(ann["edit_token"], "confirm")
    assert (done["state"], done["expires_at"], done["confirmed_at"]) == ("waiting", None, None)
    explained = public.ask("GET", f"/v1/bookings/{ann['edit_token']}/explain")["items"]
    assert [step["code"] for step in explained] == ["joined", "completed"]
    assert freed(admin, olga, ann)["state"] == "held"
    assert public.act(ann["edit_token"], "confirm", expect=403)["code"] == "not_yours_to_confirm"
    # Control: the same where the party confirms.
    olga = full_pool(admin, "ball", "event_signup", price=PRICE)
    ann = public.book("ball", "ann")
    assert public.act(ann["edit_token"], "confirm")["confirmed_at"] is not None
    assert freed(admin, olga, ann)["state"] == "confirmed"
