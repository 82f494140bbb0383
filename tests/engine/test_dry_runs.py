"""A dry run tells what would happen, changes nothing, and is right: what then really happens is the same."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from functools import partial
from typing import Any

import pytest

from fairhold import Booking, Fairhold, Outcome, Refusal, granted
from fairhold.records import QuotaUse
from tests.database import dump, opened


@pytest.fixture
async def hf(database_url: str) -> AsyncIterator[Fairhold]:
    """A full class of three with three in line, and an event with two quotas and an open share."""
    async with opened(database_url) as hf:
        granted(await hf.create_pool("class", preset="class_waitlist", quotas={"main": 3}))
        for who in ("ann", "bea", "cyd"):
            granted(await hf.confirm(granted(await hf.book("class", who)).id))
        for who in ("dan", "eve", "fay"):
            granted(await hf.book("class", who))
        granted(await hf.create_pool("event", preset="event_signup", quotas={"a": 2, "b": 1}, open_size=1))
        for who in ("ann", "bea", "cyd", "dan"):
            granted(await hf.book("event", who, quota="a"))
        yield hf


CHANGES: dict[str, dict[str, Any]] = {
    "more room": {"sizes": {"main": 5}},
    "less room": {"sizes": {"main": 1}, "allow_demotion": True},
    "no room": {"sizes": {"main": 0}, "allow_demotion": True},
    "another title": {"title": "Class"},
    "other rules": {"policy": {"offers_live_max": 3}, "sizes": {"main": 6}},
    "closed": {"status": "closed"},
    "cancelled": {"status": "cancelled"},
    "paused": {"status": "paused"},
}


async def events_of(hf: Fairhold, pool: str, after: int) -> list[tuple[str, Any, str]]:
    return [(e.event, e.booking, e.by) for e in granted(await hf.log(pool, after=after, limit=1000))]


def told(outcome: Outcome) -> tuple[list[Any], list[Any]]:
    events = [(event["event"], event.get("booking"), event["by"]) for event in outcome.events]
    return events, [(message["kind"], message["booking"]) for message in outcome.messages]


async def really(hf: Fairhold, pool: str, change: Mapping[str, Any]) -> tuple[list[Any], list[Any]]:
    """Make the change, and tell what happened and who was told."""
    entries, messages = len(granted(await hf.log(pool))), len(granted(await hf.messages(pool)))
    granted(await hf.change_pool(pool, **change))
    sent = granted(await hf.messages(pool))[messages:]
    return await events_of(hf, pool, entries), [(message.kind, message.booking) for message in sent]


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
async def test_a_change_is_told_beforehand_and_comes_true(
    hf: Fairhold, database_url: str, change: Mapping[str, Any]
) -> None:
    before = await dump(database_url)
    outcome = granted(await hf.change_pool("class", dry_run=True, **change))
    assert isinstance(outcome, Outcome)
    assert await dump(database_url) == before
    assert granted(await hf.change_pool("class", dry_run=True, **change)) == outcome
    assert await really(hf, "class", change) == told(outcome)


async def test_who_would_lose_their_place_is_named(hf: Fairhold, database_url: str) -> None:
    before = await dump(database_url)
    refused = await hf.change_pool("class", sizes={"main": 1})
    assert isinstance(refused, Refusal)
    assert (refused.code, refused.facts["count"]) == ("would_demote", 2)
    named = [granted(await hf.booking(name)).party.id for name in refused.facts["bookings"]]
    assert named == ["cyd", "bea"], "the latest to arrive go first"
    dry = granted(await hf.change_pool("class", sizes={"main": 1}, dry_run=True))
    assert isinstance(dry, Outcome)
    assert dry.answer is not None
    assert (dry.answer["refused"], dry.answer["facts"]) == ("would_demote", refused.facts)
    assert dry.events == dry.messages == ()
    assert await dump(database_url) == before

    granted(await hf.change_pool("class", sizes={"main": 1}, allow_demotion=True))
    line = [(b.position, b.party.id) for b in granted(await hf.line("class"))]
    assert line == [(1, "bea"), (2, "cyd"), (3, "dan"), (4, "eve"), (5, "fay")]


async def test_the_latest_of_each_quota_lose_their_place(hf: Fairhold) -> None:
    """The latest may be of a quota with few to lose, while more must go from one that filled early."""
    granted(await hf.create_pool("tour", preset="event_signup", quotas={"early": 5, "late": 10}))
    for quota, size in (("early", 5), ("late", 10)):
        for n in range(size):
            granted(await hf.book("tour", f"{quota} {n}", quota=quota))
    sizes = {"early": 0, "late": 9}
    refused = await hf.change_pool("tour", sizes=sizes)
    assert isinstance(refused, Refusal)
    named = [granted(await hf.booking(name)).party.id for name in refused.facts["bookings"]]
    assert sorted(named) == [f"early {n}" for n in range(5)] + ["late 9"]
    granted(await hf.change_pool("tour", sizes=sizes, allow_demotion=True))
    assert granted(await hf.stats("tour")).quotas == {"early": QuotaUse(0, 0), "late": QuotaUse(9, 0)}


async def test_who_is_past_the_deadline_is_not_demoted_in_place_of_another(hf: Fairhold) -> None:
    """A hold that has run out takes no room: with it gone, somebody else is the latest to lose a place."""
    granted(await hf.create_pool("hut", preset="class_waitlist", quotas={"main": 3}))
    for who in ("ann", "bea"):
        granted(await hf.confirm(granted(await hf.book("hut", who)).id))
    granted(await hf.book("hut", "cyd"))
    clock: Any = hf.clock
    clock.move_to(clock.now() + 15 * 60_000)
    refused = await hf.change_pool("hut", sizes={"main": 1})
    assert isinstance(refused, Refusal)
    assert [granted(await hf.booking(b)).party.id for b in refused.facts["bookings"]] == ["bea"]


@pytest.mark.parametrize("quantity", [1, 2])
async def test_a_booking_can_be_tried_first(hf: Fairhold, database_url: str, quantity: int) -> None:
    before = await dump(database_url)
    for pool, quota in (("class", "main"), ("event", "a"), ("event", "b")):
        book = partial(Fairhold.book, pool=pool, party="gus", quantity=quantity, quota=quota)
        outcome = granted(await hf.dry_run(book))
        assert isinstance(outcome, Outcome)
        assert await dump(database_url) == before
        entries = len(granted(await hf.log(pool)))
        booking = granted(await hf.book(pool, "gus", quantity, quota=quota))
        assert isinstance(booking, Booking)
        assert await events_of(hf, pool, entries) == told(outcome)[0]
        granted(await hf.cancel(booking.id))
        before = await dump(database_url)


async def test_a_dry_run_uses_up_no_idempotency_key(hf: Fairhold, database_url: str) -> None:
    before = await dump(database_url)
    for who in ("gus", "hal"):
        dry = granted(await hf.dry_run(partial(booking_once, who=who)))
        assert (isinstance(dry, Outcome), dry.answer) == (True, None)
        assert dry.events
    assert await dump(database_url) == before
    assert isinstance(granted(await booking_once(hf, "gus")), Booking)


async def test_a_dry_run_says_what_a_key_that_was_used_would_be_answered(
    hf: Fairhold, database_url: str
) -> None:
    granted(await booking_once(hf, "gus"))
    refused = await hf.book("class", "gus", 9, quota="none", idempotency_key="refused")
    assert isinstance(refused, Refusal)
    granted(await hf.create_pool("made", quotas={"main": 1}, idempotency_key="made"))
    granted(await hf.change_pool("event", title="Event", idempotency_key="changed"))
    before = await dump(database_url)

    again = granted(await hf.dry_run(partial(booking_once, who="gus")))
    assert again == Outcome((), ()), "it was done before, and nothing would happen"
    other = granted(await hf.dry_run(partial(booking_once, who="hal")))
    assert (other.events, other.messages) == ((), ())
    assert other.answer is not None
    assert (other.answer["refused"], other.answer["field"]) == ("idempotency_mismatch", "idempotency_key")
    kept = granted(
        await hf.dry_run(lambda dry: dry.book("class", "gus", 9, quota="none", idempotency_key="refused"))
    )
    assert kept.answer is not None
    assert (kept.answer["refused"], kept.answer["sentence"]) == (refused.code, refused.sentence)
    made = await hf.dry_run(lambda dry: dry.create_pool("made", quotas={"main": 1}, idempotency_key="made"))
    assert made == Outcome((), ())
    changed = await hf.change_pool("event", title="Party", idempotency_key="changed", dry_run=True)
    assert isinstance(changed, Outcome)
    assert (changed.answer or {})["refused"] == "idempotency_mismatch"
    assert await dump(database_url) == before


async def booking_once(hf: Fairhold, who: str) -> Booking | Refusal:
    return await hf.book("class", who, idempotency_key="once")


async def test_a_dry_run_of_keeping_asks_the_key_too(hf: Fairhold, database_url: str) -> None:
    granted(await hf.erase_person("ann", cancel=True, idempotency_key="gone"))
    granted(await hf.import_csv("event", "party_id,quota\nivy,a\n", idempotency_key="file"))
    before = await dump(database_url)
    again = granted(await hf.erase_person("ann", cancel=True, idempotency_key="gone", dry_run=True))
    assert (again.bookings, again.dry_run) == (2, True)
    wrong: Any = 5
    for key in ("", wrong):
        for refused in (
            await hf.erase_person("bea", cancel=True, idempotency_key=key, dry_run=True),
            await hf.import_csv("event", "party_id,quota\njon,a\n", idempotency_key=key, dry_run=True),
        ):
            assert isinstance(refused, Refusal)
            assert (refused.code, refused.field) == ("invalid", "idempotency_key")
    for refused in (
        await hf.erase_person("bea", cancel=True, idempotency_key="gone", dry_run=True),
        await hf.import_csv("event", "party_id,quota\njon,a\n", idempotency_key="file", dry_run=True),
        await hf.import_csv("event", "party_id,quota\njon,a\n", idempotency_key="gone", dry_run=True),
    ):
        assert isinstance(refused, Refusal)
        assert refused.code == "idempotency_mismatch"
    assert await dump(database_url) == before


async def test_what_is_due_is_part_of_what_is_told(hf: Fairhold, database_url: str) -> None:
    """A dry run shows what has fallen due as well, and still leaves it to be done."""
    granted(await hf.create_pool("hut", preset="class_waitlist", quotas={"main": 1}))
    ann = granted(await hf.book("hut", "ann"))
    clock: Any = hf.clock
    clock.move_to(clock.now() + 15 * 60_000)
    before = await dump(database_url)
    outcome = granted(await hf.change_pool("hut", title="The hut", dry_run=True))
    assert isinstance(outcome, Outcome)
    assert [(e["event"], e.get("booking")) for e in outcome.events] == [
        ("Expired", ann.id),
        ("PoolChanged", None),
    ]
    assert await dump(database_url) == before


async def test_any_command_can_be_tried_first(hf: Fairhold, database_url: str) -> None:
    """Each is told exactly as it then happens, and the trying writes nothing."""
    granted(await hf.create_pool("any", preset="class_waitlist", quotas={"main": 1}))
    ann, bea, cyd = [granted(await hf.book("any", who)) for who in ("ann", "bea", "cyd")]
    commands = {
        "extend": lambda it: it.extend(ann.id),
        "confirm": lambda it: it.confirm(ann.id),
        "move": lambda it: it.move(cyd.id, "front", why="came back"),
        "cancel": lambda it: it.cancel(ann.id),
        "decline": lambda it: it.decline(cyd.id),
        "fill": lambda it: it.fill("any"),
        "resize": lambda it: it.change_pool("any", sizes={"main": 3}),
        "leave": lambda it: it.cancel(bea.id),
    }
    for name, ask in commands.items():
        before, entries = await dump(database_url), len(granted(await hf.log("any")))
        outcome = granted(await hf.dry_run(ask))
        assert isinstance(outcome, Outcome), name
        assert await dump(database_url) == before, name
        granted(await ask(hf))
        assert await events_of(hf, "any", entries) == told(outcome)[0], name
    before = await dump(database_url)
    made = await hf.dry_run(lambda it: it.create_pool("new", preset="checkout", quotas={"main": 1}))
    assert isinstance(made, Outcome)
    assert [event["event"] for event in made.events] == ["PoolCreated"]
    assert await dump(database_url) == before


async def test_what_cannot_be_tried_is_refused_and_not_done(hf: Fairhold, database_url: str) -> None:
    """Wording, webhooks, contacts, origins and retention are written beside the lane."""
    hook = granted(await hf.add_webhook("https://example.org/hook"))
    commands = {
        "wording": lambda it: it.set_template("offer", "en", "subject", "A seat"),
        "no wording": lambda it: it.drop_template("offer", "en", "subject"),
        "webhook": lambda it: it.add_webhook("https://example.org/other"),
        "its change": lambda it: it.change_webhook(hook.id, payload="thin"),
        "its secret": lambda it: it.rotate_webhook(hook.id),
        "its end": lambda it: it.remove_webhook(hook.id, idempotency_key="once"),
        "its test": lambda it: it.test_webhook(hook.id),
        "contact": lambda it: it.add_staff_contact("email", "desk@example.org"),
        "origin": lambda it: it.allow_origin("https://example.org"),
        "retention": lambda it: it.set_retention(people_days=30, messages_days=30),
        "all that is due": lambda it: it.tick(),
        "time": lambda it: it.advance(seconds=3_600),
    }
    before, now = await dump(database_url), hf.clock.now()
    for name, ask in commands.items():
        answer = await hf.dry_run(ask)
        assert isinstance(answer, Refusal), name
        assert answer.code == "not_possible", name
        assert "no dry run" in answer.sentence, name
    assert (await dump(database_url), hf.clock.now()) == (before, now)
