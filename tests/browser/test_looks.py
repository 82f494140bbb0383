"""Every page as people see it: axe finds nothing, nothing overflows, and a screenshot is kept of each."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

from tests.browser.conftest import SIZES, Open
from tests.browser.flows import (
    QUESTIONS,
    fill_in,
    full_class,
    gala,
    new_key,
    now_of,
    offer_to,
    person,
    press_main,
)
from tests.http.server import Client

AXE = Path(__file__).parent.parent.parent / "testbed" / "axe" / "axe.min.js"
# Both themes and both sizes, and not every one with every other: their colours and their order are the same.
JUDGED = [("phone", "light"), ("desktop", "dark")]
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


@cache
def axe_source() -> str:
    return AXE.read_text(encoding="utf-8")


def found_by_axe(page: Page) -> list[str]:
    """What axe complains of, a line each."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(axe_source())
    options = {"runOnly": {"type": "tag", "values": RULES}, "resultTypes": ["violations"]}
    found: Any = page.evaluate("options => axe.run(document, options)", options)
    return [
        f"{it['id']}: {node['html'][:160]} {node.get('failureSummary', '')[:300]}"
        for it in found["violations"]
        for node in it["nodes"]
    ]


def pool_open(admin: Client) -> str:
    return f"/p/{gala(admin)}"


def pool_not_open_yet(admin: Client) -> str:
    return f"/p/{gala(admin, opens_at=(now_of(admin) + timedelta(hours=30)).isoformat())}"


def pool_full(admin: Client) -> str:
    return f"/p/{full_class(admin)[0]}"


def pool_of_units(admin: Client) -> str:
    key = new_key("salon")
    day = now_of(admin) + timedelta(days=1)
    units = [{"label": f"{n} pm", "starts_at": (day + timedelta(hours=n)).isoformat()} for n in (1, 2, 3)]
    body = {"key": key, "title": "A chair tomorrow", "preset": "last_minute", "time_zone": "Europe/Helsinki"}
    admin.ask("POST", "/v1/pools", body | {"quotas": [{"key": "main", "units": units}]}, expect=201)
    return f"/p/{key}"


def pool_chosen_twice(admin: Client) -> str:
    return f"{pool_of_units(admin)}?no=one_by_name&quantity=2&unit-main=2+pm"


def who_said_no(admin: Client) -> tuple[str, Any]:
    """Ann was offered the place that came free in a full class, and declined: she must wait a while."""
    key, olga = full_class(admin)
    ann = admin.book(key, person("Ann"))
    admin.act(olga["id"], "cancel")
    admin.act(ann["id"], "decline")
    return key, ann


def pool_behind_a_line(admin: Client) -> str:
    return f"/p/{who_said_no(admin)[0]}"


def booking_in_cooldown(admin: Client) -> str:
    return f"/b/{who_said_no(admin)[1]['edit_token']}"


def pool_cancelled(admin: Client) -> str:
    key = gala(admin)
    admin.ask("PATCH", f"/v1/pools/{key}", {"status": "cancelled"})
    return f"/p/{key}"


def pool_embedded(admin: Client) -> str:
    return f"/embed/{gala(admin)}"


def pool_refused(admin: Client) -> str:
    return f"/p/{full_class(admin, 'checkout')[0]}?no=not_enough_room"


def booking_held(admin: Client) -> str:
    return f"/b/{admin.book(gala(admin), 'ann', quota='members')['edit_token']}"


def booking_extendable(admin: Client) -> str:
    key = new_key("flight")
    admin.ask(
        "POST",
        "/v1/pools",
        {
            "key": key,
            "title": "Flight 7",
            "preset": "checkout",
            "quotas": [{"key": "main", "units": ["12A"]}],
        },
        expect=201,
    )
    return f"/b/{admin.book(key, person('Ann'))['edit_token']}"


def booking_waiting_nameless(admin: Client) -> str:
    return f"/b/{admin.book(full_class(admin)[0], 'ann')['edit_token']}"


def booking_waiting(admin: Client) -> str:
    key, olga = full_class(admin)
    first, ann = (admin.book(key, person(name)) for name in ("Bea", "Ann"))
    admin.act(olga["id"], "cancel")
    admin.act(first["id"], "decline")
    token = admin.booking(ann["id"])["offer"]["token"]
    admin.ask("POST", f"/v1/offers/{token}/decline")
    return f"/b/{ann['edit_token']}"


def booking_unconfirmed_in_line(admin: Client) -> str:
    key = gala(admin, quotas=[{"key": "main", "size": 0}, {"key": "guests", "size": 0}], open_size=0)
    return f"/b/{admin.book(key, 'ann', quota='main')['edit_token']}"


def booking_offered(admin: Client) -> str:
    key, olga = full_class(admin)
    ann = admin.book(key, person("Ann"))
    admin.act(olga["id"], "cancel")
    return f"/b/{ann['edit_token']}"


def booking_confirmed(admin: Client) -> str:
    made = admin.book(gala(admin), person("Ann"), quota="members", quantity=2)
    admin.act(made["id"], "confirm")
    return f"/b/{made['edit_token']}"


def booking_cancelled(admin: Client) -> str:
    made = admin.book(gala(admin), person("Ann"), quota="members")
    admin.act(made["id"], "cancel", {"as_staff": True, "why": "asked by phone"})
    return f"/b/{made['edit_token']}"


def offer_live(admin: Client) -> str:
    return offer_to(admin)


def offer_nameless(admin: Client) -> str:
    key, olga = full_class(admin, questions=QUESTIONS)
    ann = admin.book(key, "ann")
    admin.act(olga["id"], "cancel")
    return f"/o/{admin.booking(ann['id'])['offer']['token']}"


def offer_to_lose(admin: Client) -> str:
    return offer_to(admin, preset="course_section")


def offer_in_part(admin: Client) -> str:
    key = new_key("pair")
    admin.pool(key, 2, title="Pottery for two")
    olga = admin.book(key, "olga", quantity=2)
    ann = admin.book(key, person("Ann"), quantity=2)
    admin.act(olga["id"], "cancel")
    return f"/o/{admin.booking(ann['id'])['offer']['token']}"


def offer_claimed(admin: Client) -> str:
    there = offer_to(admin)
    admin.ask("POST", f"/v1/offers/{there.removeprefix('/o/')}/claim")
    return there


def offer_declined(admin: Client) -> str:
    there = offer_to(admin)
    admin.ask("POST", f"/v1/offers/{there.removeprefix('/o/')}/decline")
    return there


def offer_lapsed(admin: Client) -> str:
    there = offer_to(admin, preset="course_section")
    admin.advance(86_400)
    return there


def offer_filled(admin: Client) -> str:
    key, olga = full_class(admin)
    ann = admin.book(key, person("Ann"))
    admin.act(olga["id"], "cancel")
    there = f"/o/{admin.booking(ann['id'])['offer']['token']}"
    admin.ask("PATCH", f"/v1/pools/{key}", {"sizes": {"main": 0}, "allow_demotion": True})
    return there


def problem(admin: Client) -> str:
    return "/b/nope"


PAGES: list[Callable[[Client], str]] = [
    pool_open,
    pool_not_open_yet,
    pool_full,
    pool_of_units,
    pool_chosen_twice,
    pool_behind_a_line,
    pool_cancelled,
    pool_embedded,
    pool_refused,
    booking_held,
    booking_extendable,
    booking_waiting_nameless,
    booking_waiting,
    booking_unconfirmed_in_line,
    booking_in_cooldown,
    booking_offered,
    booking_confirmed,
    booking_cancelled,
    offer_live,
    offer_nameless,
    offer_to_lose,
    offer_in_part,
    offer_claimed,
    offer_declined,
    offer_lapsed,
    offer_filled,
    problem,
]


@pytest.mark.parametrize("make", PAGES, ids=lambda make: make.__name__)
def test_everybody_can_use_the_page(
    admin: Client, visit: Open, shoot: Callable[[Page, str], None], make: Callable[[Client], str]
) -> None:
    page = visit(make(admin))
    judge(page, make.__name__, shoot)
    # The longest words, on the narrowest phone: nothing may stick out.
    page.goto(page.url.partition("?")[0] + "?lang=de")
    fits(page, 320)


def test_a_form_that_needs_another_look_can_be_used_too(
    admin: Client, visit: Open, shoot: Callable[[Page, str], None]
) -> None:
    page = visit(booking_held(admin))
    fill_in(page, questions=True)
    page.locator("#name").fill(" ")
    page.locator("#q-age").fill("x")
    press_main(page)
    page.locator("#errors").wait_for()
    judge(page, "booking_errors", shoot)


def test_what_is_folded_away_can_be_used_too(
    admin: Client, visit: Open, shoot: Callable[[Page, str], None]
) -> None:
    page = visit(booking_confirmed(admin))
    for summary in page.locator("summary").all():
        summary.click()
    judge(page, "booking_unfolded", shoot)
    page = visit(pool_open(admin))
    page.locator("summary").click()
    judge(page, "pool_rules", shoot)


def judge(page: Page, name: str, shoot: Callable[[Page, str], None]) -> None:
    """Axe in light and dark, and screenshots in both themes at both sizes."""
    for size, (width, height) in SIZES.items():
        page.set_viewport_size({"width": width, "height": height})
        for theme in ("light", "dark"):
            page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
            shoot(page, f"{name}-{size}-{theme}")
            if (size, theme) in JUDGED:
                assert found_by_axe(page) == [], f"{name} {size} {theme}"


def fits(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 640})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    sticking_out = """width => [...document.querySelectorAll("main *, footer *")]
        .filter((it) => it.getBoundingClientRect().right > width + 1 && it.getBoundingClientRect().width > 1)
        .map((it) => it.outerHTML.slice(0, 100))"""
    assert page.evaluate(sticking_out, width) == []


@pytest.mark.parametrize(
    ("spoil", "rule"),
    [
        ("document.querySelector('.lead').style.color = '#bbb'", "color-contrast"),
        ("document.querySelector('label').remove()", "label"),
        ("document.documentElement.lang = ''", "html-has-lang"),
    ],
)
def test_a_page_that_not_everybody_can_use_is_noticed(
    admin: Client, visit: Open, spoil: str, rule: str
) -> None:
    """The negative control of the judge."""
    page = visit(booking_held(admin))
    page.evaluate(spoil)
    assert any(it.startswith(rule) for it in found_by_axe(page))
