"""The demo, for tests of pages that need a past: its browser, and its pages. Import the fixtures by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from testbed.browser import chromium as find_chromium
from tests.browser.conftest import PATIENCE_MS, SIZES, listen
from tests.demo.demo import Demo, running


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    with running(tmp_path_factory.mktemp("demo")) as found:
        yield found


@pytest.fixture(scope="module")
def browser(demo: Demo) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=find_chromium())
        yield found
        found.close()


@pytest.fixture
def opened(browser: Browser, demo: Demo) -> Iterator[Callable[..., Page]]:
    complaints: list[str] = []
    contexts: list[BrowserContext] = []

    def at(path: str, *, scripts: bool = True, size: str = "desktop") -> Page:
        width, height = SIZES[size]
        context = browser.new_context(
            base_url=demo.base, viewport={"width": width, "height": height}, java_script_enabled=scripts
        )
        context.set_default_timeout(PATIENCE_MS)
        contexts.append(context)
        page = context.new_page()
        listen(page, demo.base, complaints)
        page.goto(path)
        return page

    yield at
    for context in contexts:
        context.close()
    assert complaints == []
