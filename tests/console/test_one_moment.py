"""A page that changes while it is read: it shows one moment, or it will be told to look again."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator

import httpx2 as httpx
import pytest

from holdfast import Holdfast
from holdfast.accounts.members import Member, Members
from holdfast.http.service import Service
from holdfast.http.settings import Settings
from tests.console.desk import PASSWORD, Once, email_of
from tests.engine.meanwhile import Meanwhile, Read
from tests.patience import until

Browser = httpx.AsyncClient


@pytest.fixture
async def hf(sqlite_url: str) -> AsyncIterator[Holdfast]:
    """The library of a service whose clock stands still."""
    service = Service(Settings(database=sqlite_url, test_clock=True))
    async with service.running():
        hf = await until(lambda: service.hf)
        assert hf is not None
        members = Members(hf.store, hf.clock, hf.secret)
        assert isinstance(await members.add(hf.org, email_of("Olga"), "Olga", "admin"), Member)
        assert isinstance(await members.set_password(hf.org, email_of("Olga"), PASSWORD, Once()), Member)
        transport = httpx.ASGITransport(app=service)
        async with Browser(transport=transport, base_url="http://localhost:8000") as browser:
            fields = {"email": email_of("Olga"), "password": PASSWORD, "org": hf.org}
            headers = {"sec-fetch-site": "same-origin"}
            answer = await browser.post("/console/sign-in", data=fields, headers=headers)
            assert answer.status_code == 303, answer.text
            hf.browser = browser  # type: ignore[attr-defined]
            yield hf


def seen_of(page: str) -> str:
    """What the page's stream is compared with: as long as that is the same, nobody looks again."""
    (found,) = re.findall(r'data-seen="([0-9a-f]+)"', page)
    return str(found)


async def test_no_page_shows_the_old_and_takes_it_for_the_new(
    hf: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    meanwhile = Meanwhile(hf)
    await meanwhile.crowd(waiting=6)
    last = meanwhile.waiting[-1]

    def page(path: str) -> Read:
        async def read() -> str:
            answer = await hf.browser.get(path)  # type: ignore[attr-defined]
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
