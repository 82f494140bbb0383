"""A service in this very process, whose clock stands still, and an admin signed in at a browser."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx2 as httpx

from fairhold import Fairhold
from fairhold.accounts.members import Member, Members
from fairhold.http.service import Service
from fairhold.http.settings import Settings
from tests.console.desk import PASSWORD, Once, email_of
from tests.patience import until

Browser = httpx.AsyncClient


@asynccontextmanager
async def signed_in(url: str) -> AsyncIterator[tuple[Fairhold, Browser]]:
    service = Service(Settings(database=url, test_clock=True))
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
            yield hf, browser
