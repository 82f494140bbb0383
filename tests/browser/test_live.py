"""Pages that change while one looks, people who race, and pages in a frame of another web site."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Open
from tests.browser.flows import WORDS, fill_in, full_class, heading, new_key, now_of, offer_to, person, says
from tests.http.server import Client, Server
from tests.patience import wait_until


def test_two_race_for_one_seat_and_one_has_it(admin: Client, visit: Open) -> None:
    key = new_key("race")
    admin.pool(key, 1, "checkout", page=True, policy={"quantity_max": 1})
    pages = [visit(f"/p/{key}") for _ in range(2)]
    for page in pages:
        page.locator("button[name=quota]").wait_for()
    for page in pages:
        # Sent at once: neither waits for the other's answer.
        page.evaluate("setTimeout(() => document.querySelector('button[name=quota]').click(), 50)")
    for page in pages:
        page.wait_for_url(re.compile(r"/b/|no="))
    led = sorted("/b/" in page.url for page in pages)
    assert led == [False, True]
    assert len(admin.ask("GET", f"/v1/bookings?pool={key}")["items"]) == 1
    loser = next(page for page in pages if "/b/" not in page.url)
    expect(loser.locator("[role=alert]")).to_contain_text("not enough room")


def test_two_race_for_the_last_place_of_a_line_and_each_has_something(admin: Client, visit: Open) -> None:
    key = new_key("line-race")
    admin.pool(key, 1)
    pages = [visit(f"/p/{key}") for _ in range(2)]
    for page in pages:
        page.evaluate("setTimeout(() => document.querySelector('button[name=quota]').click(), 50)")
    for page in pages:
        page.wait_for_url("**/b/**")
    assert sorted(heading(page).inner_text() for page in pages) == [
        WORDS["en"]["held"],
        WORDS["en"]["position"].format(1),
    ]


def test_the_same_offer_in_two_windows_is_one_yes(admin: Client, visit: Open) -> None:
    there = offer_to(admin)
    first, second = visit(there), visit(there)
    first.evaluate("setTimeout(() => document.querySelector('.huge').click(), 50)")
    second.evaluate("setTimeout(() => document.querySelector('.huge').click(), 50)")
    for page in (first, second):
        says(page, WORDS["en"]["claimed"])


def test_a_double_tap_signs_up_once(admin: Client, visit: Open) -> None:
    key = new_key("tap")
    admin.pool(key, 5, "checkout", page=True)
    page = visit(f"/p/{key}")
    page.evaluate(
        "const it = document.querySelector('button[name=quota]'); it.click(); it.click(); it.click();"
    )
    says(page, WORDS["en"]["held"])
    assert len(admin.ask("GET", f"/v1/bookings?pool={key}")["items"]) == 1


HEARING = """
    window.heard = 0;
    const Plain = EventSource;
    window.EventSource = class extends Plain {
        constructor(...args) { super(...args); this.addEventListener("seen", () => { window.heard += 1; }); }
    };
"""


def test_news_that_come_while_a_page_fetches_are_not_lost(admin: Client, visit: Open) -> None:
    """The first answer is kept back until the next news have come: it is old by then."""
    key, _ = full_class(admin)
    others = [admin.book(key, f"other-{n}") for n in range(2)]
    page = visit(f"/b/{admin.book(key, 'mine')['edit_token']}")
    page.add_init_script(HEARING)
    page.reload()
    wait_until(lambda: page.evaluate("window.heard") or 0)
    held: list[Any] = []

    def keep(route: Any) -> None:
        if held:
            route.continue_()
        else:
            held.append(route)

    page.route("**/b/*live=*", keep)
    admin.act(others[0]["id"], "cancel")
    while not held:
        page.wait_for_timeout(20)
    old, heard = held[0].fetch(), page.evaluate("window.heard")
    admin.act(others[1]["id"], "cancel")
    wait_until(lambda: page.evaluate("window.heard") > heard)
    held[0].fulfill(response=old)
    says(page, "You are #1 in line")


def test_a_position_changes_while_one_watches_and_typing_goes_on(admin: Client, visit: Open) -> None:
    key, _ = full_class(admin)
    others = [admin.book(key, f"other-{n}") for n in range(3)]
    mine = admin.book(key, "mine")
    page = visit(f"/b/{mine['edit_token']}")
    says(page, "You are #4 in line")
    page.locator("#name").fill("half a na")
    page.evaluate("window.same = document.querySelector('#name')")
    for left, other in zip((3, 2, 1), others, strict=True):
        admin.act(other["id"], "cancel")
        says(page, f"You are #{left} in line")
    expect(page.locator("#name")).to_have_value("half a na")
    assert page.evaluate("window.same === document.querySelector('#name')")
    # Who cannot see it hears it.
    expect(page.locator("#news")).to_have_text("You are #1 in line. You are next")
    expect(page).to_have_title("You are #1 in line · Saturday yoga")


def test_what_was_typed_stays_when_a_place_comes_while_one_types(admin: Client, visit: Open) -> None:
    key = new_key("typing")
    admin.pool(key, 1, "event_signup")
    olga = admin.book(key, "olga")
    mine = admin.book(key, "mine")
    page = visit(f"/b/{mine['edit_token']}")
    says(page, "You are #1 in line")
    fill_in(page)
    admin.act(olga["id"], "cancel")
    says(page, WORDS["en"]["held"])
    expect(page.locator("#name")).to_have_value("Ann Example")
    page.locator("main form .button.main").first.click()
    says(page, WORDS["en"]["yours"])


def test_a_page_of_a_pool_counts_along(admin: Client, visit: Open) -> None:
    key = new_key("count")
    admin.pool(key, 3, "checkout", page=True)
    page = visit(f"/p/{key}", size="desktop")
    room = page.locator(".room")
    expect(room).to_have_text("3 of 3 free")
    page.locator("#quantity").fill("2")
    admin.book(key, "ann")
    expect(room).to_have_text("2 of 3 free")
    expect(page.locator("#quantity")).to_have_value("2")
    admin.book(key, "bea", quantity=2)
    expect(room).to_have_text("All 3 places are taken")
    expect(page.locator("button[name=quota]")).to_have_count(0)


def without_stream(page: Page, path: str) -> None:
    """Open a page whose stream never comes, with a clock that the test moves."""
    page.route("**/stream", lambda route: route.abort())
    page.clock.install()
    page.goto(path)


def test_a_countdown_counts_and_at_zero_the_page_looks_again(admin: Client, visit: Open) -> None:
    key = new_key("zero")
    admin.pool(key, 1, "checkout", page=True)
    made = admin.book(key, person("Ann"))
    page = visit("/static/0/none")
    without_stream(page, f"/b/{made['edit_token']}")
    shown = page.get_by_role("timer")
    expect(shown).to_have_text("15:00")
    page.clock.run_for(1_000)
    expect(shown).to_have_text("14:59")
    # It stays in sight of who has scrolled down to the form.
    page.locator("#email").scroll_into_view_if_needed()
    expect(page.locator(".form-head .countdown-time")).to_have_text("14:59")
    expect(page.locator(".form-head")).to_be_in_viewport()
    page.clock.run_for(14 * 60_000)
    expect(shown).to_have_text("0:59")
    expect(page.locator("#news")).to_contain_text("1:00")
    # The control: the time is over for the service, and the page has not looked yet.
    admin.advance(15 * 60)
    says(page, WORDS["en"]["held"])
    page.clock.run_for(60_000)
    says(page, WORDS["en"]["over"])
    expect(page.locator(".countdown-time")).to_have_count(0)


def test_a_pool_opens_before_ones_eyes(admin: Client, visit: Open) -> None:
    key = new_key("opening")
    opens_at = (now_of(admin) + timedelta(hours=2)).isoformat()
    admin.pool(key, 1, "event_signup", opens_at=opens_at)
    page = visit("/static/0/none")
    without_stream(page, f"/p/{key}")
    expect(page.locator(".countdown-time")).to_have_text("2 hours")
    expect(page.locator("button[name=quota]")).to_have_count(0)
    page.clock.run_for(7_190_000)
    expect(page.locator(".countdown-time")).to_have_text("0:10")
    admin.advance(7200)
    page.clock.run_for(10_000)
    expect(page.locator("button[name=quota]")).to_be_visible()


@contextmanager
def another_site(body: str) -> Iterator[str]:
    """A web site of somebody else's: another origin, with one page."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *words: Any) -> None:
            pass

    site = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=site.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{site.server_address[1]}"
    finally:
        site.shutdown()
        thread.join()
        site.server_close()


@pytest.mark.parametrize("scripts", [True, False])
def test_a_named_web_site_shows_the_page_in_a_frame(
    admin: Client, chromium: Browser, server: Server, scripts: bool
) -> None:
    key = new_key("framed")
    admin.pool(key, 3, "checkout", page=True)
    frame = f'<!doctype html><title>Elsewhere</title><iframe title="Sign up" src="{server.base}/embed/{key}">'
    with another_site(frame) as origin:
        context = chromium.new_context(java_script_enabled=scripts)
        page = context.new_page()
        # Not named: the browser shows nothing of it.
        page.goto(origin)
        inside = page.frame_locator("iframe")
        wait_until(lambda: page.frames[1].url.startswith("chrome-error:") or page.wait_for_timeout(20))
        expect(inside.locator("button[name=quota]")).to_have_count(0)
        admin.ask("PUT", "/v1/origins", {"origin": origin})
        page.goto(origin)
        inside.locator("button[name=quota]").click()
        expect(inside.locator("h1")).to_have_text(WORDS["en"]["held"])
        inside.locator("#name").fill("Ann")
        inside.locator("#email").fill("ann@example.org")
        inside.locator("main form .button.main").first.click()
        expect(inside.locator("h1")).to_have_text(WORDS["en"]["yours"])
        assert context.cookies() == []
        context.close()
    assert admin.ask("GET", f"/v1/bookings?pool={key}")["items"][0]["state"] == "confirmed"
