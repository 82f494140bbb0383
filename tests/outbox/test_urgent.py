"""What cannot wait goes out before what can, however much of that there is, and nothing waits for ever."""

from __future__ import annotations

import asyncio
import re

import pytest

from fairhold.outbox import loop as loops
from fairhold.outbox.targets import URGENT
from fairhold.store import queries
from fairhold.store.base import Row
from tests.database import START, ask, dialect_of
from tests.outbox.conftest import Post
from tests.outbox.test_sending import offered

MANY = 5_000


async def with_due(post: Post, kind: str, number: int, due_at: int = START) -> None:
    """So many messages of the pool that are due, about nobody."""
    (highest,) = (await ask(post.url, "SELECT coalesce(max(seq), 0) FROM fairhold_outbox"))[0]
    columns = (
        "pool_id, seq, part, kind, recipient, booking, facts, created_at, state, due_at, attempts, error"
    )
    values = f"id, {highest + 1_000} + n, 0, '{kind}', 'party', NULL, '{{}}', 0, 'pending', {due_at}, 0, ''"
    numbers = f"WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < {number})"
    await ask(
        post.url, f"INSERT INTO fairhold_outbox ({columns}) {numbers} SELECT {values} FROM c, fairhold_pools"
    )


def kinds(rows: list[Row]) -> list[str]:
    return sorted(row[3] for row in rows)


async def test_an_offer_does_not_wait_for_thousands_of_letters_that_can(post: Post) -> None:
    """It is out with the next that are taken; what was to be told before it to the same, before it."""
    await with_due(post, "joined", MANY, START - 1)
    await offered(post)
    assert 0 < await post.outbox._take_in_hand() <= loops.HANDS_MAX
    await asyncio.wait(post.outbox._in_hand)
    assert [it["X-Fairhold-Kind"] for it in post.mail.to("ann@example.org")] == ["joined", "offer"]
    assert post.mail.to("bea@example.org") == [], "hers can wait"


async def test_what_can_wait_is_taken_however_much_is_urgent(
    post: Post, monkeypatch: pytest.MonkeyPatch
) -> None:
    await with_due(post, "offer", 100)
    await with_due(post, "joined", 100, START - 1)
    assert kinds(await post.outbox._take(loops.HANDS_MAX)) == ["joined"] * 6 + ["offer"] * 18
    # Where they are taken one by one, it is their turn now and then.
    for roll, kind in ((0.0, "offer"), (0.74, "offer"), (0.75, "joined"), (0.99, "joined")):
        monkeypatch.setattr(post.outbox, "_dice", lambda roll=roll: roll)
        assert kinds(await post.outbox._take(loops.HANDS_MAX, 1)) == [kind]
    # Without a share of their own they would wait.
    monkeypatch.setattr(loops, "_FOR_ANY", 0.0)
    assert kinds(await post.outbox._take(loops.HANDS_MAX)) == ["offer"] * 24


async def test_where_nothing_is_urgent_as_many_are_taken(post: Post) -> None:
    await with_due(post, "joined", 100)
    await with_due(post, "offer", 1, START + 1)
    assert kinds(await post.outbox._take(loops.HANDS_MAX)) == ["joined"] * 24


async def test_what_is_urgent_is_found_without_a_look_at_the_rest(post: Post) -> None:
    await with_due(post, "joined", MANY)
    dialect = dialect_of(post.url)
    known = queries.load_queries(dialect)
    for name, index in (("take_urgent", "fairhold_outbox_urgent"), ("take_earlier", "fairhold_outbox_about")):
        if dialect == "sqlite":
            plan = await ask(post.url, "EXPLAIN QUERY PLAN " + re.sub(r"\?\d", "1", known[name]))
        else:
            await ask(post.url, "ANALYZE fairhold_outbox")
            plan = await ask(post.url, "EXPLAIN " + re.sub(r"\$\d", "'{1}'", known[name]))
        assert index in str(plan), plan
        assert not re.search(r"SCAN fairhold_outbox|SCAN w|Seq Scan on fairhold_outbox w", str(plan)), plan


@pytest.mark.parametrize("dialect", ["sqlite", "postgres"])
def test_the_database_finds_the_same_kinds_as_the_program_calls_urgent(dialect: str) -> None:
    schema = queries.migration_texts(dialect)["0001_first.sql"]
    index = schema.split("CREATE INDEX fairhold_outbox_urgent")[1].split(";")[0]
    for text in (index, queries.load_queries(dialect)["take_urgent"]):
        # SQLite says it with OR: see decision 45.
        listed = re.search(r"kind IN \(([^)]*)\)", text) if dialect == "postgres" else None
        named = re.findall(r"'(\w+)'", listed[1]) if listed else re.findall(r"kind = '(\w+)'", text)
        assert tuple(named) == URGENT


async def test_the_outbox_sleeps_until_the_first_of_all_messages_falls_due(post: Post) -> None:
    for due_at in (START + 5_000, START + 1_000, START + 9_000):
        await with_due(post, "joined", 1, due_at)
    assert [tuple(row) for row in await post.hf.store.reader().rows("next_message")] == [(START + 1_000,)]


async def test_the_database_has_come_as_far_as_the_pool_that_changed_last(post: Post) -> None:
    """By it a machine's clock that was set back is noticed."""
    await post.hf.create_pool("older", preset="checkout", quotas={"main": 1})
    await ask(post.url, f"UPDATE fairhold_pools SET updated_at = {START - 1_000} WHERE key = 'older'")
    (latest,) = (await ask(post.url, "SELECT max(updated_at) FROM fairhold_pools"))[0]
    assert latest > START - 1_000
    assert [tuple(row) for row in await post.hf.store.reader().rows("latest_change")] == [(latest,)]
