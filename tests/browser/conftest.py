"""A service, a Chromium, and pages of it in every size, theme and language, with and without scripts.

The demo, for tests of pages that need a past, has the same: `demo` and `opened`.

Screenshots of every page are kept in `screenshots/`, which git does not take.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from testbed.browser import ARGUMENTS
from testbed.browser import chromium as find_chromium
from tests.demo.demo import Demo, running
from tests.http.server import Client, Server, make_key, serving
from tests.patience import PATIENCE_S

SHOTS = Path(__file__).parent.parent.parent / "screenshots"
SIZES = {"phone": (390, 844), "desktop": (1280, 900)}
LOCALES = {"en": "en-GB", "fi": "fi-FI", "de": "de-DE"}
PATIENCE_MS = PATIENCE_S * 1_000

expect.set_options(timeout=PATIENCE_MS)

Open = Callable[..., Page]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    url = f"sqlite:///{tmp_path_factory.mktemp('browser')}/fairhold.db"
    environment = {"fairhold_holds_per_address_max": "0", "fairhold_rate_per_address": "0"}
    with serving(url, "--test-clock", **environment) as running:
        yield running


@pytest.fixture(scope="module")
def admin(server: Server) -> Iterator[Client]:
    with server.client(make_key(server.url, "admin", name="ops")) as client:
        yield client


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    with running(tmp_path_factory.mktemp("demo")) as found:
        yield found


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """Closed with its module: while Playwright runs, nothing asynchronous can beside it."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def visit(admin: Client, server: Server, chromium: Browser) -> Iterator[Open]:
    """Opens a page of the service in a browser of its own. At the end no page may have complained."""
    with visiting(chromium, server.base) as visit:
        yield visit


@pytest.fixture
def opened(demo: Demo, chromium: Browser) -> Iterator[Open]:
    """The same for a page of the demo."""
    with visiting(chromium, demo.base) as visit:
        yield visit


@contextmanager
def visiting(chromium: Browser, base: str) -> Iterator[Open]:
    contexts: list[BrowserContext] = []
    complaints: list[str] = []

    def opened(
        path: str, *, size: str = "phone", scripts: bool = True, language: str = "en", theme: str = "light"
    ) -> Page:
        width, height = SIZES[size]
        context = chromium.new_context(
            base_url=base,
            viewport={"width": width, "height": height},
            java_script_enabled=scripts,
            locale=LOCALES[language],
            color_scheme=theme,  # type: ignore[arg-type]
            has_touch=size == "phone",
            reduced_motion="reduce",
        )
        context.set_default_timeout(PATIENCE_MS)
        contexts.append(context)
        page = context.new_page()
        listen(page, base, complaints)
        page.goto(path)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert complaints == []


def listen(page: Page, base: str, complaints: list[str]) -> None:
    """Note what no page of ours may do: fail in its script, break its own policy, ask another host."""

    def said(message: Any) -> None:
        # That a page answers with 404 or 422 is no fault of the page.
        if message.type == "error" and "Failed to load resource" not in message.text:
            complaints.append(message.text)

    def asked(request: Any) -> None:
        if not request.url.startswith(base):
            complaints.append(f"asked {request.url}")

    page.on("console", said)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", asked)


@pytest.fixture
def shoot() -> Callable[[Page, str], None]:
    """Keep a screenshot of a whole page."""
    SHOTS.mkdir(exist_ok=True)

    def shot(page: Page, name: str) -> None:
        page.screenshot(path=SHOTS / f"{name}.png", full_page=True, animations="disabled")

    return shot
