"""The demo's page in a browser: the clock is moved and people are seen moving; with and without scripts."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.browser.conftest import Open
from tests.browser.test_looks import fits, judge


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


def test_a_stranger_signs_up_sees_a_seat_freed_claims_it_and_finds_the_story(
    opened: Open, shoot: Callable[[Page, str], None]
) -> None:
    """All of it by what one sees and presses, from the demo's own page on: nobody reads anything first."""
    home = opened("/demo", size="phone")
    shoot(home, "walk_1_demo")
    phone = followed(home, "Join the line for pottery")
    phone.get_by_role("button", name="Join the line").click()
    phone.locator("#name").fill("Stranger")
    phone.locator("#email").fill("stranger@example.org")
    phone.get_by_label("Never").check()
    phone.locator("main form .button").first.click()
    expect(phone.get_by_role("heading", level=1)).to_contain_text("in line")
    shoot(phone, "walk_2_in_line")

    console = followed(opened("/demo", size="desktop"), "Open the console")
    console.get_by_role("link", name="Bookings").click()
    console.get_by_role("link", name="Dan").first.click()
    console.locator("#cancel > summary").click()
    console.get_by_role("button", name="Cancel it").click()
    console.get_by_role("link", name="Pottery on Thursdays").click()
    expect(console.locator("[data-part=seats] .is-free")).to_contain_text("free")
    shoot(console, "walk_3_freed")
    console.get_by_role("button", name="Offer now: Stranger").click()
    expect(console.locator("[data-part=offers]")).to_contain_text("Stranger")

    # The page that was left open has turned by itself.
    expect(phone.get_by_role("heading", level=1)).to_have_text("It is your turn")
    shoot(phone, "walk_4_turn")
    phone.get_by_role("link", name="See the offer and answer").click()
    phone.locator(".huge").click()
    expect(phone.get_by_role("heading", level=1)).to_have_text("It is yours")
    shoot(phone, "walk_5_yours")

    story = followed(opened("/demo", size="desktop"), "Find the whole story")
    told = story.locator(".timeline")
    for sentence in (
        "Stranger accepts 1 place.",
        "Stranger, #",
        "The booking of Dan is cancelled.",
        "Stranger joins the line as #",
    ):
        expect(told).to_contain_text(sentence)
    shoot(story, "walk_6_story")


def followed(page: Page, name: str) -> Page:
    """The page that a link opens beside this one."""
    with page.expect_popup() as opened:
        page.get_by_role("link", name=name).click()
    opened.value.wait_for_load_state()
    return opened.value


def test_offers_roll_on_by_the_clock_until_it_is_ones_turn_and_letters_lead_there(
    opened: Open,
) -> None:
    """Who only moves the clock gets there, too."""
    clock = opened("/demo", size="desktop")
    before = clock.locator(".letters li").first.inner_text()
    clock.get_by_role("button", name="Move the clock on by 1 day").click()
    letter = clock.locator(".letters li", has_text="Pottery on Thursdays").first
    expect(letter).to_be_visible()
    expect(clock.locator(".letters li").first).not_to_have_text(before)
