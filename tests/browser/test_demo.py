"""The demo's page in a browser: the clock is moved and people are seen moving; with and without scripts."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.browser.conftest import Open
from tests.browser.test_looks import fits, judge
from tests.demo.demo import Demo


def test_everybody_can_use_the_pages_of_the_demo(opened: Open, shoot: Callable[[Page, str], None]) -> None:
    page = opened("/demo", size="desktop")
    judge(page, "demo", shoot)
    fits(page, 320)
    page = opened("/demo/letters/1", size="desktop")
    judge(page, "demo_letter", shoot)
    fits(page, 320)


def test_the_clock_is_moved_without_leaving_the_page_and_the_seat_goes_on(
    opened: Open,
) -> None:
    page = opened("/demo", size="desktop")
    page.evaluate("window.stayed = true")
    nia = page.locator(".seat.offered", has_text="Nia")
    expect(nia).to_be_visible()
    page.get_by_role("button", name="Move the clock on by 1 day").click()
    expect(page.locator(".seat.offered", has_text="Oli")).to_be_visible()
    expect(page.locator(".seat.waiting", has_text="Nia")).to_be_visible()
    assert page.evaluate("window.stayed")
    # The hand goes back to where it was, so that one can press again.
    expect(page.get_by_role("button", name="Move the clock on by 1 day")).to_be_focused()


def test_what_is_done_elsewhere_is_seen_at_once(opened: Open) -> None:
    watching, visitor = opened("/demo", size="desktop"), opened("/p/flight-7", size="desktop")
    visitor.get_by_role("button", name="Sign up").click()
    expect(watching.locator(".seat.held", has_text="Somebody new")).to_be_visible()


def test_the_clock_is_moved_without_scripts_too(opened: Open) -> None:
    page = opened("/demo", scripts=False, size="desktop")
    before = page.locator(".now-time").get_attribute("data-now")
    page.get_by_role("button", name="Skip to what happens next").click()
    expect(page.locator(".story .new").first).to_be_visible()
    assert int(page.locator(".now-time").get_attribute("data-now") or 0) > int(before or 0)


def told_at(page: Page) -> int:
    """What time it was when the page was told last."""
    return int(page.locator("[data-now]").get_attribute("data-now") or 0)


def test_a_stranger_signs_up_sees_a_seat_freed_claims_it_and_finds_the_story(
    opened: Open, demo: Demo
) -> None:
    """All of it, by what one sees: nobody reads anything first."""
    phone = opened("/p/pottery", size="phone")
    phone.get_by_role("button", name="Join the line").click()
    phone.locator("#name").fill("Stranger")
    phone.locator("#email").fill("stranger@example.org")
    phone.get_by_label("Never").check()
    phone.locator("main form .button").first.click()
    expect(phone.get_by_role("heading", level=1)).to_contain_text("in line")

    console = opened("/demo", size="desktop")
    console.goto(demo.links["The console"])
    console.get_by_role("link", name="Pottery on Thursdays").first.click()
    console.get_by_role("link", name="Bookings").click()
    console.get_by_role("link", name="Dan").first.click()
    console.locator("#cancel > summary").click()
    console.get_by_role("button", name="Cancel it").click()

    # Everybody before the stranger lets their turn go by, a day each.
    clock = opened("/demo", size="desktop")
    mine = clock.locator(".seat.offered", has_text="Stranger")
    for _ in range(12):
        if mine.count():
            break
        before = told_at(clock)
        clock.get_by_role("button", name="Move the clock on by 1 day").click()
        while told_at(clock) < before + 80_000_000:
            clock.wait_for_timeout(20)
    offer = opened(mine.locator("a").get_attribute("href"), size="phone")
    offer.locator(".huge").click()
    expect(offer.get_by_role("heading", level=1)).to_have_text("It is yours")

    console.goto("/console/happened?pool=pottery")
    told = console.locator(".timeline")
    expect(told).to_contain_text("Stranger accepts 1 place.")
    expect(told).to_contain_text("Stranger, #")
