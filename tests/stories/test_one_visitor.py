"""One request takes no more seats than the pool lets a party ask for without staff."""

from __future__ import annotations

from typing import Any

import pytest

from tests.http.server import Client
from tests.pages.visitor import Visitor, plain


def room(admin: Client, pool: str) -> Any:
    return admin.ask("GET", f"/v1/pools/{pool}")["quotas"][0]["room"]


@pytest.mark.guarantee(
    "hoarding.one-request",
    "A form that asks for twelve of twelve places takes none; the page had said that four are the most.",
)
def test_the_page_says_how_many_one_may_ask_for_and_gives_no_more(admin: Client, visitor: Visitor) -> None:
    admin.pool("yoga", 12)
    page = visitor.look("/p/yoga")
    assert 'max="4"' in page
    assert "At most 4 places for each sign-up." in plain(page)
    for quantity in ("12", "5"):
        there = visitor.sign_up("yoga", quantity=quantity)
        assert "no=invalid" in there
        assert 'role="alert"' in visitor.look(there)
    assert room(admin, "yoga") == 12
    assert "/b/" in visitor.sign_up("yoga", quantity="4")
    assert room(admin, "yoga") == 8


@pytest.mark.guarantee(
    "hoarding.one-request", "A public key that asks for twelve of twelve is told the limit, and takes none."
)
def test_a_public_key_gets_no_more_than_a_party_may_ask_for(admin: Client, public: Client) -> None:
    admin.pool("judo", 12)
    no = public.book("judo", "ann", quantity=12, expect=422)
    assert (no["code"], no["field"]) == ("invalid", "quantity")
    assert "from 1 to 4" in no["detail"]
    assert room(admin, "judo") == 12
    assert public.book("judo", "ann", quantity=4)["quantity"] == 4
    # Whoever waits in line asks by the same rule.
    admin.pool("full", 0)
    assert public.book("full", "ann", quantity=5, expect=422)["field"] == "quantity"
    assert public.book("full", "ann", quantity=4)["state"] == "waiting"


def test_staff_may_book_for_more_people(admin: Client) -> None:
    admin.pool("school", 12)
    assert admin.book("school", "class 4b", quantity=12)["quantity"] == 12
    assert admin.book("school", "class 4c", quantity=101, expect=422)["field"] == "quantity"


def test_a_pool_that_lets_one_party_ask_for_all_gives_all(
    admin: Client, public: Client, visitor: Visitor
) -> None:
    """Control: where the policy says twelve, the same two requests succeed."""
    for name in ("by-page", "by-key"):
        admin.pool(name, 12, policy={"party_quantity_max": 12})
    assert "/b/" in visitor.sign_up("by-page", quantity="12")
    public.book("by-key", "ann", quantity=12)
    assert room(admin, "by-page") == room(admin, "by-key") == 0
