"""On PostgreSQL the tables may stand in a schema of their own, also two Fairholds in one database."""

from __future__ import annotations

import asyncio

import pytest

from fairhold import Fairhold, granted
from fairhold.config import SCHEMA_VARIABLE, database_schema
from fairhold.errors import SettingsWrong
from tests.cli.conftest import Cli
from tests.database import ask, opened
from tests.engine.lively import Lively, make_pools
from tests.patience import until
from tests.verified import assert_verified

SCHEMAS = "SELECT DISTINCT schemaname::text FROM pg_tables WHERE tablename LIKE 'fairhold_%' ORDER BY 1"


async def test_a_schema_is_made_and_all_of_ours_stands_in_it(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await ask(postgres_url, "CREATE TABLE customers (name TEXT)")
    async with opened(postgres_url, schema="seats") as hf:
        await Lively(hf, await make_pools(hf), 7).run(150)
    assert await ask(postgres_url, SCHEMAS) == [("seats",)]
    await assert_verified(postgres_url, "seats")
    monkeypatch.setenv(SCHEMA_VARIABLE, "seats")
    assert await asyncio.to_thread(Cli(postgres_url), "migrate") == "The database is up to date."


async def test_two_schemas_of_one_database_know_nothing_of_each_other(postgres_url: str) -> None:
    async with opened(postgres_url, schema="north") as north, opened(postgres_url, schema="south") as south:
        for hf in (north, south):
            granted(await hf.create_pool("chair", preset="checkout", quotas={"main": 1}))
            granted(await hf.confirm(granted(await hf.book("chair", "ann")).id))
        assert granted(await north.booking((await north.bookings("chair"))[0].id)).state == "confirmed"
        assert (await south.bookings("chair"))[0].id != (await north.bookings("chair"))[0].id
    assert await ask(postgres_url, SCHEMAS) == [("north",), ("south",)]


async def test_news_is_heard_within_a_schema_and_not_in_its_neighbour(postgres_url: str) -> None:
    """Channels are shared by a whole database."""
    heard: list[str] = []
    async with (
        Fairhold.open(postgres_url, schema="north", ticker=False) as writer,
        Fairhold.open(postgres_url, schema="north", ticker=False) as reader,
        Fairhold.open(postgres_url, schema="south", ticker=False) as neighbour,
    ):
        for name, hf in (("reader", reader), ("neighbour", neighbour)):
            await hf.store.listen(lambda name=name: heard.append(name))
        # Each is woken once when it begins to listen.
        await until(lambda: asyncio.sleep(0, {"reader", "neighbour"} <= set(heard)))
        heard.clear()
        granted(await writer.create_pool("chair", preset="checkout", quotas={"main": 1}))
        granted(await writer.book("chair", "ann"))
        await until(lambda: asyncio.sleep(0, "reader" in heard))
    assert "neighbour" not in heard


@pytest.mark.parametrize("name", ["Seats", "1st", "a-b", 'a"b', "", "pg_mine", "x" * 51, 5])
def test_a_name_that_would_have_to_be_quoted_is_refused(name: object) -> None:
    with pytest.raises(SettingsWrong, match="name of a schema"):
        database_schema(name)


async def test_sqlite_has_no_schemas(sqlite_url: str) -> None:
    with pytest.raises(SettingsWrong, match="SQLite has no schemas"):
        async with opened(sqlite_url, schema="seats"):
            pass
