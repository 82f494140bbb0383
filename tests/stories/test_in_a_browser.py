"""The three stories in a real browser: what a stranger sees, and what becomes of it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Open, visiting
from tests.browser.conftest import chromium as chromium_of_a_module
from tests.browser.flows import says
from tests.http.server import Client, Server, serving
from tests.patience import wait_until
from tests.stories.people import DAY_S, carried, full_pool

PRICE = {"amount": 2500, "currency": "EUR"}
# Nothing can send, and the address is not that of a developer's own machine.
SETTINGS = {"fairhold_base_url": "https://seats.example.org", "fairhold_webhooks_to_private": "yes"}


@pytest.fixture(scope="module")
def server(module_url: str) -> Iterator[Server]:
    with serving(module_url, "--test-clock", **SETTINGS) as running:
        yield running


@pytest.fixture(scope="module")
def chromium(admin: Client) -> Iterator[Browser]:
    """A browser for one of the databases: while it is there, no other event loop can be in this thread."""
    yield from chromium_of_a_module.__wrapped__()


@pytest.fixture
def visit(server: Server, chromium: Browser) -> Iterator[Open]:
    with visiting(chromium, server.base) as visit:
        yield visit


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


@pytest.mark.guarantee(
    "unpaid.refused", "In Chromium: a stranger sees what is to be paid and the time left, and no Confirm."
)
def test_a_place_is_nobodys_before_the_shop_says_that_it_is_paid(admin: Client, visit: Open) -> None:
    admin.pool("concert", 5, "checkout", price=PRICE)
    says(visit("/p/concert"), "There is nothing here")
    admin.ask("PATCH", "/v1/pools/concert", {"page": True})
    page = visit("/p/concert")
    page.locator("#quantity").fill("2")
    press(page, "Sign up")
    says(page, "2 places are held for you")
    expect(page.locator("main")).to_contain_text("To pay: €50.00")
    expect(page.get_by_role("timer", name="Time left to pay")).to_be_visible()
    expect(page.locator("main")).to_contain_text("The places are yours once your payment has arrived.")
    expect(page.get_by_role("button", name="Confirm", exact=True)).to_have_count(0)
    (held,) = admin.ask("GET", "/v1/bookings?pool=concert")["items"]
    assert held["state"] == "held"
    admin.act(held["id"], "confirm")
    says(page, "2 places are yours")


def test_a_party_confirms_a_free_place_by_itself(admin: Client, visit: Open) -> None:
    """Control: where it costs nothing, or the policy says so."""
    admin.pool("talk", 5, "checkout", page=True)
    admin.pool("dinner", 5, "checkout", page=True, price=PRICE, policy={"confirm_by": "party"})
    for pool in ("talk", "dinner"):
        page = visit(f"/p/{pool}")
        press(page, "Sign up")
        page.locator("#name").fill("Ann Example")
        page.locator("#email").fill("ann@example.org")
        press(page, "Confirm")
        says(page, "The place is yours")


@pytest.mark.guarantee("untold.page", "In Chromium: the page says so, and has no button.")
def test_nobody_signs_up_where_nobody_could_be_told(admin: Client, visit: Open) -> None:
    admin.pool("yoga", 3)
    page = visit("/p/yoga")
    expect(page.locator("main")).to_contain_text("You cannot sign up here yet")
    expect(page.get_by_role("button", name="Sign up", exact=True)).to_have_count(0)


@pytest.mark.guarantee(
    "untold.kept",
    "In Chromium: after three days without letters, Cyd's page says that she is first in line.",
)
def test_who_could_not_be_told_is_still_in_line_after_three_days(admin: Client, visit: Open) -> None:
    with carried(admin):
        olga = full_pool(admin, "class")
        page = visit("/p/class")
        press(page, "Join the line")
        page.locator("#name").fill("Cyd")
        page.locator("#email").fill("cyd@example.org")
        press(page, "Save")
        says(page, "You are #1 in line")
    admin.act(olga["id"], "cancel")
    admin.advance(3 * DAY_S)
    page.reload()
    says(page, "You are #1 in line")
    expect(page.locator("main")).to_contain_text("No offer can reach you")
    (cyd,) = admin.ask("GET", "/v1/pools/class/line")["items"]
    assert (cyd["attempts"], cyd["reach"]) == (0, "no_channel")
    with carried(admin) as hook:
        admin.advance(60)
        says(page, "It is your turn")
        wait_until(lambda: hook.received)


@pytest.mark.guarantee(
    "hoarding.one-request",
    "In Chromium: the page says that four are the most, and refuses twelve of twelve.",
)
def test_one_visitor_cannot_take_twelve_of_twelve(admin: Client, visit: Open) -> None:
    with carried(admin):
        admin.pool("pilates", 12)
        page = visit("/p/pilates")
        expect(page.get_by_text("At most 4 places for each sign-up.").first).to_be_visible()
        quantity = page.locator("#quantity")
        expect(quantity).to_have_attribute("max", "4")
        # The browser would not send it, so the limit is taken out of the page.
        quantity.evaluate("field => field.removeAttribute('max')")
        quantity.fill("12")
        press(page, "Sign up")
        expect(page.get_by_role("alert")).to_be_visible()
        assert admin.ask("GET", "/v1/pools/pilates")["quotas"][0]["room"] == 12
        # Control: where the policy lets one party have all twelve.
        admin.ask("PATCH", "/v1/pools/pilates", {"policy": {"party_quantity_max": 12}})
        page = visit("/p/pilates")
        page.locator("#quantity").fill("12")
        press(page, "Sign up")
        says(page, "12 places are held for you")
