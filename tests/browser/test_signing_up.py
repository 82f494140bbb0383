"""Signing up from the first tap to the last, in every size, with and without scripts, in two languages."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Open
from tests.browser.flows import (
    QUESTIONS,
    WORDS,
    fill_in,
    full_class,
    gala,
    look_again,
    new_key,
    press_main,
    says,
)
from tests.http.server import Client

# Each size with and without scripts, each language in both sizes and both ways.
EVERY = [
    ("phone", True, "en"),
    ("phone", False, "fi"),
    ("desktop", True, "fi"),
    ("desktop", False, "en"),
]


@pytest.mark.parametrize(("size", "scripts", "language"), EVERY)
def test_one_tap_holds_a_place_and_the_form_makes_it_final(
    admin: Client, visit: Open, size: str, scripts: bool, language: str
) -> None:
    key, words = gala(admin), WORDS[language]
    page = visit(f"/p/{key}", size=size, scripts=scripts, language=language)
    says(page, "Spring gala at the old mill")
    page.locator("button[value=members]").click()
    says(page, words["held"])
    expect(page.locator("html")).to_have_attribute("lang", language)
    # A number that is too small passes the browser, not the service; what was typed stays.
    fill_in(page, questions=True)
    page.locator("#q-age").fill("12")
    press_main(page)
    expect(page.locator("#errors a")).to_have_count(1)
    expect(page.locator("#q-diet")).to_have_value("nuts")
    page.locator("#q-age").fill("44")
    press_main(page)
    says(page, words["yours"])
    (made,) = admin.ask("GET", f"/v1/bookings?pool={key}&state=confirmed")["items"]
    expect(page.locator(".reference")).to_have_text(made["reference"])
    with page.expect_download() as download:
        page.locator(".ticket .button").click()
    assert download.value.suggested_filename == f"{made['reference']}.ics"
    # Reload and go back: nothing is done twice.
    page.reload()
    says(page, words["yours"])
    page.locator("details.fold").first.locator("summary").click()
    page.locator("#name").fill("Ann B.")
    page.locator("details.fold form .button").first.click()
    expect(page).to_have_url(re.compile("told=saved"))
    says(page, words["yours"])
    assert admin.booking(made["id"])["party"]["name"] == "Ann B."
    page.locator("details.fold").last.locator("summary").click()
    page.locator(".button.grave").click()
    says(page, words["cancelled"])
    assert admin.booking(made["id"])["state"] == "cancelled"


@pytest.mark.parametrize(("size", "scripts", "language"), EVERY)
def test_who_waits_watches_the_line_and_claims_the_offer(
    admin: Client, visit: Open, size: str, scripts: bool, language: str
) -> None:
    (key, olga), words = full_class(admin), WORDS[language]
    first = admin.book(key, "first")
    page = visit(f"/p/{key}", size=size, scripts=scripts, language=language)
    page.locator("button[name=quota]").click()
    says(page, words["position"].format(2))
    expect(page.locator(".figure")).to_have_text(words["ahead"].format(1))
    fill_in(page)
    press_main(page)
    expect(page.locator("[role=alert]")).to_be_visible()
    admin.act(first["id"], "cancel")
    look_again(page, scripts)
    says(page, words["position"].format(1))
    admin.act(olga["id"], "cancel")
    look_again(page, scripts)
    says(page, words["turn"])
    page.locator(".hero .button.main").click()
    says(page, words["free"])
    page.locator(".huge").click()
    says(page, words["claimed"])
    page.reload()
    says(page, words["claimed"])
    page.go_back()
    look_again(page, scripts)
    says(page, words["claimed"])
    assert len(admin.ask("GET", f"/v1/bookings?pool={key}&state=confirmed")["items"]) == 1


@pytest.mark.parametrize(("size", "scripts", "language"), [("phone", True, "fi"), ("desktop", False, "en")])
def test_who_cannot_make_it_says_so_and_keeps_the_place_in_line(
    admin: Client, visit: Open, size: str, scripts: bool, language: str
) -> None:
    key, olga = full_class(admin)
    ann = admin.book(key, {"id": "ann", "contacts": {"email": "a@example.org"}})
    bea = admin.book(key, "bea")
    admin.act(olga["id"], "cancel")
    token = admin.booking(ann["id"])["offer"]["token"]
    # As the message links to it.
    page = visit(f"/o/{token}#decline", size=size, scripts=scripts, language=language)
    page.locator("#decline button").click()
    says(page, WORDS[language]["thanks"])
    assert admin.booking(bea["id"])["state"] == "offered"
    assert admin.booking(ann["id"])["state"] == "waiting"


def test_the_whole_way_with_the_keyboard_alone(admin: Client, visit: Open) -> None:
    key = new_key("keys")
    admin.pool(key, 3, "event_signup", questions=QUESTIONS, policy={"quantity_max": 1})
    page = visit(f"/p/{key}", size="desktop")

    def tab_to(selector: str) -> None:
        for _ in range(30):
            page.keyboard.press("Tab")
            if page.evaluate("selector => document.activeElement.matches(selector)", selector):
                # Where one is can be seen.
                style = "getComputedStyle(document.activeElement)"
                assert page.evaluate(f"{style}.outlineStyle + {style}.outlineWidth") == "solid3px"
                return
        raise AssertionError(f"{selector} cannot be reached")

    tab_to("button[name=quota]")
    page.keyboard.press("Enter")
    says(page, WORDS["en"]["held"])
    tab_to("#name")
    page.keyboard.type("Ann")
    tab_to("#email")
    page.keyboard.type("ann@example.org")
    tab_to("#q-meal-1")
    page.keyboard.press("Space")
    tab_to("#q-rules")
    page.keyboard.press("Space")
    tab_to("main form .button.main")
    page.keyboard.press("Enter")
    says(page, WORDS["en"]["yours"])
    tab_to("details.fold:last-of-type summary")
    page.keyboard.press("Enter")
    tab_to(".button.grave")
    page.keyboard.press("Enter")
    says(page, WORDS["en"]["cancelled"])


def test_what_is_wrong_is_where_the_focus_goes(admin: Client, visit: Open) -> None:
    key = gala(admin)
    page = visit(f"/p/{key}")
    page.locator("button[value=members]").click()
    fill_in(page, questions=True)
    page.locator("#name").fill("   ")
    press_main(page)
    expect(page.locator("#errors")).to_be_focused()
    page.locator("#errors a").first.click()
    expect(page.locator("#name")).to_be_focused()
    expect(page.locator("#name")).to_have_attribute("aria-invalid", "true")
