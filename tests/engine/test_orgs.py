"""Another org on the same database sees nothing of ours, and can do nothing to it."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator
from typing import Any

import pytest

from fairhold import Fairhold, Refusal, granted
from tests.database import dump, opened


@pytest.fixture
async def ours(database_url: str) -> AsyncIterator[Fairhold]:
    async with opened(database_url) as hf:
        granted(await hf.create_pool("gig", preset="class_waitlist", quotas={"main": 1}))
        yield hf


@pytest.fixture
async def theirs(ours: Fairhold, database_url: str) -> AsyncIterator[Fairhold]:
    async with opened(database_url, org="theirs") as hf:
        yield hf


async def test_no_method_reaches_into_another_org(
    ours: Fairhold, theirs: Fairhold, database_url: str
) -> None:
    pool = granted(await ours.pool("gig"))
    olga = granted(await ours.book("gig", "olga"))
    ann = granted(await ours.book("gig", "ann"))
    bea = granted(await ours.book("gig", "bea"))
    granted(await ours.cancel(olga.id))
    offer = granted(await ours.booking(ann.id, secret=True)).offer
    assert offer is not None
    bookings = [ann.id, bea.id, ann.reference, ann.edit_token]
    names: dict[str, list[Any]] = {
        "pool": [pool.id, pool.key],
        "booking": bookings,
        "token": [offer.token],
        "token_or_booking": [offer.token, *bookings],
    }
    values = {"party": "eve", "units": ["a"], "label": "a", "opening": 1, "action": "free"}
    values["state"] = "held"
    values["text"] = "party_id\nann\n"
    messages = [it.id for it in granted(await ours.messages("gig"))]
    webhook = granted(await ours.add_webhook("https://example.org"))
    names |= {"message": messages, "webhook": [webhook.id]}
    values["message"] = messages[0]
    granted(await ours.add_staff_contact("email", "desk@example.org"))
    granted(await ours.set_template("offer", "en", "subject", "Ours"))
    before, asked = await dump(database_url), set()
    for name, method in inspect.getmembers(theirs, inspect.iscoroutinefunction):
        wanted = list(inspect.signature(method).parameters.values())
        if name.startswith("_") or not wanted or wanted[0].name not in names:
            continue
        needed = [p.name for p in wanted[1:] if p.default is p.empty and p.kind is not p.VAR_KEYWORD]
        for given in names[wanted[0].name]:
            answer = await method(given, *[values[parameter] for parameter in needed])
            if name == "remove_webhook":
                assert answer is False
                continue
            assert isinstance(answer, Refusal), name
            assert answer.code == "unknown"
            asked.add(name)
    assert len(asked) >= 20
    assert await theirs.pools() == []
    # What is asked for several at once finds none of ours; nor does a search.
    bookings = [it.id for it in granted(await ours.bookings("gig"))]
    assert len(await ours.bookings_by_id(bookings)) == len(bookings) > 0
    assert len(await ours.fates(messages)) == len(messages) > 0
    assert await theirs.bookings_by_id(bookings) == {}
    assert await theirs.fates(messages) == await theirs.find(bookings[0]) == await theirs.find("a") == []
    assert await theirs.webhooks() == await theirs.staff_contacts() == await theirs.templates() == []
    assert isinstance(await theirs.tick(pool.id), Refusal)
    assert await dump(database_url) == before
    assert granted(await ours.claim(offer.token)).state == "confirmed"


async def test_moving_behind_somebody_of_another_org_or_pool_is_refused(
    ours: Fairhold, theirs: Fairhold
) -> None:
    """The number of a booking means nothing outside its own pool."""
    granted(await theirs.create_pool("gig", preset="class_waitlist", quotas={"main": 0}))
    granted(await ours.create_pool("other", preset="class_waitlist", quotas={"main": 0}))
    granted(await ours.change_pool("gig", sizes={"main": 0}))
    mine = [granted(await ours.book("gig", f"party {n}")) for n in range(3)]
    abroad = [granted(await theirs.book("gig", f"party {n}")) for n in range(3)]
    elsewhere = [granted(await ours.book("other", f"party {n}")) for n in range(3)]
    for other in (abroad[1], elsewhere[1]):
        answer = await ours.move(mine[0].id, after=other.id)
        assert isinstance(answer, Refusal)
        assert answer.code == "unknown"
    assert [b.id for b in granted(await ours.line("gig"))] == [b.id for b in mine]


async def test_orgs_may_use_the_same_keys(ours: Fairhold, theirs: Fairhold) -> None:
    mine = granted(await ours.book("gig", "ann", idempotency_key="once"))
    granted(await theirs.create_pool("gig", preset="checkout", quotas={"main": 7}))
    other = granted(await theirs.book("gig", "ann", idempotency_key="once"))
    assert mine.id != other.id
    assert mine.pool != other.pool
    assert granted(await theirs.room("gig")) == {"main": 6}
    assert [pool.org for pool in await theirs.pools()] == ["theirs"]
    assert [pool.org for pool in await ours.pools()] == ["default"]


async def test_one_open_database_serves_many_orgs(ours: Fairhold) -> None:
    """A view of another org shares the lane and the ticker, and nothing that was looked up."""
    mine = granted(await ours.book("gig", "ann"))
    theirs = ours.for_org("theirs")
    assert theirs.engine is ours.engine
    for answer in (await theirs.pool("gig"), await theirs.booking(mine.id), await theirs.cancel(mine.id)):
        assert isinstance(answer, Refusal)
        assert answer.code == "unknown"
    granted(await theirs.create_pool("gig", preset="checkout", quotas={"main": 7}))
    assert granted(await theirs.room("gig")) == {"main": 7}
    assert granted(await ours.room("gig")) == {"main": 0}
    assert ours.org == "default"


async def test_one_ticker_serves_the_whole_database(ours: Fairhold, theirs: Fairhold) -> None:
    """Time passes for everybody: what is due in one org is done by whoever is awake."""
    mine = granted(await ours.book("gig", "ann"))
    await theirs.advance(seconds=15 * 60)
    assert granted(await ours.booking(mine.id)).state == "expired"
