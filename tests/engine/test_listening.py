"""Whoever listens for what other processes commit goes on listening, whatever goes wrong meanwhile."""

from __future__ import annotations

import asyncio
import sqlite3
from typing import Any

import asyncpg
import pytest

from fairhold import granted
from fairhold.store.base import News
from fairhold.store.postgres import listening
from tests.engine.proxy import proxied
from tests.engine.staging import nodes
from tests.patience import PATIENCE_S, until


async def test_a_look_at_the_file_that_fails_is_not_the_last(sqlite_url: str) -> None:
    async with nodes(sqlite_url) as (here, there):
        store: Any = here.store
        woken, refused = asyncio.Event(), asyncio.Event()
        await here.store.listen(woken.set)

        def refuse(*_: Any) -> int:
            refused.set()
            return sqlite3.SQLITE_DENY

        store._reader.set_authorizer(refuse)
        await asyncio.wait_for(refused.wait(), PATIENCE_S)
        await asyncio.sleep(0)
        store._reader.set_authorizer(None)
        woken.clear()
        made = 0

        async def heard() -> bool:
            """The first change may be taken for the state of things; what comes after is news."""
            nonlocal made
            made += 1
            granted(await there.create_pool(f"gig-{made}", preset="checkout", quotas={"main": 1}))
            return woken.is_set()

        await until(heard)


async def test_a_connection_that_cannot_listen_is_tried_again_after_a_pause(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A standby, say, lets one in and then refuses to LISTEN."""
    add_listener, tried = asyncpg.Connection.add_listener, 0
    errors = [asyncpg.FeatureNotSupportedError("on a standby")] * 3 + [RuntimeError("out of the blue")]

    async def fails(self: Any, *args: Any) -> None:
        nonlocal tried
        tried += 1
        if refusing or errors:
            raise errors.pop() if errors else asyncpg.FeatureNotSupportedError("on a standby")
        await add_listener(self, *args)

    refusing = True
    monkeypatch.setattr(asyncpg.Connection, "add_listener", fails)
    async with nodes(postgres_url) as (here, there):
        woken = asyncio.Event()
        await here.store.listen(woken.set)
        await asyncio.sleep(1)
        assert tried <= 10, "it may try again and again, but not without a pause"
        await until(lambda: tried >= 2)
        refusing = False
        await asyncio.wait_for(woken.wait(), PATIENCE_S)
        woken.clear()
        granted(await there.create_pool("gig", preset="checkout", quotas={"main": 1}))
        granted(await there.book("gig", "ann"))
        await asyncio.wait_for(woken.wait(), PATIENCE_S)


async def test_a_server_that_falls_silent_when_one_begins_to_listen_is_not_waited_for(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Frozen just then, it may not say a word for hours, while another leads."""
    monkeypatch.setattr(listening, "_PULSE_DEADLINE_S", 1.0)
    async with proxied(postgres_url) as (proxy, through):
        proxy.unheard_listeners = 1
        async with nodes(through, 1) as (hf,):
            woken = asyncio.Event()
            await hf.store.listen(woken.set)
            await asyncio.wait_for(woken.wait(), PATIENCE_S)
            assert proxy.unheard_listeners == 0


async def test_messages_are_no_news_for_who_waits_for_what_is_due(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every booking leaves a message: each would have the ticker of each node look for what is due."""
    # A pulse that comes late would make it listen anew, which is news of any kind.
    monkeypatch.setattr(listening, "_PULSE_S", 600.0)
    async with nodes(postgres_url) as (here, there):
        told: dict[News | None, asyncio.Event] = {it: asyncio.Event() for it in ("due", "messages", None)}
        for about, event in told.items():
            await here.store.listen(event.set, about)
        # As it begins to listen there may be news of any kind.
        await asyncio.wait_for(told["due"].wait(), PATIENCE_S)
        granted(await there.create_pool("gig", preset="event_signup", quotas={"main": 1}))
        granted(await there.book("gig", "ann"))
        for who in ("bea", "cyd"):
            # Once the news of who came first is here, no older news comes any more.
            for event in told.values():
                event.clear()
            granted(await there.book("gig", who))
            await asyncio.wait_for(told["messages"].wait(), PATIENCE_S)
        assert told[None].is_set()
        assert not told["due"].is_set()
