"""The console in a real browser: signing in, and the way around."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Open
from tests.browser.console import sign_in
from tests.browser.flows import says
from tests.browser.test_looks import fits, judge
from tests.console.desk import make_members
from tests.http.server import Server


@pytest.fixture(scope="module", autouse=True)
def members(server: Server) -> None:
    make_members(server.url)


@pytest.mark.parametrize("scripts", [True, False])
@pytest.mark.parametrize("size", ["phone", "desktop"])
def test_signing_in_and_out(visit: Open, size: str, scripts: bool) -> None:
    page = visit("/console/needs", size=size, scripts=scripts)
    sign_in(page, "Sam")
    says(page, "Needs you")
    page.get_by_role("navigation", name="Sections").get_by_role("link", name="Pools").click()
    says(page, "Pools")
    page.locator("#me > summary").click()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("status").first).to_contain_text("You have signed out")
    page.goto("/console/pools")
    says(page, "Sign in")


def test_everybody_can_sign_in(visit: Open, shoot: Callable[[Page, str], None]) -> None:
    page = visit("/console/sign-in")
    page.locator("summary").click()
    judge(page, "console_sign_in", shoot)
    page.goto("/console/sign-in?lang=de")
    fits(page, 320)
    page.goto("/console/pools")
    sign_in(page, "Olga")
    page.locator("#me > summary").click()
    judge(page, "console_frame", shoot)
    page.goto("/console/pools?lang=de")
    fits(page, 320)
