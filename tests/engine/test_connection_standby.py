"""A commit that did not wait for its standby is not a yes, though the server calls it success."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from fairhold import Fairhold, granted
from fairhold.engine import outcome
from fairhold.errors import OutcomeUnknown
from fairhold.store.postgres import connections
from testbed.postgres import TemporaryPostgres, fresh_database
from tests.database import SECRET, ask
from tests.engine.looking import bookings, look, wrong
from tests.patience import until

WAITING = "SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND application_name = 'fairhold'"


@pytest.fixture
async def durable_url(durable_postgres: TemporaryPostgres) -> AsyncIterator[str]:
    with fresh_database(durable_postgres.url) as url:
        yield url
        await need_standby(url, "")


async def need_standby(url: str, name: str) -> None:
    """From now on a commit waits for this standby; for none, if it has no name."""
    await ask(url, f"ALTER SYSTEM SET synchronous_standby_names = '{name}'")
    await ask(url, "SELECT pg_reload_conf()")

    async def taken_up() -> bool:
        return (await ask(url, "SHOW synchronous_standby_names"))[0][0] == name

    await until(taken_up)


async def cancel_the_wait(url: str) -> None:
    """What an operator might do to a commit that takes too long: the server then says that it is done."""
    found = await until(lambda: ask(url, WAITING))
    await ask(url, f"SELECT pg_cancel_backend({found[0][0]})")


@pytest.fixture
async def hf(durable_url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Fairhold]:
    async with Fairhold.open(durable_url, secret=SECRET, ticker=False) as hf:
        granted(await hf.create_pool("hall", quotas={"main": 9}, preset="checkout"))
        granted(await hf.pool("hall"))
        await need_standby(durable_url, "nobody_here")
        writer: Any = hf.store._lane.connection  # type: ignore[attr-defined]

        async def taken_up() -> bool:
            """The server takes up a new setting between two commands of a connection."""
            return bool(await writer.fetchval("SHOW synchronous_standby_names") == "nobody_here")

        await until(taken_up)
        # However long it takes: who is to be cancelled waits until then.
        monkeypatch.setattr(connections, "ANSWER_S", 3_600)
        monkeypatch.setattr(outcome, "_GIVE_UP_S", 3_600)
        yield hf
        await need_standby(durable_url, "")


@pytest.mark.guarantee(
    "cancelled-commit.unknown",
    "While the standby stays away the outcome is called unknown, and settles with the key later.",
)
async def test_a_commit_whose_wait_was_cancelled_is_unknown_while_the_standby_is_away(
    durable_url: str, hf: Fairhold, monkeypatch: pytest.MonkeyPatch
) -> None:
    booking = asyncio.create_task(hf.book("hall", "Ann", idempotency_key="k"))
    await until(lambda: ask(durable_url, WAITING))
    monkeypatch.setattr(connections, "ANSWER_S", 1.0)
    monkeypatch.setattr(outcome, "_GIVE_UP_S", 3.0)
    await cancel_the_wait(durable_url)
    with pytest.raises(OutcomeUnknown):
        await booking

    await need_standby(durable_url, "")
    granted(await hf.book("hall", "Ann", idempotency_key="k"))
    picture = await look(durable_url)
    assert wrong(picture) == []
    assert [b.party for b in bookings(picture)] == ["Ann"]


async def test_it_is_a_yes_once_the_standby_has_come_back(durable_url: str, hf: Fairhold) -> None:
    booking = asyncio.create_task(hf.book("hall", "Ann"))
    await cancel_the_wait(durable_url)
    await asyncio.sleep(0.2)
    assert not booking.done()
    await need_standby(durable_url, "")
    granted(await booking)
    assert [b.party for b in bookings(await look(durable_url))] == ["Ann"]


@pytest.mark.guarantee(
    "cancelled-commit",
    "Believing the server answers yes for what no standby has.",
    control=True,
)
async def test_control_believing_the_server_says_yes_without_a_standby(
    durable_url: str, hf: Fairhold, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("asyncpg.Connection.add_log_listener", lambda *_: None)
    monkeypatch.setattr("asyncpg.Connection.remove_log_listener", lambda *_: None)
    booking = asyncio.create_task(hf.book("hall", "Ann"))
    await cancel_the_wait(durable_url)
    granted(await booking)
