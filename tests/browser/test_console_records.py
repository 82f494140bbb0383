"""What happened, numbers and settings in a browser, on the pools of the demo: they have a past to tell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Open
from tests.browser.flows import says
from tests.browser.test_looks import fits, judge
from tests.demo.demo import Demo

Shoot = Callable[[Page, str], None]


def desk(opened: Open, demo: Demo, **options: Any) -> Page:
    """Somebody who comes by the link of the demo, signed in."""
    return opened(demo.links["The console"], **{"size": "desktop", **options})


def unfold(page: Page) -> None:
    for summary in page.locator("main details > summary").all():
        summary.click()


def make_key(page: Page) -> None:
    page.locator("#name").fill("the shop")
    page.get_by_role("button", name="Make it").click()
    expect(page.locator(".secret-text").first).to_contain_text("fh_")


def see_member(page: Page) -> None:
    page.get_by_role("link", name="Rob").click()
    says(page, "Rob")
    unfold(page)


def add_webhook(page: Page) -> None:
    page.locator("#url").fill("https://example.org/hook")
    page.get_by_role("button", name="Add").click()
    says(page, "https://example.org/hook")
    unfold(page)


def check(page: Page) -> None:
    page.get_by_role("button", name="Check the record").click()
    expect(page.locator(".notice.good")).to_contain_text("The record is whole.")


PAGES: list[tuple[str, str, Callable[[Page], None] | None]] = [
    ("happened", "/console/happened", None),
    ("happened_pool", "/console/happened?pool=salon&topic=offers", check),
    ("happened_person", "/console/happened?person=ann", None),
    ("numbers", "/console/numbers?pool=pottery", unfold),
    ("settings_you", "/console/settings", None),
    ("settings_words", "/console/settings/words", None),
    ("settings_words_of", "/console/settings/words/handed_back/en", unfold),
    ("settings_members", "/console/settings/members", None),
    ("settings_member", "/console/settings/members", see_member),
    ("settings_keys", "/console/settings/keys", make_key),
    ("settings_webhooks", "/console/settings/webhooks", None),
    ("settings_webhook", "/console/settings/webhooks", add_webhook),
    ("settings_places", "/console/settings/places", None),
]


@pytest.mark.parametrize(("name", "path", "act"), PAGES, ids=[page[0] for page in PAGES])
def test_everybody_can_use_the_page(
    opened: Open,
    demo: Demo,
    shoot: Shoot,
    name: str,
    path: str,
    act: Callable[[Page], None] | None,
) -> None:
    page = desk(opened, demo)
    page.goto(path)
    if act is not None:
        act(page)
    judge(page, f"console_{name}", shoot)
    page.goto(f"{path}{'&' if '?' in path else '?'}lang=de")
    fits(page, 320)


@pytest.mark.parametrize("scripts", [True, False])
def test_a_seat_a_person_and_the_whole_record_are_found_by_hand(
    opened: Open, demo: Demo, scripts: bool
) -> None:
    page = desk(opened, demo, scripts=scripts, size="phone")
    page.get_by_role("navigation", name="Sections").get_by_role("link", name="What happened").click()
    page.get_by_label("Pool").select_option(label="The salon")
    page.get_by_role("button", name="Show").click()
    says(page, "The salon")
    page.get_by_label("What", exact=True).select_option(label="Freed seats")
    page.get_by_role("button", name="Show").click()
    expect(page.locator(".timeline")).to_contain_text("goes back to staff. 4 were asked, and nobody took it.")
    expect(page.locator(".timeline")).not_to_contain_text("joins the line")
    check(page)
    page.goto("/console/happened?pool=salon")
    page.get_by_role("link", name="All about Bea").first.click()
    says(page, "Bea")
    expect(page.locator(".timeline")).to_contain_text("Bea declines. The place in line stays.")


def test_the_tables_of_the_numbers_say_what_the_charts_draw(opened: Open, demo: Demo) -> None:
    page = desk(opened, demo)
    page.goto("/console/numbers?pool=algebra&days=30")
    unfold(page)
    drawn = page.locator("section", has=page.get_by_role("heading", name="What became of offers"))
    shown = drawn.locator(".values li").all_inner_texts()
    assert shown == drawn.locator("tbody td").all_inner_texts()
    heights = [float(it.get_attribute("height") or 0) for it in drawn.locator("rect.column").all()]
    values = [int(it) for it in shown]
    assert any(values)
    assert [max(values) * it for it in heights] == pytest.approx([max(heights) * it for it in values], abs=1)
    expect(page.get_by_role("img", name="Seats taken over time")).to_be_visible()


def test_own_words_are_tried_before_they_are_kept(opened: Open, demo: Demo) -> None:
    page = desk(opened, demo, size="phone")
    page.goto("/console/settings/words/joined/en")
    page.get_by_label("Subject").fill("You are number {{ position }}, {{ name }}")
    page.get_by_role("button", name="See how it reads").click()
    expect(page.locator(".mail h3").first).to_contain_text("You are number 3, Ann")
    expect(page.locator(".notice", has_text="Not kept yet.")).to_be_visible()
    page.get_by_role("button", name="Keep it").click()
    expect(page.locator(".notice.good")).to_contain_text("Kept.")
