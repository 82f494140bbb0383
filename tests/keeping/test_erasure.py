"""A person is forgotten: nothing of them is left anywhere, counts stay, and the log's chain is whole."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from fairhold import Booking, Fairhold, Refusal, granted
from fairhold.errors import OutcomeUnknown
from fairhold.keeping import erasure
from fairhold.store.base import Transaction
from tests.database import SECRET, ask, dialect_of, dump, opened, sqlite_file
from tests.engine.counting import counted
from tests.engine.proxy import proxied
from tests.engine.staging import without_lock
from tests.verified import assert_verified, verified

ANN = {
    "id": "ann-4711",
    "name": "Ann Zelda",
    "contacts": {"email": "zelda@example.org", "phone": "+4930123"},
    "tags": ["honours-ann"],
    "attributes": {"passport": "C01X"},
    "locale": "fi",
}
TRACES = ("ann-4711", "Zelda", "zelda@", "4930123", "honours-ann", "C01X", "her knee")


@pytest.fixture
async def hf(database_url: str) -> AsyncIterator[Fairhold]:
    async with opened(database_url) as hf:
        yield hf
    await assert_verified(database_url)


async def lived(hf: Fairhold) -> list[Booking]:
    """Ann has booked, waited, been moved, offered and cancelled; others have, too."""
    granted(await hf.create_pool("yoga", preset="class_waitlist", quotas={"main": 1}))
    granted(await hf.create_pool("gig", preset="checkout", quotas={"main": 5}))
    olga = granted(await hf.book("yoga", "olga", confirmed=True, by="staff"))
    ann = granted(await hf.book("yoga", ANN, idempotency_key="ann waits"))
    granted(await hf.book("yoga", "bea"))
    granted(await hf.move(ann.id, "back", why="because of her knee"))
    granted(await hf.cancel(olga.id))
    granted(await hf.cancel(ann.id, why="her knee", idempotency_key="ann cancels"))
    again = granted(await hf.book("gig", ANN, 2, idempotency_key="ann holds"))
    granted(await hf.confirm(again.id))
    return [ann, again]


def traces(rows: Any) -> list[str]:
    return [trace for trace in TRACES if trace in str(rows)]


def on_disk(url: str) -> list[bytes]:
    """What is in the files of the database, also where nothing refers to it any more."""
    if dialect_of(url) != "sqlite":
        return []
    path = Path(sqlite_file(url))
    return [file.read_bytes() for file in path.parent.glob(path.name + "*")]


async def test_nothing_of_a_person_is_left(hf: Fairhold, database_url: str) -> None:
    ann, again = await lived(hf)
    before = await dump(database_url)
    assert traces(before) == list(TRACES)
    assert traces(on_disk(database_url)) == (list(TRACES) if dialect_of(database_url) == "sqlite" else [])
    figures = [granted(await hf.stats(pool)) for pool in ("yoga", "gig")]

    forgotten = granted(await hf.erase_person("ann-4711", by="staff:olga"))

    assert (forgotten.pools, forgotten.bookings) == (2, 2)
    after = await dump(database_url)
    assert traces(after) == []
    assert traces(on_disk(database_url)) == []
    assert [granted(await hf.stats(pool)) for pool in ("yoga", "gig")] == figures
    assert {table: len(rows) for table, rows in after.items() if table != "fairhold_log"} == {
        table: len(rows) for table, rows in before.items() if table != "fairhold_log"
    }
    for booking, state in ((ann, "cancelled"), (again, "confirmed")):
        shown = granted(await hf.booking(booking.id))
        assert (shown.reference, shown.state, shown.quantity) == (booking.reference, state, booking.quantity)
        assert shown.party.id.startswith("erased-")
        assert (shown.party.name, shown.party.contacts, shown.party.tags, shown.party.attributes) == (
            "",
            {},
            (),
            {},
        )
        assert granted(await hf.explain(booking.id))
    assert isinstance(await hf.erase_person("ann-4711"), Refusal)


async def test_the_chain_is_whole_and_verify_counts_what_is_redacted(hf: Fairhold, database_url: str) -> None:
    await lived(hf)
    logs = [granted(await hf.log(pool)) for pool in ("yoga", "gig")]
    forgotten = granted(await hf.erase_person("ann-4711", by="staff:olga"))
    report = await assert_verified(database_url)
    assert report.redacted == forgotten.entries == 4
    assert str(report).endswith("4 of them redacted")
    for pool, was in zip(("yoga", "gig"), logs, strict=True):
        log = granted(await hf.log(pool))
        assert [entry.hash for entry in log[:-1]] == [entry.hash for entry in was]
        assert (log[-1].event, log[-1].by) == ("Erased", "staff:olga")
        redacted = [entry.seq for entry in log if entry.redacted]
        assert redacted == [seq for seq, _ in log[-1].facts["entries"]]
    granted(await hf.book("yoga", "cyd"))
    assert (await assert_verified(database_url)).redacted == 4


async def test_a_redaction_that_nobody_vouches_for_is_a_forgery(hf: Fairhold, database_url: str) -> None:
    """Control: the entry that vouches names the very digest, so that nothing else can stand there."""
    await lived(hf)
    granted(await hf.erase_person("ann-4711"))
    changes = [
        "UPDATE fairhold_log SET body = replace(body, 'erased-', 'herself-') WHERE kind = 'Joined'",
        (
            "UPDATE fairhold_log SET body = replace(body, '\"quantity\":2', '\"quantity\":3') WHERE "
            "kind = 'Held'"
        ),
        (
            'UPDATE fairhold_log SET body = replace(body, \'"party":"bea"\', \'"party":"eve"\') WHERE '
            "kind = 'Joined'"
        ),
        (
            "UPDATE fairhold_log SET body = replace(body, '\"entries\":[[', '\"entries\":[[9') WHERE "
            "kind = 'Erased'"
        ),
    ]
    saved = await ask(database_url, "SELECT pool_id, seq, body FROM fairhold_log ORDER BY pool_id, seq")
    for change in changes:
        await ask(database_url, change)
        report = await verified(database_url)
        assert any("it was edited" in finding.sentence for finding in report.findings), change
        for pool_id, seq, body in saved:
            where = f"pool_id = {pool_id} AND seq = {seq}"
            quoted = body.replace("'", "''")
            await ask(database_url, f"UPDATE fairhold_log SET body = '{quoted}' WHERE {where}")


async def test_who_is_still_to_be_answered_is_refused_or_cancelled_first(
    hf: Fairhold, database_url: str
) -> None:
    granted(await hf.create_pool("yoga", preset="class_waitlist", quotas={"main": 1}))
    held = granted(await hf.book("yoga", ANN))
    granted(await hf.book("yoga", "bea"))
    before = await dump(database_url)
    refused = await hf.erase_person("ann-4711")
    assert isinstance(refused, Refusal)
    assert (refused.code, refused.facts["bookings"]) == ("not_possible", [held.id])
    assert await dump(database_url) == before
    assert granted(await hf.erase_person("ann-4711", cancel=True)).bookings == 1
    assert traces(await dump(database_url)) == []
    bea = granted(await hf.bookings("yoga", party="bea"))[0]
    assert bea.state == "offered", "what became free went to the line"


async def test_a_dry_run_counts_and_changes_nothing(hf: Fairhold, database_url: str) -> None:
    await lived(hf)
    granted(await hf.book("yoga", ANN))
    before = await dump(database_url)
    told = granted(await hf.erase_person("ann-4711", cancel=True, dry_run=True))
    rehearsed = await hf.dry_run(lambda hf: hf.erase_person("ann-4711", cancel=True))
    assert told == rehearsed
    assert (told.bookings, told.dry_run) == (3, True)
    assert await dump(database_url) == before


async def test_the_same_request_after_erasure_gets_the_same_booking_without_the_person(hf: Fairhold) -> None:
    _, again = await lived(hf)
    granted(await hf.erase_person("ann-4711"))
    answer = granted(await hf.book("gig", ANN, 2, idempotency_key="ann holds"))
    assert (answer.id, answer.party.name) == (again.id, "")
    assert len(granted(await hf.bookings("gig"))) == 1


async def test_messages_that_were_still_to_be_sent_are_dead(hf: Fairhold) -> None:
    await lived(hf)
    about = {granted(await hf.bookings(pool, party="ann-4711"))[0].id for pool in ("yoga", "gig")}
    forgotten = granted(await hf.erase_person("ann-4711"))
    messages = [message for pool in ("yoga", "gig") for message in granted(await hf.messages(pool))]
    ours = [message for message in messages if message.booking in about]
    assert len(ours) == forgotten.messages > 0
    assert {(message.state, len(message.facts)) for message in ours} == {("dead", 0)}
    assert granted(await hf.dead_letters()) == [], "nobody can do anything about them"
    (put_away,) = {granted(await hf.message(message.id)).dismissed for message in ours}
    assert put_away is not None
    assert put_away.by == "staff"
    assert {message.state for message in messages if message.booking not in about} == {"pending"}


async def test_a_person_who_comes_again_is_a_new_one_and_can_be_forgotten_again(
    hf: Fairhold, database_url: str
) -> None:
    await lived(hf)
    granted(await hf.erase_person("ann-4711"))
    back = granted(await hf.book("gig", ANN))
    granted(await hf.cancel(back.id))
    assert [b.id for b in granted(await hf.bookings("gig", party="ann-4711"))] == [back.id]
    granted(await hf.erase_person("ann-4711"))
    alias = granted(await hf.booking(back.id)).party.id
    granted(await hf.erase_person(alias))
    assert traces(await dump(database_url)) == []
    assert (await assert_verified(database_url)).redacted == 5


async def test_what_it_takes_does_not_grow_with_the_pools(hf: Fairhold) -> None:
    await lived(hf)
    with counted(hf) as few:
        granted(await hf.export_person("ann-4711"))
        granted(await hf.erase_person("ann-4711", dry_run=True))
    await asyncio.gather(
        *(hf.create_pool(f"other-{n}", preset="checkout", quotas={"main": 5}) for n in range(50))
    )
    with counted(hf) as many:
        granted(await hf.export_person("ann-4711"))
        granted(await hf.erase_person("ann-4711"))
    assert many == few


async def test_another_org_is_not_touched(hf: Fairhold, database_url: str) -> None:
    async with opened(database_url, org="other") as other:
        granted(await other.create_pool("gig", preset="checkout", quotas={"main": 5}))
        theirs = granted(await other.book("gig", ANN))
        granted(await other.confirm(theirs.id))
        await lived(hf)
        granted(await hf.erase_person("ann-4711"))
        assert granted(await other.booking(theirs.id)).party.name == "Ann Zelda"


async def test_erasing_while_others_book_leaves_all_in_order(hf: Fairhold, database_url: str) -> None:
    """The pool's lock is held: the chain has no fork, whoever writes at the same moment."""
    await lived(hf)
    async with opened(database_url) as second:
        answers = await asyncio.gather(
            hf.erase_person("ann-4711"),
            *(hf.book("yoga", f"here {n}") for n in range(20)),
            *(second.book("yoga", f"there {n}") for n in range(20)),
        )
        assert all(not isinstance(answer, Refusal) for answer in answers)
    assert traces(await dump(database_url)) == []


async def test_what_fails_half_way_has_changed_nothing(
    hf: Fairhold, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await lived(hf)
    before = await dump(database_url)

    async def fails(tx: Transaction, *args: Any) -> None:
        raise RuntimeError("at the very end")

    monkeypatch.setattr(erasure, "_append", fails)
    with pytest.raises(RuntimeError, match="at the very end"):
        await hf.erase_person("ann-4711")
    assert await dump(database_url) == before


async def test_control_without_the_lock_the_log_forks(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nobody locks the pool, two writers chain to the same end. On SQLite there is but one writer."""
    without_lock(monkeypatch, postgres_url)
    redact, reached, go_on = erasure._redact_log, asyncio.Event(), asyncio.Event()

    async def waits(*args: Any) -> Any:
        reached.set()
        await go_on.wait()
        return await redact(*args)

    monkeypatch.setattr(erasure, "_redact_log", waits)
    async with opened(postgres_url) as hf, opened(postgres_url) as second:
        await lived(hf)
        erasing = asyncio.create_task(hf.erase_person("ann-4711"))
        await reached.wait()
        for pool in ("yoga", "gig"):
            granted(await second.book(pool, "eve"))
        go_on.set()
        with pytest.raises(Exception, match="log_pkey"):
            await erasing


@pytest.mark.parametrize("way", ["cut before", "cut after"])
async def test_erasing_that_is_lost_at_its_commit_says_so_and_can_be_done_again(
    postgres_url: str, way: str
) -> None:
    async with (
        proxied(postgres_url) as (proxy, through),
        Fairhold.open(through, secret=SECRET, ticker=False) as hf,
    ):
        granted(await hf.create_pool("gig", preset="checkout", quotas={"main": 5}))
        granted(await hf.confirm(granted(await hf.book("gig", ANN)).id))
        proxy.at_commit = [way]
        with pytest.raises(OutcomeUnknown):
            await hf.erase_person("ann-4711")
        again = await hf.erase_person("ann-4711")
        assert isinstance(again, Refusal) == (way == "cut after"), "it happened, or it did not"
    assert traces(await dump(postgres_url)) == []
    assert (await assert_verified(postgres_url)).redacted == 1
