"""What members of staff do in the console."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Page

from tests.browser.conftest import SIZES, Open
from tests.browser.test_looks import JUDGED, found_by_axe
from tests.console.desk import PASSWORD, Desk, email_of
from tests.http.server import Server

Shoot = Callable[[Page, str], None]


def sign_in(page: Page, name: str) -> None:
    page.locator("#email").fill(email_of(name))
    page.locator("#password").fill(PASSWORD)
    page.locator("main form .button.main").click()
    page.locator("body.inside").wait_for()


class Staff:
    """Opens pages of the console for a member who signed in once: passwords take their time."""

    def __init__(self, server: Server, name: str) -> None:
        with Desk(base_url=server.base) as desk:
            desk.sign_in(name)
            self._cookies = [
                {"name": it.name, "value": it.value, "url": server.base} for it in desk.cookies.jar
            ]

    def open(self, visit: Open, path: str, **options: object) -> Page:
        page = visit("/healthz", **options)
        page.context.add_cookies(self._cookies)  # type: ignore[arg-type]
        page.goto(path)
        return page


def judge(page: Page, name: str, shoot: Shoot) -> None:
    """Axe in light and dark, and screenshots in both themes at both sizes, of the whole height at once."""
    for size, (width, height) in SIZES.items():
        page.set_viewport_size({"width": width, "height": height})
        tall = max(height, page.evaluate("document.documentElement.scrollHeight"))
        page.set_viewport_size({"width": width, "height": tall})
        for theme in ("light", "dark"):
            page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
            shoot(page, f"{name}-{size}-{theme}")
            if (size, theme) in JUDGED:
                assert found_by_axe(page) == [], f"{name} {size} {theme}"
