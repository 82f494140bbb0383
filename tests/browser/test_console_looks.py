"""Every page of the console as staff see it: axe finds nothing, nothing overflows, a screenshot of each."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.browser.conftest import Open
from tests.browser.console import Shoot, Staff, judge
from tests.browser.test_looks import fits, found_by_axe
from tests.console.desk import make_members
from tests.console.stage import gala, salon, yoga
from tests.http.server import Client, Server

Made = dict[str, str]


@pytest.fixture(scope="module")
def olga(server: Server) -> Staff:
    make_members(server.url)
    return Staff(server, "Olga")


@pytest.fixture(scope="module")
def made(admin: Client) -> Made:
    """An ordinary day: ids of its pools, and of a booking in each state."""
    keys = {"yoga": yoga(admin), "gala": gala(admin), "salon": salon(admin)}
    found = {name: admin.ask("GET", f"/v1/pools/{key}")["id"] for name, key in keys.items()}
    for it in admin.ask("GET", f"/v1/bookings?pool={keys['yoga']}")["items"]:
        found[it["state"]] = it["id"]
    return found


PAGES: dict[str, Callable[[Made], str]] = {
    "pools": lambda made: "/console/pools",
    "new": lambda made: "/console/pools/new",
    "new_form": lambda made: "/console/pools/new?preset=class_waitlist",
    "pool": lambda made: f"/console/pools/{made['yoga']}",
    "pool_quotas": lambda made: f"/console/pools/{made['gala']}",
    "pool_units": lambda made: f"/console/pools/{made['salon']}",
    "bookings": lambda made: f"/console/pools/{made['gala']}/bookings",
    "messages": lambda made: f"/console/pools/{made['yoga']}/messages",
    "csv": lambda made: f"/console/pools/{made['yoga']}/csv",
    "list": lambda made: f"/console/pools/{made['gala']}/list",
    "edit": lambda made: f"/console/pools/{made['gala']}/edit",
    "call_off": lambda made: f"/console/pools/{made['yoga']}/status?to=cancelled",
    "add": lambda made: f"/console/pools/{made['gala']}/add",
    "booking_waiting": lambda made: f"/console/bookings/{made['waiting']}",
    "booking_held": lambda made: f"/console/bookings/{made['held']}",
    "booking_ended": lambda made: f"/console/bookings/{made['cancelled']}",
    "find": lambda made: "/console/find?q=a",
    "needs": lambda made: "/console/needs",
    "trouble": lambda made: "/console/pools/nope",
}


@pytest.mark.parametrize("name", PAGES)
def test_everybody_can_use_the_page(olga: Staff, visit: Open, shoot: Shoot, made: Made, name: str) -> None:
    page = olga.open(visit, PAGES[name](made))
    judge(page, f"console_{name}", shoot)
    # The longest words, on the narrowest phone: nothing may stick out.
    there = page.url
    page.goto(f"{there}{'&' if '?' in there else '?'}lang=de")
    fits(page, 320)


def test_what_is_folded_away_can_be_used_too(olga: Staff, visit: Open, shoot: Shoot, made: Made) -> None:
    page = olga.open(visit, f"/console/bookings/{made['waiting']}")
    for summary in page.locator("main summary").all():
        summary.click()
    judge(page, "console_booking_unfolded", shoot)
    page = olga.open(visit, f"/console/pools/{made['yoga']}")
    page.locator("[data-line] .menu summary").first.click()
    judge(page, "console_pool_move_menu", shoot)


def test_a_look_ahead_can_be_used_too(olga: Staff, visit: Open, shoot: Shoot, made: Made) -> None:
    page = olga.open(visit, f"/console/pools/{made['gala']}/edit")
    page.locator("#quota-0-size").fill("2")
    page.locator("#open_size").fill("0")
    page.get_by_role("button", name="See what will happen").click()
    page.get_by_role("heading", name="Before you save").wait_for()
    judge(page, "console_preview", shoot)
    page = olga.open(visit, f"/console/pools/{made['yoga']}/csv")
    page.locator("#text").fill("party_id,name,quantity\nz1,Zoe,1\nz2,Yan,0\n")
    page.get_by_role("button", name="See what would come of it").click()
    page.get_by_role("heading", name="This would come of it").wait_for()
    judge(page, "console_csv_dry_run", shoot)


def test_on_a_phone_words_are_not_squeezed_by_the_buttons_beside_them(
    olga: Staff, visit: Open, admin: Client
) -> None:
    yoga(admin, size=1, waiting=0)
    admin.advance(11 * 60)
    page = olga.open(visit, "/console/needs")
    page.set_viewport_size({"width": 390, "height": 844})
    rows = page.locator(".needs .person, section[aria-labelledby=holds] .person")
    assert rows.count()
    for row in rows.all():
        words, whole = row.locator(".person-words").bounding_box(), row.bounding_box()
        assert words
        assert whole
        assert words["width"] > 0.65 * whole["width"]


def test_on_a_phone_no_full_stop_stands_on_a_line_of_its_own(olga: Staff, visit: Open, made: Made) -> None:
    page = olga.open(visit, f"/console/pools/{made['yoga']}/edit")
    page.set_viewport_size({"width": 390, "height": 844})
    alone = page.evaluate(
        """() => [...document.querySelectorAll(".sentences p")].filter((p) => {
          const last = p.lastChild, blank = last && last.previousElementSibling;
          if (!blank || last.nodeType !== 3 || last.data.trim() !== ".") return false;
          const range = document.createRange();
          range.selectNodeContents(last);
          return range.getBoundingClientRect().top >= blank.getBoundingClientRect().bottom;
        }).map((p) => p.textContent.slice(0, 40))"""
    )
    assert alone == []


def test_a_console_that_not_everybody_can_use_is_noticed(olga: Staff, visit: Open, made: Made) -> None:
    """The negative control of the judge."""
    page = olga.open(visit, f"/console/pools/{made['yoga']}")
    page.evaluate("document.querySelector('.person-name').style.color = '#bbb'")
    assert any(it.startswith("color-contrast") for it in found_by_axe(page))
