"""A database of every earlier version is brought up to date: nothing is lost, and people go on with it."""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fairhold import Fairhold, Refusal, TestClock, granted
from fairhold.accounts.passwords import Passwords
from fairhold.accounts.sessions import Sessions, Started
from fairhold.config import make_store
from fairhold.hoarding import Source
from fairhold.keys import Keys
from fairhold.outbox import MessageSettings, Outbox
from fairhold.store.queries import load_migrations
from tests.cli.conftest import Cli
from tests.database import START, ask, dialect_of, opened
from tests.store.upgrades import ways_in
from tests.store.upgrades.fill import PASSWORD
from tests.store.upgrades.loading import Tables, every_row, load, lost, versions
from tests.store.upgrades.make import HERE
from tests.verified import assert_verified

KNOWN = [number for number, _, _ in load_migrations("sqlite")]
SIZE_MAX = 80_000
# With it a program has the keys that it had before this came.
KEYS_SINCE, MEMBERS_SINCE, SOURCES_SINCE = 3, 4, 5
# The tables are older; databases with something in them are not.
WAYS_IN_SINCE = 14

DIE_IN_THE_MIDDLE = """
import asyncio, os, signal, sys
from fairhold.config import make_store
from fairhold.store.postgres import store as postgres
from fairhold.store.sqlite import store as sqlite

class Fatal(dict):
    left = 3

    def __getitem__(self, name):
        Fatal.left -= name == "insert_schema"
        if not Fatal.left:
            os.kill(os.getpid(), signal.SIGKILL)
        return dict.__getitem__(self, name)

sqlite.QUERIES = postgres.QUERIES = Fatal(sqlite.QUERIES if sys.argv[2] == "sqlite" else postgres.QUERIES)

async def main():
    store = make_store(sys.argv[1])
    await store.open()
    await store.migrate(0)

asyncio.run(main())
"""


class Post:
    """Takes every message, and knows which."""

    def __init__(self) -> None:
        self.ids: list[str] = []

    async def send(self, message: Any) -> None:
        self.ids.append(message.id)


@pytest.mark.parametrize("dialect", ["sqlite", "postgres"])
def test_every_version_has_its_database(dialect: str) -> None:
    """Who adds a migration runs `python -m tests.store.upgrades.make`, for the sake of those who follow."""
    assert versions(dialect) == KNOWN
    assert max(path.stat().st_size for path in (HERE / dialect).glob("*.dump")) < SIZE_MAX


@pytest.mark.parametrize("version", KNOWN)
async def test_nothing_is_lost_and_people_go_on(empty_database_url: str, version: int) -> None:
    url = empty_database_url
    told = await load(url, version)
    before = await every_row(url)
    assert max(row["version"] for row in before["fairhold_schema"]) == version
    assert {row["state"] for row in before["bookings"]} >= {
        "waiting",
        "offered",
        "held",
        "confirmed",
        "cancelled",
    }
    applied = await asyncio.to_thread(Cli(url).json, "migrate")
    assert applied == {"applied": [name for number, name, _ in load_migrations("sqlite") if number > version]}
    after = await every_row(url)
    assert lost(but_for_answers(before), after) == []
    assert not [it for it in after["requests"] if "@" in it["answer"]]
    async with opened(url, clock=TestClock(told["now"])) as hf:
        await _old_keys_are_answered_as_before(hf, told)
        await _old_links_work(hf, told)
        await _what_was_still_to_be_told_is_told(hf)
        await _who_was_known_is_known(hf, told, version)
        assert granted(await hf.book("yoga", "Zoe")).position == len(await hf.line("yoga"))
        await hf.advance(seconds=2 * 86_400)
    await assert_verified(url)


async def _old_keys_are_answered_as_before(hf: Fairhold, told: dict[str, Any]) -> None:
    for key, before in told["answers"].items():
        who, _, pool = key.split()
        party = {"id": who, "name": who, "contacts": {"email": f"{who.lower()}@example.org"}}
        more: dict[str, Any] = {"Fay": {"units": ["1C"]}, "Gus": {"quota": "seat", "quantity": 9}}.get(
            who, {}
        )
        answer = await hf.book(pool, party, idempotency_key=key, **more)
        now = msgspec.json.decode(msgspec.json.encode(answer))
        # A booking has more fields than it once had.
        assert {name: now[name] for name in before} == before


async def _old_links_work(hf: Fairhold, told: dict[str, Any]) -> None:
    assert granted(await hf.claim(told["offer_token"])).id == told["offered_to"]
    assert granted(await hf.claim(told["offer_token"])).state == "confirmed"
    confirmed = granted(await hf.confirm(told["edit_token"]))
    assert (confirmed.id, confirmed.state) == (told["held"], "confirmed")


async def _what_was_still_to_be_told_is_told(hf: Fairhold) -> None:
    post = Post()
    outbox = Outbox(hf, MessageSettings(), {"email": post, "webhook": post, "log": post})
    sent = await outbox.send_due()
    assert sent == len(set(post.ids)) > 0


async def _who_was_known_is_known(hf: Fairhold, told: dict[str, Any], version: int) -> None:
    if version >= KEYS_SINCE:
        access = await Keys(hf.store, hf.clock, hf.secret).find(told["key"])
        assert access is not None
        assert access.role == "staff"
    sessions = Sessions(hf.store, hf.clock, hf.secret, Passwords())
    if version >= MEMBERS_SINCE:
        assert isinstance(await sessions.sign_in("default", "olga@example.org", PASSWORD), Started)
    if version >= WAYS_IN_SINCE:
        await ways_in.check(hf, sessions, told)
    if version >= SOURCES_SINCE:
        granted(await hf.cancel((await hf.bookings("flight", state="confirmed"))[0].id))
        again = await hf.book("flight", "Ida", source=Source(told["source"], 1, 1))
        assert isinstance(again, Refusal)
        assert again.code == "too_many_requests"


@pytest.mark.parametrize("dialect", ["sqlite", "postgres"])
async def test_the_newest_database_has_something_in_every_table(
    dialect: str, request: pytest.FixtureRequest
) -> None:
    """What is empty shows nothing when it is brought up to date."""
    url = request.getfixturevalue(f"{dialect}_url")
    await load(url, KNOWN[-1])
    assert [table for table, rows in (await every_row(url)).items() if not rows] == []


async def test_every_quota_is_in_the_round_that_its_pool_was_in(empty_database_url: str) -> None:
    """Until version 15 a round was one of all quotas."""
    url = empty_database_url
    await load(url, 14)
    await ask(url, "UPDATE pools SET round = 3 WHERE key = 'yoga'")
    await asyncio.to_thread(Cli(url).json, "migrate")
    rounds = "SELECT p.key, q.round FROM quotas AS q JOIN pools AS p ON p.id = q.pool_id"
    assert {key: number for key, number in await ask(url, rounds) if number != 1} == {"yoga": 3}


async def test_a_row_that_a_migration_forgets_would_be_noticed(sqlite_url: str) -> None:
    await load(sqlite_url, 1)
    before, after = await every_row(sqlite_url), await every_row(sqlite_url)
    assert lost(before, after) == []
    after["offers"].pop()
    after["bookings"][0]["quantity"] += 1
    assert [line.split(":")[0] for line in lost(before, after)] == ["bookings", "offers"]


async def test_who_is_killed_while_migrating_leaves_what_was_there(empty_database_url: str) -> None:
    url, dialect = empty_database_url, dialect_of(empty_database_url)
    await load(url, 1)
    before = await every_row(url)
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", DIE_IN_THE_MIDDLE, url, dialect)
    assert await process.wait() == -signal.SIGKILL
    assert await every_row(url) == before
    # Whoever comes next finds nothing in the way, and both of two who come at once are done.
    stores = [make_store(url), make_store(url)]
    for store in stores:
        await store.open()
    applied = await asyncio.gather(*(store.migrate(START) for store in stores))
    for store in stores:
        await store.close()
    assert sorted(name for names in applied for name in names) == [
        name for number, name, _ in load_migrations(dialect) if number > 1
    ]
    assert lost(but_for_answers(before), await every_row(url)) == []
    await assert_verified(url)


def but_for_answers(tables: Tables) -> Tables:
    """Kept answers name nobody any more. Whether they say the same all the same is seen by asking again."""
    requests = [{name: row[name] for name in row if name != "answer"} for row in tables["requests"]]
    return tables | {"requests": requests}


def test_a_database_of_a_later_version_is_refused_in_a_sentence(sqlite_url: str, tmp_path: Path) -> None:
    cli = Cli(sqlite_url)
    cli("migrate")
    asyncio.run(ask(sqlite_url, "INSERT INTO fairhold_schema (version, applied_at) VALUES (99, 0)"))
    for command in ("migrate", "verify"):
        assert f"the database has schema 99; this Fairhold knows up to {KNOWN[-1]}" in cli(command, code=3)
