"""What members of staff do in the console."""

from __future__ import annotations

from playwright.sync_api import Page

from tests.console.desk import PASSWORD, email_of


def sign_in(page: Page, name: str) -> None:
    page.locator("#email").fill(email_of(name))
    page.locator("#password").fill(PASSWORD)
    page.locator("main form .button.main").click()
    page.locator("body.inside").wait_for()
