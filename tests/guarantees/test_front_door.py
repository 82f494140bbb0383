"""What strangers have of a running service without the protections at its front door."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.guarantees.broken import broken
from tests.guarantees.test_people import events
from tests.http.server import Client
from tests.pages.visitor import Visitor, plain
from tests.patience import wait_until
from tests.stories.people import DAY_S, full_pool, token_of

PRICE = {"amount": 2500, "currency": "EUR"}


@pytest.mark.guarantee(
    "unpaid",
    "A stranger confirms at the page of a shop, and has the place without a payment.",
    control=True,
)
def test_control_without_confirm_by_a_stranger_has_the_place(
    admin: Client, visitor: Visitor, place: Path
) -> None:
    admin.pool("unpaid", 5, "checkout", price=PRICE, page=True)
    token = token_of(visitor.sign_up("unpaid"))
    confirm = (f"/b/{token}/confirm", {"name": "Sue", "email": "sue@example.org"})
    visitor.submit(*confirm)
    assert "A place is held for you" in plain(visitor.look(f"/b/{token}"))
    with broken(place, "no confirm_by"):
        visitor.submit(*confirm)
    assert "The place is yours" in plain(visitor.look(f"/b/{token}"))


@pytest.mark.guarantee("hoarding", "One form takes twelve of twelve places.", control=True)
def test_control_without_a_party_limit_one_visitor_takes_all(
    admin: Client, visitor: Visitor, place: Path
) -> None:
    admin.pool("twelve", 12)
    assert "no=invalid" in visitor.sign_up("twelve", quantity="12")
    with broken(place, "no party limit"):
        assert "/b/" in visitor.sign_up("twelve", quantity="12")
    assert admin.ask("GET", "/v1/pools/twelve")["quotas"][0]["room"] == 0


def waiting_without_a_contact(admin: Client, visitor: Visitor, pool: str) -> Any:
    """Let somebody join the line by a page who gives no address, and free the place; return their booking."""
    olga = full_pool(admin, pool)
    visitor.sign_up(pool)
    (cyd,) = admin.ask("GET", f"/v1/pools/{pool}/line")["items"]
    admin.act(olga["id"], "cancel")
    return cyd


@pytest.mark.guarantee(
    "untold.kept",
    "Who joined by a page and gave no address keeps place, attempts and turn for three days.",
)
def test_who_gave_no_address_is_in_line_after_three_days(admin: Client, visitor: Visitor) -> None:
    cyd = waiting_without_a_contact(admin, visitor, "nameless")
    wait_until(lambda: "NotReached" in events(admin, "nameless"))
    admin.advance(3 * DAY_S)
    kept = admin.booking(cyd["id"])
    assert (kept["state"], kept["position"], kept["attempts"]) == ("waiting", 1, 0)
    assert (kept["reach"], kept["round"]) == ("no_contact", cyd["round"])


@pytest.mark.guarantee(
    "untold", "Three offers of which nobody was told lapse, and the place in line is closed.", control=True
)
def test_control_without_telling_a_place_is_lost_over_offers_that_nobody_sent(
    admin: Client, visitor: Visitor, place: Path
) -> None:
    with broken(place, "no telling"):
        cyd = waiting_without_a_contact(admin, visitor, "unheard")
        admin.advance(3 * DAY_S)
        lost = admin.booking(cyd["id"])
    assert (lost["state"], lost["attempts"]) == ("closed", 3)
