"""A Fairhold with a mail server, and an outbox that sends when it is told to."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from fairhold import Fairhold, granted
from fairhold.outbox import MessageSettings, Outbox
from fairhold.shapes import Booking
from tests.database import opened
from tests.notifiers.servers import MailServer, Receiver, mail_server, receiver


@dataclass(slots=True)
class Post:
    """Everything one needs to see messages go out."""

    hf: Fairhold
    outbox: Outbox
    mail: MailServer
    url: str

    async def book(self, pool: str, name: str, **more: Any) -> Booking:
        party = {"id": name.lower(), "name": name, "contacts": {"email": f"{name.lower()}@example.org"}}
        return granted(await self.hf.book(pool, party | more))

    async def states(self, pool: str) -> list[tuple[str, str]]:
        return [(it.kind, it.state) for it in granted(await self.hf.messages(pool))]

    async def pass_time(self, seconds: float, step_s: float = 30) -> None:
        """Let time go by with the outbox at work."""
        while seconds > 0:
            await self.hf.advance(seconds=min(step_s, seconds))
            await self.outbox.send_due()
            seconds -= step_s


def settings_for(mail: MailServer, **more: Any) -> MessageSettings:
    return MessageSettings(
        base_url="https://seats.example.org",
        smtp_url=mail.url,
        mail_from="Seats <seats@example.org>",
        **more,
    )


@pytest.fixture
def mail() -> Iterator[MailServer]:
    with mail_server() as server:
        yield server


@pytest.fixture
def hook() -> Iterator[Receiver]:
    with receiver() as server:
        yield server


@pytest.fixture
async def post(database_url: str, mail: MailServer) -> AsyncIterator[Post]:
    async with opened(database_url) as hf:
        outbox = Outbox(hf, settings_for(mail, webhooks_to_private=True), dice=lambda: 0.5)
        granted(
            await hf.create_pool("chair", preset="last_minute", quotas={"main": 1}, title="The 2 pm chair")
        )
        yield Post(hf, outbox, mail, database_url)
        await outbox.close()


@pytest.fixture
async def lesson(post: Post) -> None:
    """A pool that hands nothing back: whoever is first is asked again and again."""
    policy = {"offer_window": "10m", "cooldown": "0s", "attempts_max": None}
    granted(await post.hf.create_pool("lesson", preset="class_waitlist", policy=policy, quotas={"main": 1}))
