"""A year of weekly classes: of very many pools one sees those first in which something happens."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import AsyncIterator

import pytest

from fairhold import Fairhold, granted
from tests.console.inside import Browser, signed_in
from tests.engine.counting import counted
from tests.pages.visitor import plain

MANY = 205
CHOOSERS = ("/console/numbers?pool=shop", "/console/happened?pool=shop")


@pytest.fixture
async def inside(sqlite_url: str) -> AsyncIterator[tuple[Fairhold, Browser]]:
    async with signed_in(sqlite_url) as found:
        yield found


async def make(hf: Fairhold, first: int, behind: int) -> None:
    """Classes, one after another; every tenth has units."""
    for n in range(first, behind):
        await hf.advance(seconds=1)
        room = {"units": ["1 pm", "2 pm"]} if n % 10 == 0 else {"size": 3}
        quotas = [{"key": "main", **room}]
        granted(await hf.create_pool(f"class-{n}", title=f"Class {n:03}", preset="checkout", quotas=quotas))


async def look(browser: Browser, path: str) -> str:
    answer = await browser.get(path)
    assert answer.status_code == 200, answer.text
    return str(answer.text)


def options(page: str) -> list[str]:
    """What one may choose from: the keys in their order, the chosen one with a star."""
    (chooser,) = re.findall(r'<select id="pool".*?</select>', page, re.DOTALL)
    return [key + "*" * bool(on) for key, on in re.findall(r'value="([^"]+)"( selected)?', chooser)]


async def test_of_very_many_pools_those_with_news_come_first_and_none_is_lost(
    inside: tuple[Fairhold, Browser],
) -> None:
    hf, browser = inside
    await make(hf, 0, MANY)
    await hf.advance(seconds=1)
    granted(await hf.change_pool("class-2", status="closed"))
    await hf.advance(seconds=1)
    granted(await hf.book("class-1", {"id": "ann", "name": "Ann"}))
    # The list: page by page every pool once, and of each page those first that run.
    path, pages = "/console/pools", list[list[str]]()
    while path:
        page = await look(browser, path)
        pages.append(re.findall(r'<h2><a href="[^"]+">(Class \d+)</a>', page))
        if len(pages) == 1:
            assert page.index("Class 001") < page.index('id="over"') < page.index("Class 002")
        links = re.findall(r'href="([^"]+)">More pools<', page)
        path = links[0] if links else ""
    assert [len(it) for it in pages] == [100, 100, 5]
    assert sorted(title for it in pages for title in it) == [f"Class {n:03}" for n in range(MANY)]
    assert {"Class 001", "Class 002", f"Class {MANY - 1}"} <= set(pages[0])
    assert set(pages[2]) == {"Class 000", *(f"Class {n:03}" for n in range(3, 7))}
    assert "None of these pools runs" in plain(await look(browser, "/console/pools?skip=900"))
    # The story: what was just done, and nothing older than what is left out.
    told = plain(await look(browser, "/console/happened")).partition("The newest first")[2]
    entries = re.findall(r"Ann gets 1 place|Class \d+", told)
    assert "Ann gets 1 place" in entries[:3]
    news = [f"Class {n:03}" for n in (1, 2, *range(MANY - 1, MANY - 30, -1))]
    assert set(news) <= set(entries)
    # The choosers: those of late by title, and the one that is looked at.
    late = sorted(f"class-{n}" for n in (1, 2, *range(7, MANY)))
    for path in ("/console/numbers", "/console/happened"):
        found = options(await look(browser, f"{path}?pool=class-0"))
        assert found == sorted(found, key=lambda key: int(key.strip("*").partition("-")[2]))
        assert found[0] == "class-0*"
        assert sorted(found[1:]) == late
    assert "class-1*" in options(await look(browser, "/console/numbers"))


async def test_a_page_asks_no_more_however_many_pools_there_are(inside: tuple[Fairhold, Browser]) -> None:
    hf, browser = inside
    costs: dict[int, dict[str, Counter[str]]] = {}
    await make(hf, 0, 1)
    granted(await hf.create_pool("shop", preset="checkout", quotas={"main": 3}))
    for pools in (2, 40):
        await make(hf, pools, pools + 20)
        costs[pools] = {}
        for path in (*CHOOSERS, "/console/pools", "/console/pools/new", "/console/find?q=nobody"):
            # Who asks, and which pool that is, may be remembered from the first look.
            await look(browser, path)
            with counted(hf) as asked:
                await look(browser, path)
            costs[pools][path] = Counter(name for name in asked if "session" not in name)
    assert costs[2] == costs[40]
    for path in CHOOSERS:
        assert costs[2][path]["latest_pools"] == 1
        assert not [name for name in costs[2][path] if "units" in name]
    # What can be no reference is not looked for as one, in every pool.
    assert not costs[2]["/console/find?q=nobody"]["pools_of_org"]
