"""Dead letters of programs and staff are sent again, or put away, all at once: those that one has seen."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from fairhold import Fairhold, granted
from tests.console.desk import Forms
from tests.console.inside import Browser, signed_in
from tests.database import ask
from tests.pages.visitor import plain

ALL = "/console/needs/letters"


@pytest.fixture
async def stage(database_url: str) -> AsyncIterator[tuple[Fairhold, Browser, str]]:
    """Two letters to staff that were given up, and one to Ann, who still waits to hear."""
    async with signed_in(database_url) as (hf, browser):
        for key in ("salon", "physio"):
            granted(await hf.create_pool(key, preset="last_minute", quotas={"main": 1}))
            olga = granted(await hf.book(key, "olga"))
            ann = granted(await hf.book(key, "ann"))
            granted(await hf.cancel(olga.id))
            granted(await hf.decline(ann.id))
        await give_up(database_url)
        yield hf, browser, database_url


async def give_up(url: str) -> None:
    await ask(
        url, "UPDATE fairhold_outbox SET state = 'dead', error = 'nobody there' WHERE kind = 'handed_back'"
    )


async def press(browser: Browser, page: str, act: str) -> str:
    (fields,) = [fields for _, action, fields in Forms(page).forms if action == ALL]
    headers = {"sec-fetch-site": "same-origin"}
    answer = await browser.post(ALL, data={**fields, "act": act}, headers=headers)
    assert answer.status_code == 303, answer.text
    return answer.headers["location"]


async def states(hf: Fairhold) -> list[tuple[str, bool]]:
    found = [it for key in ("salon", "physio") for it in granted(await hf.messages(key))]
    letters = [granted(await hf.message(it.id)) for it in found if it.kind == "handed_back"]
    return [(it.state, it.dismissed is not None) for it in letters]


async def test_all_are_put_away_at_once(stage: tuple[Fairhold, Browser, str]) -> None:
    hf, browser, _ = stage
    page = (await browser.get("/console/needs")).text
    assert "Dismiss all" in plain(page)
    assert await press(browser, page, "dismiss") == "/console/needs?told=dismissed_all"
    assert await states(hf) == [("dead", True), ("dead", True)]
    after = (await browser.get("/console/needs?told=dismissed_all")).text
    assert "All of them are put away" in plain(after)
    assert ALL not in after


async def test_all_are_sent_again_at_once(stage: tuple[Fairhold, Browser, str]) -> None:
    hf, browser, _ = stage
    page = (await browser.get("/console/needs")).text
    assert await press(browser, page, "again") == "/console/needs?told=replayed_all"
    assert await states(hf) == [("pending", False), ("pending", False)]
    # Who presses it on a page that is old does no harm.
    assert await press(browser, page, "again") == "/console/needs?told=replayed_all"


async def test_what_died_meanwhile_and_was_not_seen_stays(stage: tuple[Fairhold, Browser, str]) -> None:
    hf, browser, url = stage
    page = (await browser.get("/console/needs")).text
    granted(await hf.resolve("salon", 1, "again"))
    (offered,) = granted(await hf.bookings("salon", state="offered"))
    granted(await hf.decline(offered.id))
    await give_up(url)
    await press(browser, page, "dismiss")
    assert sorted(await states(hf)) == [("dead", False), ("dead", True), ("dead", True)]


async def test_it_says_nothing_of_all_where_there_is_one(stage: tuple[Fairhold, Browser, str]) -> None:
    hf, browser, _ = stage
    (letter, _) = granted(await hf.dead_letters())
    granted(await hf.dismiss(letter.id))
    assert "Dismiss all" not in (await browser.get("/console/needs")).text
