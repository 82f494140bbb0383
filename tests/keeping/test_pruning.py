"""What is over for long loses the people, and no promise rests on it; and what is known about one person."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from fairhold import Fairhold, Refusal, granted
from fairhold.clock import to_datetime
from fairhold.keeping.keeper import prune_due
from fairhold.keeping.pruning import Pruned
from fairhold.outbox import MessageSettings, Outbox
from fairhold.retention_commands import Retention
from tests.database import START, ask, dump, opened
from tests.verified import assert_verified

DAY = 86_400
ANN = {"id": "ann", "name": "Ann Zelda", "contacts": {"email": "zelda@example.org"}, "tags": ["vip"]}


@pytest.fixture
async def hf(database_url: str) -> AsyncIterator[Fairhold]:
    async with opened(database_url) as hf:
        yield hf
    await assert_verified(database_url)


async def name_in(hf: Fairhold, booking: str) -> str:
    return granted(await hf.booking(booking)).party.name


async def test_ended_bookings_lose_the_person_and_live_ones_do_not(hf: Fairhold, database_url: str) -> None:
    granted(await hf.create_pool("gig", preset="checkout", quotas={"main": 9}))
    old = granted(await hf.book("gig", ANN, idempotency_key="old"))
    granted(await hf.cancel(old.id))
    kept = granted(await hf.book("gig", ANN))
    granted(await hf.confirm(kept.id))
    await hf.advance(seconds=30 * DAY)
    young = granted(await hf.book("gig", ANN, idempotency_key="young"))
    granted(await hf.cancel(young.id))
    await hf.advance(seconds=DAY)
    before = await dump(database_url)
    told = granted(await hf.prune(7 * DAY, dry_run=True))
    assert (told.bookings, told.idempotency_keys) == (1, 1)
    assert await dump(database_url) == before
    pruned = granted(await hf.prune(7 * DAY))
    assert (pruned.bookings, pruned.messages, pruned.idempotency_keys) == (1, 0, 1)
    assert [await name_in(hf, b.id) for b in (old, kept, young)] == ["", "Ann Zelda", "Ann Zelda"]
    shown = granted(await hf.booking(old.id)).party
    assert (shown.id, shown.tags, shown.contacts) == ("ann", ("vip",), {})
    assert await ask(database_url, "SELECT key FROM fairhold_requests") == [("young",)]
    assert granted(await hf.prune(7 * DAY)).bookings == 0


async def test_what_has_begun_long_ago_is_over(hf: Fairhold) -> None:
    """A confirmed booking never ends by itself: it is over when its pool, or all of its units, have begun."""
    begin = to_datetime(START + DAY * 1000)
    granted(await hf.create_pool("gig", preset="checkout", quotas={"main": 9}, starts_at=begin))
    later = begin + timedelta(days=60)
    units = [{"label": "early", "starts_at": begin}, {"label": "late", "starts_at": later}]
    granted(await hf.create_pool("salon", preset="checkout", quotas={"main": []}, units=units))
    booked = []
    for pool, labels in (("gig", []), ("salon", ["early"]), ("salon", ["late"])):
        who = ANN | {"id": f"ann {labels}"}
        booked.append(granted(await hf.book(pool, who, units=labels, confirmed=True, by="staff")))
    await hf.advance(seconds=3 * DAY)
    assert granted(await hf.prune(7 * DAY)).bookings == 0
    await hf.advance(seconds=7 * DAY)
    assert granted(await hf.prune(7 * DAY)).bookings == 2
    assert [await name_in(hf, b.id) for b in booked] == ["", "", "Ann Zelda"]


async def test_many_are_pruned_some_at_a_time(hf: Fairhold, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairhold.keeping.pruning._PAGE", 3)
    granted(await hf.create_pool("gig", preset="checkout", quotas={"main": 99}))
    for n in range(7):
        granted(await hf.cancel(granted(await hf.book("gig", ANN | {"id": f"p{n}"})).id))
    await hf.advance(seconds=10 * DAY)
    assert granted(await hf.prune(7 * DAY)).bookings == 7


async def test_messages_that_were_dealt_with_are_emptied(hf: Fairhold, database_url: str) -> None:
    granted(await hf.create_pool("gig", preset="event_signup", quotas={"main": 1}))
    for who in ("ann", "bea"):
        granted(await hf.cancel(granted(await hf.book("gig", who)).id))
    await ask(
        database_url, "UPDATE fairhold_outbox SET state = 'dead', error = 'not zelda@' WHERE booking = 1"
    )
    await hf.advance(seconds=10 * DAY)
    pruned = granted(await hf.prune(7 * DAY)).messages
    found = granted(await hf.messages("gig"))
    assert pruned == sum(message.state == "dead" for message in found) > 0
    for message in found:
        empty = (message.facts, message.error) == ({}, "")
        assert empty == (message.state == "dead")
        if empty:
            # Sent again it would tell of something else, for it does not know what it was about.
            refused = await hf.replay(message.id)
            assert isinstance(refused, Refusal)
            assert refused.sentence == "What this message said is not kept any more."


async def test_a_policy_says_for_how_long_of_people_and_of_messages(hf: Fairhold, database_url: str) -> None:
    granted(await hf.create_pool("gig", preset="event_signup", quotas={"main": 1}))
    old = granted(await hf.book("gig", ANN))
    granted(await hf.cancel(old.id))
    await ask(database_url, "UPDATE fairhold_outbox SET state = 'dead', error = 'not zelda@'")
    row = "pool_id, seq, part, 'email', 'dead', 1, created_at, 'not zelda@'"
    await ask(database_url, f"INSERT INTO fairhold_deliveries SELECT {row} FROM fairhold_outbox")
    await hf.advance(seconds=10 * DAY)
    # Nothing was said, so nothing is pruned, however old.
    assert await hf.retention() == Retention()
    assert granted(await hf.prune()) == Pruned(0, 0, 0)
    kept = granted(await hf.set_retention(people_days=30, messages_days=7, by="staff:Olga"))
    assert (kept.people_days, kept.messages_days, kept.by, kept.pruned_at) == (30, 7, "staff:Olga", None)
    assert await hf.for_org("theirs").retention() == Retention()
    before = await dump(database_url)
    told = granted(await hf.prune(dry_run=True))
    assert (told.bookings, told.messages > 0, told.dry_run) == (0, True, True)
    assert await dump(database_url) == before
    assert granted(await hf.prune()) == Pruned(0, told.messages, 0)
    assert await ask(database_url, "SELECT DISTINCT error FROM fairhold_deliveries") == [("",)]
    assert await name_in(hf, old.id) == "Ann Zelda"
    await hf.advance(seconds=21 * DAY)
    assert granted(await hf.prune()) == Pruned(1, 0, 0)
    assert await name_in(hf, old.id) == ""
    granted(await hf.set_retention(people_days=None, messages_days=None))
    assert granted(await hf.prune()) == Pruned(0, 0, 0)


@pytest.mark.parametrize("days", [0, -1, 36_501, "7", 1.5, True])
async def test_a_policy_is_in_whole_days(hf: Fairhold, days: Any) -> None:
    for field in ("people_days", "messages_days"):
        refused = await hf.set_retention(**{"people_days": 1, "messages_days": 1, field: days})
        assert isinstance(refused, Refusal)
        assert (refused.code, refused.field) == ("invalid", field)
    assert await hf.retention() == Retention()


async def test_of_several_keepers_one_prunes_once_a_day(hf: Fairhold, database_url: str) -> None:
    granted(await hf.create_pool("gig", preset="checkout", quotas={"main": 9}))
    theirs = hf.for_org("theirs")
    granted(await theirs.set_retention(people_days=None, messages_days=None))
    for who in ("ann", "bea"):
        granted(await hf.cancel(granted(await hf.book("gig", {"id": who, "name": who})).id))
    granted(await hf.set_retention(people_days=1, messages_days=None))
    await hf.advance(seconds=2 * DAY)
    async with opened(database_url) as other:
        await other.advance(seconds=2 * DAY)

        async def seen_to() -> int:
            found = await asyncio.gather(*(prune_due(it) for it in (hf, other, hf, other)))
            assert {org for it in found for org in it} <= {"default"}
            return sum(it.bookings for done in found for it in done.values())

        assert await seen_to() == 2
        assert (await hf.retention()).pruned_at == to_datetime(hf.clock.now())
        granted(await hf.cancel(granted(await hf.book("gig", {"id": "cyd", "name": "Cyd"})).id))
        assert await seen_to() == 0
        for it in (hf, other):
            await it.advance(seconds=DAY + 1)
        assert await seen_to() == 1
        # What is said anew is seen to at once.
        granted(await hf.cancel(granted(await hf.book("gig", {"id": "dan", "name": "Dan"})).id))
        for it in (hf, other):
            await it.advance(seconds=DAY - 60)
        assert await seen_to() == 0
        granted(await hf.set_retention(people_days=1, messages_days=1))
        assert "default" in await prune_due(hf)


@pytest.mark.parametrize("age", [0, DAY - 1, -1, "7", 1.5, True])
async def test_an_age_is_a_day_at_least(hf: Fairhold, age: Any) -> None:
    refused = await hf.prune(age)
    assert isinstance(refused, Refusal)
    assert (refused.code, refused.field) == ("invalid", "older_than_s")


async def test_all_about_one_person_is_handed_out(hf: Fairhold) -> None:
    granted(await hf.create_pool("yoga", preset="class_waitlist", quotas={"main": 1}, title="Yoga at six"))
    granted(await hf.create_pool("gig", preset="checkout", quotas={"main": 2}))
    granted(await hf.book("yoga", "olga"))
    waits = granted(await hf.book("yoga", ANN))
    holds = granted(await hf.book("gig", ANN, 2))
    record = granted(await hf.export_person("ann"))
    assert {it.booking.id for it in record.bookings} == {waits.id, holds.id}
    yoga = next(it for it in record.bookings if it.pool == "yoga")
    assert (yoga.title, yoga.booking.party.name, yoga.booking.position) == ("Yoga at six", "Ann Zelda", 1)
    assert [step.sentence for step in yoga.history] == ["You joined the line as #1."]
    assert [entry.event for entry in yoga.log] == ["Joined"]
    assert [message.kind for message in yoga.messages] == ["joined"]
    assert "olga" not in str(record)
    for nobody in ("zed", "Ann Zelda"):
        assert isinstance(await hf.export_person(nobody), Refusal)
    for wrong in ("", 5, None):
        refused = await hf.export_person(wrong)  # type: ignore[arg-type]
        assert isinstance(refused, Refusal)
        assert (refused.code, refused.field) == ("invalid", "party")


async def test_letters_that_were_never_sent_are_pruned_like_others(hf: Fairhold) -> None:
    """They say as much of a person as one that was sent."""
    granted(await hf.create_pool("lesson", preset="class_waitlist", quotas={"main": 1}))
    for who in ("olga", "ann"):
        granted(await hf.book("lesson", who, door="page"))
    nothing_set_up = Outbox(hf, MessageSettings(base_url="https://seats.example.org"))
    await nothing_set_up.send_due()
    await nothing_set_up.close()
    (joined,) = granted(await hf.messages("lesson"))
    assert (joined.state, bool(joined.facts)) == ("not_sent", True)
    await hf.advance(seconds=8 * DAY)
    assert granted(await hf.prune(7 * DAY)).messages == 1
    (joined,) = [it for it in granted(await hf.messages("lesson")) if it.kind == "joined"]
    assert (joined.state, joined.facts, joined.error) == ("not_sent", {}, "")
