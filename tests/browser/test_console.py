"""The console in a real browser: what receptionists do all day, at both sizes, with and without scripts."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Open
from tests.browser.console import Shoot, Staff, judge, sign_in
from tests.browser.flows import person, says
from tests.browser.test_looks import fits
from tests.console.desk import make_members
from tests.console.stage import yoga
from tests.http.server import Client, Server

WAYS = [("phone", True), ("phone", False), ("desktop", True), ("desktop", False)]


@pytest.fixture(scope="module")
def sam(server: Server) -> Staff:
    make_members(server.url)
    return Staff(server, "Sam")


def line(admin: Client, key: str) -> list[str]:
    return [it["party"]["name"] for it in admin.ask("GET", f"/v1/pools/{key}/line")["items"]]


def pool_of(admin: Client, **fields: int) -> tuple[str, str]:
    """A pool's key, and where it is in the console."""
    key = yoga(admin, **fields)
    return key, f"/console/pools/{admin.ask('GET', f'/v1/pools/{key}')['id']}"


def names(page: Page) -> list[str]:
    return page.locator("[data-line] .person-name").all_inner_texts()


@pytest.mark.parametrize(("size", "scripts"), [("phone", True), ("desktop", False)])
def test_signing_in_and_out(sam: Staff, visit: Open, size: str, scripts: bool) -> None:
    page = visit("/console/needs", size=size, scripts=scripts)
    sign_in(page, "Sam")
    says(page, "Needs you")
    page.get_by_role("navigation", name="Sections").get_by_role("link", name="Pools").click()
    says(page, "Pools")
    page.locator("#me > summary").click()
    page.get_by_role("button", name="Sign out").click()
    expect(page.locator("main").get_by_role("status")).to_contain_text("You have signed out")
    page.goto("/console/pools")
    says(page, "Sign in")


def test_everybody_can_sign_in(visit: Open, shoot: Shoot, sam: Staff) -> None:
    page = visit("/console/sign-in")
    page.locator("summary").click()
    judge(page, "console_sign_in", shoot)
    page.goto("/console/sign-in?lang=de")
    fits(page, 320)
    page = sam.open(visit, "/console/pools")
    page.locator("#me > summary").click()
    judge(page, "console_frame", shoot)


@pytest.mark.parametrize(("size", "scripts"), WAYS)
def test_a_pool_is_made_and_somebody_is_added(
    sam: Staff, visit: Open, admin: Client, size: str, scripts: bool
) -> None:
    page = sam.open(visit, "/console/pools", size=size, scripts=scripts)
    page.get_by_role("link", name="New pool").click()
    page.get_by_role("link", name="Last minute").click()
    title = f"Chairs {size} {scripts}"
    page.locator("#title").fill(title)
    page.locator("#quota-0-units").fill("2 pm, 3 pm")
    page.get_by_role("button", name="Make the pool").click()
    expect(page.get_by_role("status").first).to_contain_text("The pool is made")
    page.get_by_role("link", name="Add someone").click()
    page.locator("#name").fill("Ann")
    page.locator("#unit").select_option("3 pm")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.locator("h1")).to_contain_text("Ann")
    expect(page.locator("h1")).to_contain_text("Confirmed")
    page.get_by_role("link", name=title).click()
    taken = page.locator(".unit.confirmed")
    expect(taken).to_contain_text("3 pm")
    expect(taken).to_contain_text("Ann")


@pytest.mark.parametrize(("size", "scripts"), WAYS)
def test_a_cancelled_place_goes_on_and_is_put_back(
    sam: Staff, visit: Open, admin: Client, size: str, scripts: bool
) -> None:
    key, there = pool_of(admin, size=2, waiting=1)
    page = sam.open(visit, there, size=size, scripts=scripts)
    page.get_by_role("button", name=re.compile("^Confirm")).click()
    expect(page.get_by_role("status").first).to_contain_text("Confirmed")
    page.get_by_role("link", name="Bookings").click()
    page.get_by_role("link", name="Ann").click()
    page.locator("#cancel > summary").click()
    page.locator("#cancel-why").fill("asked by phone")
    page.get_by_role("button", name="Cancel it").click()
    expect(page.locator("h1")).to_contain_text("Cancelled")
    assert line(admin, key) == []
    page.goto(there)
    expect(page.locator("[data-part=offers]")).to_contain_text("Cyd")
    page.go_back()
    page.get_by_role("button", name="Put back").click()
    expect(page.locator("h1")).to_contain_text("Waiting")
    assert line(admin, key) == ["Ann"]


@pytest.mark.parametrize(("size", "scripts"), [("phone", False), ("desktop", True)])
def test_a_smaller_pool_is_seen_before_it_is_saved(
    sam: Staff, visit: Open, admin: Client, size: str, scripts: bool
) -> None:
    key, there = pool_of(admin, size=3, waiting=0)
    page = sam.open(visit, f"{there}/edit", size=size, scripts=scripts)
    page.locator("#quota-0-size").fill("2")
    page.get_by_role("button", name="See what will happen").click()
    expect(page.locator("main")).to_contain_text("Cyd loses the place")
    page.locator("#allow").check()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("status").first).to_contain_text("Saved")
    assert line(admin, key) == ["Cyd"]


@pytest.mark.parametrize(("size", "scripts"), [("phone", False), ("phone", True), ("desktop", False)])
def test_one_is_moved_in_line_by_buttons(
    sam: Staff, visit: Open, admin: Client, size: str, scripts: bool
) -> None:
    key, there = pool_of(admin, size=1, waiting=4)
    page = sam.open(visit, there, size=size, scripts=scripts)
    assert names(page) == ["Cyd", "Dee", "Eli"]
    row = page.locator("[data-line] > li", has_text="Eli")
    row.locator("summary").click()
    row.get_by_label("Where to").select_option("front")
    row.get_by_label("Why?").fill("came back early")
    row.get_by_role("button", name="Move", exact=True).click()
    expect(page.get_by_role("status").first).to_contain_text("Moved")
    assert names(page) == line(admin, key) == ["Eli", "Cyd", "Dee"]


def test_one_is_moved_in_line_by_the_keyboard_alone(sam: Staff, visit: Open, admin: Client) -> None:
    key, there = pool_of(admin, size=1, waiting=4)
    page = sam.open(visit, there, size="desktop")
    eli = page.locator("[data-line] > li", has_text="Eli").locator("[data-handle]")
    # There by the Tab key alone, from the start of the page.
    for _ in range(60):
        page.keyboard.press("Tab")
        if eli.evaluate("it => it === document.activeElement"):
            break
    expect(eli).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(page.locator("#news")).to_have_text("#2")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Escape")
    page.keyboard.press("Enter")
    expect(page.locator("#move-dialog")).not_to_be_visible()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    expect(page.locator("#move-title")).to_have_text("Move Eli to #1")
    page.keyboard.type("knows the teacher")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status").first).to_contain_text("Moved")
    assert names(page) == line(admin, key) == ["Eli", "Cyd", "Dee"]
    log = admin.ask("GET", f"/v1/pools/{key}/log?limit=500")["items"]
    moved = [it for it in log if it["event"] == "Moved"]
    assert [it["facts"]["why"] for it in moved] == ["knows the teacher"]


def test_one_is_moved_in_line_by_dragging(sam: Staff, visit: Open, admin: Client) -> None:
    key, there = pool_of(admin, size=1, waiting=4)
    page = sam.open(visit, there, size="desktop")
    rows = page.locator("[data-line] > li")
    rows.nth(0).locator(".position").drag_to(rows.nth(1), target_position={"x": 200, "y": 45})
    expect(page.locator("#move-title")).to_have_text("Move Cyd to #2")
    page.locator("#move-why").fill("asked for it")
    page.locator("#move-dialog").get_by_role("button", name="Move").click()
    expect(page.get_by_role("status").first).to_contain_text("Moved")
    assert names(page) == line(admin, key) == ["Dee", "Cyd", "Eli"]


def test_a_pool_changes_while_one_watches_and_a_menu_stays_open(
    sam: Staff, visit: Open, admin: Client
) -> None:
    key, there = pool_of(admin, size=1, waiting=3)
    page = sam.open(visit, there, size="desktop")
    assert names(page) == ["Cyd", "Dee"]
    dee = page.locator("[data-line] > li", has_text="Dee")
    dee.locator("summary").click()
    dee.get_by_label("Why?").fill("half a sentence")
    admin.book(key, person("Zoe"))
    expect(page.locator("[data-line] > li")).to_have_count(3)
    expect(dee.get_by_label("Why?")).to_be_visible()
    expect(dee.get_by_label("Why?")).to_have_value("half a sentence")
    expect(dee.get_by_label("Why?")).to_be_focused()
    bea = next(it for it in admin.ask("GET", f"/v1/bookings?pool={key}")["items"] if it["state"] == "offered")
    admin.act(bea["id"], "decline")
    expect(page.locator("[data-part=offers]")).to_contain_text("Cyd")


def test_the_count_of_what_needs_you_grows_while_one_watches(sam: Staff, visit: Open, admin: Client) -> None:
    _, there = pool_of(admin, size=1, waiting=0)
    page = sam.open(visit, there, size="desktop")
    count = page.locator("[data-part=needs-count]")
    before = int((count.text_content() or "0").split()[0])
    admin.advance(11 * 60)
    admin.book(there.rpartition("/")[2], person("Zoe"))
    expect(count).to_contain_text(str(before + 1))
    expect(count).to_be_visible()
