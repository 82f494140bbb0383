"""What staff see of letters that nobody gets: the drawer, people out of reach, and what is not set up."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Open, visiting
from tests.browser.console import Shoot, Staff, judge
from tests.browser.flows import says
from tests.browser.test_looks import fits
from tests.console.desk import make_members
from tests.console.stage import freed, yoga
from tests.http.server import Client, Server, make_key, serving


@pytest.fixture(scope="module")
def sam(server: Server) -> Staff:
    make_members(server.url)
    return Staff(server, "Sam")


@pytest.fixture(scope="module")
def mute(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Client]]:
    """A service that others come to, and that nothing is set up for to send letters."""
    url = f"sqlite:///{tmp_path_factory.mktemp('mute')}/fairhold.db"
    with (
        serving(url, "--test-clock", fairhold_base_url="http://seats.example.org") as server,
        server.client(make_key(url)) as admin,
    ):
        make_members(url)
        yield server, admin


@pytest.fixture
def elsewhere(mute: tuple[Server, Client], chromium: Browser) -> Iterator[Open]:
    with visiting(chromium, mute[0].base) as visit:
        yield visit


def in_german(page: Page) -> None:
    """The longest words, on the narrowest phone: nothing may stick out."""
    page.goto(f"{page.url}{'&' if '?' in page.url else '?'}lang=de")
    fits(page, 320)


@pytest.mark.parametrize(("size", "scripts"), [("phone", True), ("desktop", False)])
def test_a_letter_is_read_in_the_drawer_and_its_link_leads_to_the_booking(
    sam: Staff, visit: Open, admin: Client, size: str, scripts: bool
) -> None:
    yoga(admin, size=1, waiting=2)
    admin.advance(1)
    page = sam.open(visit, "/console/pools", size=size, scripts=scripts)
    page.get_by_role("navigation", name="Sections").get_by_role("link", name="Letters").click()
    says(page, "Letters in the drawer")
    page.get_by_role("link", name="offered").first.click() if page.get_by_role(
        "link", name="offered"
    ).count() else (page.locator(".row-link").first.click())
    page.locator(".mail a").first.click()
    expect(page.locator("h1")).to_be_visible()
    assert "/console/" not in page.url


def test_everybody_can_use_the_drawer(sam: Staff, visit: Open, admin: Client, shoot: Shoot) -> None:
    yoga(admin, size=1, waiting=4)
    admin.advance(1)
    page = sam.open(visit, "/console/letters")
    judge(page, "console_letters", shoot)
    in_german(page)
    page.goto("/console/letters")
    page.locator(".row-link").first.click()
    judge(page, "console_letter", shoot)
    in_german(page)
    page.goto("/console/pools?lang=fi")
    fits(page, 320)


def test_who_cannot_be_told_is_offered_a_seat_and_told_by_staff(
    mute: tuple[Server, Client], elsewhere: Open, shoot: Shoot
) -> None:
    server, admin = mute
    people = {"Ann": {"email": "ann@example.org"}, "Bea": {}, "Cyd": {"phone": "+358 40 1234567"}}
    booked = {}
    for name, contacts in people.items():
        admin.pool(name.lower(), 1, title=f"Pottery with {name}")
        booked[name] = freed(server.url, admin, name.lower(), name, **contacts)
    staff = Staff(server, "Sam")
    page = staff.open(elsewhere, "/console/needs")
    judge(page, "console_needs_reach", shoot)
    in_german(page)
    page.goto(f"/console/bookings/{booked['Ann']}")
    judge(page, "console_booking_unreachable", shoot)
    in_german(page)
    pool = admin.booking(booked["Ann"])["pool"]
    page.goto(f"/console/pools/{pool}/messages")
    judge(page, "console_messages_not_sent", shoot)
    page.goto(f"/console/pools/{pool}")
    judge(page, "console_pool_unreachable", shoot)
    page.goto("/console/needs")
    page.get_by_role("button", name="Offer now: Ann").click()
    expect(page.get_by_role("status").first).to_contain_text("Please tell them yourselves")
    page.get_by_role("button", name="We tell them ourselves: Bea").click()
    expect(page.get_by_role("status").first).to_contain_text("you tell them")
    expect(page.locator("main")).to_contain_text("You tell them: offered until")
    judge(page, "console_needs_to_tell", shoot)
    in_german(page)
    page.goto("/console/needs")
    page.get_by_role("link", name="Change details: Cyd").click()
    expect(page.locator("#phone")).to_be_visible()
    page.goto(f"/console/bookings/{booked['Bea']}")
    judge(page, "console_booking_told_by_staff", shoot)
    page.get_by_role("button", name="Leave it to letters again").click()
    expect(page.get_by_role("status").first).to_contain_text("letters tell them of offers again")
