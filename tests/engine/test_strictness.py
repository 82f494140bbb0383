"""What is not what it should be is refused before anything happens; changes at once are all made."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import pytest

from fairhold import Fairhold, Refusal, TestClock, granted
from fairhold.core.policy import Policy
from fairhold.engine.limits import Source
from tests.verified import assert_verified


@pytest.fixture
async def hf(database_url: str) -> AsyncIterator[Fairhold]:
    async with Fairhold.open(database_url) as hf:
        granted(await hf.create_pool("p", preset="class_waitlist", quotas={"m": 2}))
        yield hf
    await assert_verified(database_url)


@pytest.mark.parametrize(
    ("field", "call"),
    [
        ("confirmed", lambda hf, ann: hf.book("p", "bea", confirmed="yes")),
        ("allow_demotion", lambda hf, ann: hf.change_pool("p", sizes={"m": 0}, allow_demotion="no")),
        ("why", lambda hf, ann: hf.cancel(ann, why=None)),
        ("why", lambda hf, ann: hf.change_pool("p", title="x", why=None)),
        ("by", lambda hf, ann: hf.cancel(ann, by=None)),
        ("policy.if_full", lambda hf, ann: hf.change_pool("p", policy=Policy(if_full="nonsense"))),
    ],
)
async def test_words_are_text_and_flags_are_flags(hf: Fairhold, field: str, call: Any) -> None:
    ann = granted(await hf.book("p", "ann"))
    refused = await call(hf, ann.id)
    assert isinstance(refused, Refusal)
    assert (refused.code, refused.field) == ("invalid", field)
    assert len(granted(await hf.log("p"))) == 2


async def test_changes_of_a_policy_at_once_are_all_made(hf: Fairhold) -> None:
    changes = ({"attempts_max": 7}, {"cooldown": "1h"}, {"offer_window": "2h"})
    await asyncio.gather(*(hf.change_pool("p", policy=change) for change in changes))
    policy = granted(await hf.pool("p")).policy
    assert (policy["attempts_max"], policy["cooldown"], policy["offer_window"]) == (7, 3600, 7200)


async def test_units_are_opened_by_their_own_command(hf: Fairhold) -> None:
    granted(await hf.create_pool("seats", preset="checkout", quotas={"m": ["A"]}))
    refused = await hf.change_pool("seats", quotas=[{"key": "m", "units": ["A", "B"]}])
    assert isinstance(refused, Refusal)
    assert refused.field == "quotas"


async def test_a_quota_with_seats_set_aside_stays(hf: Fairhold) -> None:
    granted(await hf.create_pool("two", preset="last_minute", quotas={"a": 1, "b": 1}))
    olga = granted(await hf.book("two", "olga", quota="b"))
    ann = granted(await hf.book("two", "ann", quota="b"))
    granted(await hf.cancel(olga.id))
    granted(await hf.decline(ann.id))
    granted(await hf.cancel(ann.id))
    assert [it.state for it in granted(await hf.openings("two"))] == ["handed_back"]
    refused = await hf.change_pool("two", quotas={"a": 1})
    assert isinstance(refused, Refusal)
    assert refused.field == "quotas"


NONSENSE: list[Any] = [-1, 0, 1.5, True, "5", None, 2**31, float("nan")]


@pytest.mark.parametrize("limit", NONSENSE)
async def test_a_limit_is_a_whole_number_from_one_up(hf: Fairhold, limit: Any) -> None:
    for read in (hf.pools, *(partial(it, "p") for it in (hf.bookings, hf.line, hf.log, hf.messages))):
        refused = await read(limit=limit)
        assert isinstance(refused, Refusal), read
        assert (refused.code, refused.field) == ("invalid", "limit")


async def test_a_cursor_is_what_it_says(hf: Fairhold) -> None:
    ann = granted(await hf.book("p", "ann"))
    granted(await hf.create_pool("other", preset="checkout", quotas={"m": 2}))
    calls: list[Any] = [hf.pools(after=after) for after in ("nope", "p", 5, b"x")]
    calls += [hf.bookings("p", after=after) for after in ("nope", -1, 1.0, None, True)]
    calls += [hf.bookings("other", after=ann.id)]
    calls += [hf.line("p", after=after) for after in ("1", -1, True, None)]
    calls += [hf.log("p", after=after) for after in ("1", -1, 2**63)]
    calls += [hf.messages("p", after=after) for after in ("nope", 5, "p-1-1")]
    for answer in await asyncio.gather(*calls):
        assert isinstance(answer, Refusal)
        assert (answer.code, answer.field) == ("invalid", "after")


@pytest.mark.parametrize("state", ["nonsense", "Held", "", 5, ["held"]])
async def test_a_state_that_is_none_is_refused_and_the_states_are_named(hf: Fairhold, state: Any) -> None:
    refused = await hf.bookings("p", state=state)
    assert isinstance(refused, Refusal)
    assert (refused.code, refused.field) == ("invalid", "state")
    assert "waiting, offered, held, confirmed" in refused.sentence


async def test_messages_come_page_by_page(hf: Fairhold) -> None:
    for who in ("ann", "bea", "cyd", "dan"):
        granted(await hf.book("p", who))
    everything = granted(await hf.messages("p"))
    assert len(everything) >= 2
    assert granted(await hf.messages("p", after=everything[0].id)) == everything[1:]
    assert granted(await hf.messages("p", after=everything[-1].id)) == []


@pytest.mark.parametrize("pool", ["nope", "", 5, b"p", ["p"]])
async def test_a_tick_of_a_pool_that_is_none_is_refused(hf: Fairhold, pool: Any) -> None:
    refused = await hf.tick(pool)
    assert isinstance(refused, Refusal)
    assert refused.code == "unknown"


async def test_time_moves_by_numbers_of_seconds_and_on_a_test_clock_alone(database_url: str) -> None:
    async with Fairhold.open(database_url, clock=TestClock(1_800_000_000_000)) as hf:
        for wrong in (-1, "5", True, float("nan"), float("inf"), None):
            refused = await hf.advance(seconds=wrong)  # type: ignore[arg-type]
            assert isinstance(refused, Refusal)
            assert (refused.code, refused.field) == ("invalid", "seconds")
        for wrong in ("tomorrow", "2027-01-15T09:00", -5, True, 1.5):
            refused = await hf.advance(wrong)  # type: ignore[arg-type]
            assert isinstance(refused, Refusal)
            assert (refused.code, refused.field) == ("invalid", "to")
        assert hf.clock.now() == 1_800_000_000_000
        assert await hf.advance("2027-01-15T09:00Z") is None
        assert hf.clock.now() == 1_800_003_600_000
    async with Fairhold.open(database_url, ticker=False) as hf:
        refused = await hf.advance(seconds=5)
        assert isinstance(refused, Refusal)
        assert refused.code == "not_possible"


@pytest.mark.parametrize(
    ("field", "call"),
    [
        ("sizes", lambda hf: hf.change_pool("p", sizes=[5])),
        ("sizes.m", lambda hf: hf.change_pool("p", sizes={"m": "5"})),
        ("dry_run", lambda hf: hf.change_pool("p", title="x", dry_run="no")),
        ("units", lambda hf: hf.create_pool("q", quotas={"m": []}, units="ab")),
        ("units", lambda hf: hf.create_pool("q", quotas={"m": []}, units=None)),
        ("units", lambda hf: hf.add_units("p", "ab")),
        ("units", lambda hf: hf.add_units("p", None)),
        ("secret", lambda hf: hf.booking("K7PM2X", secret="yes")),
        ("idempotency_key", lambda hf: hf.fill("p", idempotency_key=5)),
        ("idempotency_key", lambda hf: hf.fill("p", idempotency_key="")),
    ],
)
async def test_what_is_of_the_wrong_kind_is_refused_by_its_field(hf: Fairhold, field: str, call: Any) -> None:
    refused = await call(hf)
    assert isinstance(refused, Refusal)
    assert (refused.code, refused.field) == ("invalid", field)
    assert len(granted(await hf.log("p"))) == 1


async def test_what_came_back_is_offered_by_its_number(hf: Fairhold) -> None:
    granted(await hf.create_pool("one", preset="last_minute", quotas={"a": 1}))
    olga, ann = granted(await hf.book("one", "olga")), granted(await hf.book("one", "ann"))
    granted(await hf.cancel(olga.id))
    granted(await hf.decline(ann.id))
    for wrong in (True, "1", -1, 2**63):
        refused = await hf.offer(ann.id, opening=wrong)  # type: ignore[arg-type]
        assert isinstance(refused, Refusal)
        assert refused.field == "opening"
    (opening,) = granted(await hf.openings("one"))
    assert granted(await hf.offer(ann.id, opening=opening.number)).state == "offered"


@pytest.mark.parametrize("name", [None, 5, b"b", ["p"], {}])
async def test_a_name_that_is_no_text_is_unknown(hf: Fairhold, name: Any) -> None:
    calls = (hf.confirm(name), hf.cancel(name), hf.decline(name), hf.claim(name), hf.book(name, "ann"))
    calls += (hf.booking(name), hf.pool(name), hf.explain(name), hf.position(name), hf.line(name))
    for answer in await asyncio.gather(*calls):
        assert isinstance(answer, Refusal)
        assert answer.code == "unknown"


async def test_an_accepted_part_came_when_its_booking_came(hf: Fairhold) -> None:
    """A smaller pool costs the latest arrival its place; that is not who was first and took a part."""
    olga = granted(await hf.book("p", "olga", 2))
    ann = granted(await hf.book("p", "ann", 2))
    granted(await hf.cancel(olga.id))
    offer = granted(await hf.booking(ann.id, secret=True)).offer
    assert offer is not None
    part = granted(await hf.claim(offer.token, 1))
    late = granted(await hf.change_pool("p", sizes={"m": 3}))
    assert late
    refused = await hf.change_pool("p", sizes={"m": 1})
    assert isinstance(refused, Refusal)
    assert part.id not in refused.facts["bookings"]


FIELDS: dict[str, tuple[str, Any]] = {
    "history": ("before", lambda hf, ann: hf.history("p", before=-5)),
    "newest_bookings": ("before", lambda hf, ann: hf.newest_bookings("p", before=-1)),
    "find": ("text", lambda hf, ann: hf.find("")),
    "extend": ("window_s", lambda hf, ann: hf.extend(ann, 10**9)),
    "the state of the newest": ("state", lambda hf, ann: hf.newest_bookings("p", state="bogus")),
    "a state without a deadline": ("state", lambda hf, ann: hf.next_to_end("p", "confirmed")),
    "dead_letters": ("limit", lambda hf, ann: hf.dead_letters(limit=-1)),
    "two sizes": ("sizes.m", lambda hf, ann: hf.change_pool("p", sizes={"m": 5}, quotas={"m": 7})),
}


@pytest.mark.parametrize(("field", "call"), FIELDS.values(), ids=FIELDS)
async def test_a_refusal_names_what_the_caller_has_said(hf: Fairhold, field: str, call: Any) -> None:
    ann = granted(await hf.book("p", "ann"))
    refused = await call(hf, ann.id)
    assert isinstance(refused, Refusal)
    assert (refused.code, refused.field) == ("invalid", field)
    assert refused.sentence.startswith(f"{field} must")
    assert len(granted(await hf.log("p"))) == 2


SENTENCES: dict[str, tuple[dict[str, Any], str, str]] = {
    "a name that is a number": (
        {"attributes": {1: 2}},
        "attributes",
        "The names in attributes must be text.",
    ),
    "a field that is a number": ({"policy": {5: 1}}, "policy", "The names in policy must be text."),
    "a currency of four letters": (
        {"price": {"amount": 1, "currency": "euro"}},
        "price.currency",
        "A currency is three capital letters, as in ISO 4217.",
    ),
    "a century": (
        {"policy": {"hold_window": "36500d"}},
        "policy.hold_window",
        "hold_window must be at most 3660 days.",
    ),
    "a century in seconds": (
        {"policy": {"hold_window": 36_500 * 86_400}},
        "policy.hold_window",
        "hold_window must be at most 3660 days.",
    ),
    "a huge number": (
        {"policy": {"offer_window": 10**30}},
        "policy.offer_window",
        f"policy.offer_window must be a number from {1 - 2**53} to {2**53 - 1}.",
    ),
    "no length": (
        {"policy": {"hold_window": -1}},
        "policy.hold_window",
        "hold_window must be a length: whole seconds, or text such as '15m' or '1h30m'.",
    ),
}


@pytest.mark.parametrize(("change", "field", "sentence"), SENTENCES.values(), ids=SENTENCES)
async def test_a_refusal_says_the_true_reason(
    hf: Fairhold, change: dict[str, Any], field: str, sentence: str
) -> None:
    assert await hf.change_pool("p", **change) == Refusal("invalid", sentence, field)


async def test_a_size_may_be_said_twice_if_it_is_the_same(hf: Fairhold) -> None:
    assert granted(await hf.change_pool("p", sizes={"m": 5}, quotas={"m": 5})).quotas[0].size == 5


async def test_a_test_clock_is_not_moved_back(database_url: str) -> None:
    async with Fairhold.open(database_url, clock=TestClock()) as hf:
        now = hf.clock.now()
        refused = await hf.advance(now - 1)
        assert isinstance(refused, Refusal)
        assert (refused.code, refused.field) == ("invalid", "to")
        assert await hf.advance(now) is None
        assert hf.clock.now() == now


@pytest.mark.parametrize("by", ["", "Staff", "admin", "rule", "clock", "outbox", "staff:", " staff", 5, None])
async def test_who_asks_is_the_party_or_staff_and_nobody_else(hf: Fairhold, by: Any) -> None:
    """Whoever else was named counted as not staff, and stood so in the log."""
    ann = granted(await hf.book("p", "ann")).id
    asked: list[Any] = [
        hf.book("p", "bea", by=by),
        hf.confirm(ann, by=by),
        hf.cancel(ann, by=by),
        hf.change_booking(ann, name="Ann", by=by),
        hf.create_pool("q", quotas={"m": 1}, by=by),
        hf.change_pool("p", title="x", by=by),
        hf.fill("p", by=by),
        hf.erase_person("ann", cancel=True, by=by),
        hf.set_retention(people_days=30, messages_days=30, by=by),
        hf.set_template("offer", "en", "subject", "A seat", by=by),
        hf.dismiss("m1", by=by),
    ]
    for call in asked:
        refused = await call
        assert isinstance(refused, Refusal)
        assert (refused.code, refused.field) == ("invalid", "by")
        assert refused.sentence == "by must be party, staff or staff:NAME."
    refused = await hf.import_csv("p", "party_id\nbea\n", by=by)
    assert isinstance(refused, Refusal) or refused.errors[0].field == "by"
    assert len(granted(await hf.log("p"))) == 2
    for good in ("party", "staff", "staff:Olga", "staff:desk 2"):
        assert granted(await hf.cancel(granted(await hf.book("p", "cyd", by=good)).id, by=good))


async def test_a_booking_is_named_by_text_and_what_is_none_is_not_repeated(hf: Fairhold) -> None:
    """A booking given in place of its id stood in the sentence, with its contacts and its edit token."""
    ann = granted(await hf.book("p", {"id": "ann", "name": "Ann", "contacts": {"email": "ann@example.org"}}))
    thing: Any = ann
    for asked in (
        hf.confirm(thing),
        hf.cancel(thing),
        hf.decline(thing),
        hf.extend(thing, 60),
        hf.change_booking(thing, name="Bea"),
        hf.move(thing),
        hf.move(ann.id, after=thing),
        hf.put_back(thing),
        hf.offer(thing),
        hf.booking(thing),
        hf.position(thing),
        hf.explain(thing),
    ):
        refused = await asked
        assert isinstance(refused, Refusal)
        assert (refused.code, refused.field) == ("unknown", "booking")
        assert refused.sentence == "There is no booking of the kind Booking here."
    refused = await hf.book(thing, "bea")
    assert isinstance(refused, Refusal)
    assert refused.sentence == "There is no pool of the kind Booking here."


@pytest.mark.parametrize("name", ["x" * 100_000, 10**10_000, -(10**10_000)], ids=["long", "large", "small"])
async def test_a_sentence_repeats_no_more_of_a_name_than_can_be_read(hf: Fairhold, name: Any) -> None:
    asked: list[Any] = [hf.pool(name), hf.book("p", "ann", quota=name), hf.book(name, "ann")]
    asked += [hf.booking(name), hf.export_person(name), hf.message(name), hf.webhook(name)]
    asked += [hf.book("p", {"id": "ann", "y" * 9_999: 1})]
    for call in asked:
        refused = await call
        assert isinstance(refused, Refusal)
        assert len(refused.sentence) < 200


async def test_what_is_no_source_and_what_are_no_words_is_refused(hf: Fairhold) -> None:
    wrong: Any
    for wrong in (
        5,
        "10.0.0.1",
        ("10.0.0.1", 1, 1),
        Source(5, 1, 1),
        Source("a", "1", 1),
        Source("a", 1, -1),
    ):
        refused = await hf.book("p", "ann", source=wrong)
        assert isinstance(refused, Refusal)
        assert (refused.code, refused.field) == ("invalid", "source")
    for wrong in (5, "subject", [("subject", "x")], {"subject": 5}, {5: "x"}):
        previewed = await hf.preview("offer", own=wrong)
        assert isinstance(previewed, Refusal)
        assert previewed.code == "invalid"
    assert granted(await hf.preview("offer", own={}))
