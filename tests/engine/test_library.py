"""The library's methods, with an event loop and without: one story, told both ways, on both databases."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator
from itertools import count
from typing import Any

import pytest

from fairhold import Fairhold, Price, Refusal, Refused, SyncFairhold, TestClock, granted, ids
from fairhold.core.commands import CreatePool
from fairhold.core.model import Pool, Quota
from fairhold.core.policy import PRESETS
from fairhold.core.reference import reference
from fairhold.errors import Closing
from fairhold.ids import BOOKING_LENGTH
from tests.database import SECRET, START, dump, opened

METHODS = {
    name
    for name, method in inspect.getmembers(Fairhold, inspect.iscoroutinefunction)
    if not name.startswith("_") and name != "submit"
}


@pytest.fixture
async def hf(database_url: str) -> AsyncIterator[Fairhold]:
    async with opened(database_url) as hf:
        yield hf


class Told:
    """Calls the methods of either kind of Fairhold, and remembers which, and what they answered."""

    def __init__(self, hf: Fairhold | SyncFairhold) -> None:
        self.hf, self.called, self.answers = hf, set[str](), list[Any]()

    def __getattr__(self, name: str) -> Any:
        async def call(*args: Any, **options: Any) -> Any:
            answer = getattr(self.hf, name)(*args, **options)
            answer = await answer if inspect.isawaitable(answer) else answer
            self.called.add(name)
            self.answers.append((name, answer))
            return answer

        return call


async def story(hf: Told) -> None:
    """Every method once or more, with a yes and a no from many of them."""
    await hf.create_pool("gig", preset="class_waitlist", quotas={"main": 2}, price=Price(1500, "EUR"))
    await hf.create_pool("gig", preset="class_waitlist", quotas={"main": 2})
    await hf.create_pool("chair", preset="last_minute", policy={"tries_max": 1}, quotas={"main": ["a", "b"]})
    ann = await hf.book("gig", {"id": "ann", "name": "Ann", "tags": ["member"]}, idempotency_key="ann")
    bea = await hf.book("gig", "bea", 1)
    cyd = await hf.book("gig", "cyd", 2)
    dan = await hf.book("gig", "dan")
    await hf.dry_run(lambda rehearsal: rehearsal.cancel(ann.id))
    await hf.confirm(ann.id)
    await hf.extend(bea.id, 60)
    await hf.confirm("nobody")
    await hf.change_booking(
        dan.id, name="Dan", contacts={"email": "dan@example.org"}, answers={"diet": "any"}
    )
    await hf.move(dan.id, "front", why="was here first")
    await hf.move(cyd.id, after=dan.id)
    await hf.cancel(bea.id)
    await hf.put_back("nobody")
    offered = await hf.booking(dan.id, secret=True)
    await hf.decline(offered.offer.token)
    offered = await hf.booking(cyd.id, secret=True)
    await hf.claim(offered.offer.token, 1)
    await hf.claim(offered.offer.token, 1)
    await hf.change_pool("gig", sizes={"main": 1})
    await hf.change_pool("gig", sizes={"main": 1}, allow_demotion=True, dry_run=True)
    await hf.change_pool("gig", sizes={"main": 4}, title="The gig")
    await hf.fill("gig")
    await hf.offer(dan.id, why="asked nicely")
    await hf.add_units("chair", [{"label": "c", "attributes": {"row": 1}}, "d"])
    await hf.close_unit("chair", "d")
    for who in ("eve", "fay", "gus", "hal"):
        await hf.book("chair", who)
    await hf.cancel((await hf.bookings("chair", party="eve"))[0].id)
    await hf.decline((await hf.bookings("chair", state="offered"))[0].id)
    openings = await hf.openings("chair")
    await hf.resolve("chair", openings[0].number, "free")
    await hf.advance(seconds=3600)
    await hf.tick()
    await hf.tick("gig")
    for lookup in ("pool", "line", "room", "stats", "log", "messages", "openings", "bookings"):
        for pool in ("gig", "chair", "nowhere"):
            await getattr(hf, lookup)(pool)
    await hf.pools()
    await hf.latest_pools(skip=1)
    await hf.pool_names()
    await hf.totals()
    for pool in ("gig", "chair", "nowhere"):
        await hf.history(pool, limit=5)
        await hf.numbers(pool)
        await hf.seats(pool)
        await hf.units(pool)
        await hf.newest_bookings(pool)
        await hf.newest_messages(pool)
        await hf.next_to_end(pool, "held")
    await hf.find("dan")
    await hf.find(" ")
    await hf.bookings_by_id([dan.id, "nobody"])
    await hf.needs()
    await hf.needs_count()
    await hf.changes()
    await hf.verify("nowhere")
    await hf.export_csv("gig", "line")
    await hf.import_csv("gig", "party_id\nivy\n", dry_run=True)
    await hf.export_person("dan")
    await hf.erase_person("dan", cancel=True, dry_run=True)
    await hf.prune(30 * 86_400)
    await hf.set_retention(people_days=0, messages_days=1)
    await hf.set_retention(people_days=30, messages_days=None)
    await hf.retention()
    await hf.prune()
    await hf.position(dan.id)
    await hf.explain(dan.id)
    await about_messages(hf)


async def about_messages(hf: Told) -> None:
    first = (await hf.messages("gig"))[0].id
    await hf.message(first)
    await hf.message("nonsense")
    await hf.fates([first, "nonsense"])
    await hf.messages_about((await hf.bookings("gig"))[0].id)
    await hf.dead_letters()
    await hf.replay(first)
    await hf.dismiss(first)
    await hf.set_template("offer", "en", "subject", "{{ pool }} is waiting for you")
    await hf.set_template("offer", "en", "subject", "{{ nobody_knows }}")
    await hf.templates()
    await hf.template("offer", "en", "subject")
    await hf.template("offer", "fi", "subject")
    await hf.preview("offer")
    await hf.drop_template("offer", "en", "subject")
    webhook = await hf.add_webhook("https://example.org/hook", kinds=["offer"])
    await hf.add_webhook("gopher://example.org")
    await hf.rotate_webhook(webhook.id)
    await hf.change_webhook(webhook.id, url="https://receiver.invalid/hook", payload="thin")
    await hf.test_webhook(webhook.id)
    await hf.deliveries(webhook.id)
    await hf.replay_delivery(webhook.id, first)
    await hf.webhook(webhook.id)
    await hf.webhooks()
    await hf.remove_webhook(webhook.id)
    contact = await hf.add_staff_contact("email", "desk@example.org")
    await hf.staff_contacts()
    await hf.remove_staff_contact(contact.id)
    origin = await hf.allow_origin("https://example.org")
    await hf.allow_origin("example.org/page")
    await hf.origins()
    await hf.remove_origin(origin.id)


async def told(url: str, monkeypatch: pytest.MonkeyPatch, *, sync: bool) -> Told:
    """The story as told to a new database; pools get the same ids each time."""
    numbers = count(1_000)
    monkeypatch.setattr(ids, "new_pool_id", lambda: next(numbers))
    monkeypatch.setattr(ids, "new_name", lambda letters: f"{letters}{next(numbers)}")
    if sync:
        with Fairhold.open_sync(url, clock=TestClock(START), secret=SECRET) as hf:
            teller = Told(hf)
            await story(teller)
    else:
        async with opened(url) as hf:
            teller = Told(hf)
            await story(teller)
    return teller


async def test_one_story_is_told_alike_both_ways_on_both_databases(
    sqlite_url: str, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = await told(sqlite_url, monkeypatch, sync=False)
    second = await told(postgres_url, monkeypatch, sync=True)
    assert first.called == second.called == METHODS
    assert first.answers == second.answers
    rows, others = await dump(sqlite_url), await dump(postgres_url)
    assert rows == others


def test_callers_without_a_loop_have_every_method() -> None:
    there = {name for name in vars(SyncFairhold) if not name.startswith("_")}
    assert there - {"run", "close"} == METHODS
    for name in METHODS:
        method, original = getattr(SyncFairhold, name), getattr(Fairhold, name)
        assert (method.__name__, method.__doc__) == (original.__name__, original.__doc__)


async def test_threads_share_one_lane(database_url: str) -> None:
    with Fairhold.open_sync(database_url, clock=TestClock(START)) as hf:
        granted(hf.create_pool("gig", preset="checkout", quotas={"main": 30}))
        before = hf.hf.engine.batches
        booked = await asyncio.gather(*(asyncio.to_thread(hf.book, "gig", f"party {n}") for n in range(60)))
        states = [b.code if isinstance(b, Refusal) else b.state for b in booked]
        assert sorted(states) == ["held"] * 30 + ["not_enough_room"] * 30
        assert hf.hf.engine.batches - before < 60
    with pytest.raises(Closing):
        hf.pool("gig")


async def test_a_refusal_can_be_caught_instead(hf: Fairhold) -> None:
    with pytest.raises(Refused, match="There is no pool 'nowhere' here") as caught:
        granted(await hf.pool("nowhere"))
    assert caught.value.refusal.code == "unknown"


# What a booking goes by.


async def booked(hf: Fairhold) -> Any:
    granted(await hf.create_pool("gig", preset="class_waitlist", quotas={"main": 1}))
    return granted(await hf.book("gig", "ann"))


async def test_a_booking_is_found_by_id_reference_and_edit_token(hf: Fairhold) -> None:
    ann = await booked(hf)
    found = granted(await hf.booking(ann.id))
    assert found.edit_token is None
    for name in (ann.reference, ann.reference.lower(), ann.edit_token):
        assert granted(await hf.booking(name)) == found
    assert granted(await hf.booking(ann.edit_token, secret=True)).edit_token == ann.edit_token
    assert granted(await hf.confirm(ann.edit_token)).state == "confirmed"
    assert granted(await hf.cancel(ann.reference)).state == "cancelled"


async def test_of_two_with_one_reference_the_one_in_play_is_meant(hf: Fairhold) -> None:
    """Within a pool a reference is one of a kind; among very many pools it may not be."""
    pools = same_reference()
    for pool in pools:
        made = Pool(pool, hf.org, f"gig-{pool}", "", PRESETS["checkout"], (Quota("main", size=3),))
        granted(await hf.submit(pool, CreatePool(made)))
    ann, bea = [granted(await hf.book(f"gig-{pool}", "ann")) for pool in pools]
    assert ann.reference == bea.reference
    both = await hf.booking(ann.reference)
    assert isinstance(both, Refusal)
    assert (both.code, both.field) == ("invalid", "booking")
    assert "say its id" in both.sentence
    granted(await hf.cancel(ann.id))
    assert granted(await hf.booking(ann.reference)).id == bea.id
    granted(await hf.cancel(bea.id))
    assert isinstance(await hf.booking(ann.reference), Refusal)


def same_reference() -> tuple[int, int]:
    """Two pools whose first bookings are called the same."""
    seen: dict[str, int] = {}
    for pool in count(1):
        first = seen.setdefault(reference(pool, 1), pool)
        if first != pool:
            return first, pool
    raise AssertionError


async def test_nobody_is_called_like_those_who_were_forgotten(hf: Fairhold) -> None:
    granted(await hf.create_pool("gig", preset="checkout", quotas={"main": 1}))
    for party in ("erased-ann", {"id": "erased-ann"}):
        refused = await hf.book("gig", party)
        assert isinstance(refused, Refusal)
        assert (refused.code, refused.field) == ("invalid", "party.id")


async def test_a_tampered_edit_token_is_nobodys(hf: Fairhold) -> None:
    ann, bea = await booked(hf), granted(await hf.book("gig", "bea"))
    token = ann.edit_token
    forged = [
        token[:-1] + ("A" if token[-1] != "A" else "B"),
        token[:-1],
        token + "A",
        bea.edit_token[:BOOKING_LENGTH] + token[BOOKING_LENGTH:],
        token[:BOOKING_LENGTH] + bea.edit_token[BOOKING_LENGTH:],
        token[:BOOKING_LENGTH] + "A" * (len(token) - BOOKING_LENGTH),
        "x" + token[1:],
    ]
    for wrong in forged:
        for answer in (await hf.booking(wrong), await hf.cancel(wrong), await hf.confirm(wrong)):
            assert isinstance(answer, Refusal)
            assert answer.code == "unknown"
    assert granted(await hf.booking(ann.id)).state == "held"


async def test_a_tampered_offer_token_is_nobodys(hf: Fairhold) -> None:
    ann, bea, cyd = await booked(hf), *[granted(await hf.book("gig", who)) for who in ("bea", "cyd")]
    granted(await hf.cancel(ann.id))
    offer = granted(await hf.booking(bea.id, secret=True)).offer
    assert offer is not None
    name, _, mac = offer.token.partition(".")
    other = cyd.id + name[BOOKING_LENGTH:]
    forged = [
        f"{name}.{mac[:-1]}",
        f"{name}.{mac}A",
        f"{other}.{mac}",
        f"{name[:-1]}2.{mac}",
        f"{name}.",
        name,
        mac,
    ]
    forged += [f"{name}.{bea.edit_token[BOOKING_LENGTH:]}", bea.edit_token, f".{mac}", "."]
    for wrong in forged:
        answer = await hf.claim(wrong)
        assert isinstance(answer, Refusal), wrong
        assert answer.code == "unknown"
        if wrong != bea.edit_token:
            declined = await hf.decline(wrong)
            assert isinstance(declined, Refusal), wrong
            assert declined.code == "unknown"
    assert granted(await hf.claim(offer.token)).state == "confirmed"


async def test_another_secret_makes_other_tokens(database_url: str) -> None:
    async with (
        opened(database_url) as hf,
        opened(database_url, secret="another secret of the tests") as other,
    ):
        ann = await booked(hf)
        assert isinstance(await other.booking(ann.edit_token), Refusal)
        assert granted(await other.booking(ann.id)).id == ann.id


async def test_no_token_stands_in_the_database(hf: Fairhold, database_url: str) -> None:
    granted(await hf.create_pool("gig", preset="class_waitlist", quotas={"main": 1}))
    ann = granted(await hf.book("gig", "ann", idempotency_key="k"))
    bea = granted(await hf.book("gig", "bea", idempotency_key="l"))
    granted(await hf.cancel(ann.id, idempotency_key="m"))
    offered = granted(await hf.booking(bea.id, secret=True))
    assert offered.offer is not None
    text = str(await dump(database_url))
    for token in (ann.edit_token, bea.edit_token, offered.offer.token):
        assert token is not None
        assert token[BOOKING_LENGTH:] not in text
        assert token.rpartition(".")[2] not in text
    assert SECRET not in text
