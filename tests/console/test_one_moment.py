"""A page that changes while it is read: it shows one moment, or it will be told to look again."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator

import pytest

from fairhold import Fairhold
from tests.console.inside import Browser, signed_in
from tests.engine.meanwhile import Meanwhile, Read


@pytest.fixture
async def inside(sqlite_url: str) -> AsyncIterator[tuple[Fairhold, Browser]]:
    async with signed_in(sqlite_url) as found:
        yield found


def seen_of(page: str) -> str:
    """What the page's stream is compared with: as long as that is the same, nobody looks again."""
    (found,) = re.findall(r'data-seen="([0-9a-f]+)"', page)
    return str(found)


async def test_no_page_shows_the_old_and_takes_it_for_the_new(
    inside: tuple[Fairhold, Browser], monkeypatch: pytest.MonkeyPatch
) -> None:
    hf, browser = inside
    meanwhile = Meanwhile(hf)
    await meanwhile.crowd(waiting=6)
    last = meanwhile.waiting[-1]

    def page(path: str) -> Read:
        async def read() -> str:
            answer = await browser.get(path)
            assert answer.status_code == 200, answer.text
            return str(answer.text)

        return read

    pages = {
        "a pool": page(f"/console/pools/{last.pool}"),
        "all pools": page("/console/pools"),
    }
    for read in pages.values():
        assert await read() == await read(), "where nothing happens, nothing changes"
    await meanwhile.watch(monkeypatch)
    stale = {
        name: after_query
        for name, read in pages.items()
        for after_query, (_, seen, after) in enumerate(await meanwhile.between(read), 1)
        if seen_of(seen) == seen_of(after) and seen != after
    }
    assert stale == {}
