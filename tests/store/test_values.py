"""What people are called, and what programs send: kept as it is, or refused by the field, never bent."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import asyncpg
import pytest

from fairhold import Fairhold, Party, Price, Refusal, Wants, granted
from tests.database import dump, opened

TEXTS = {
    "emoji": "Zoë 👩🏽‍🚀🇫🇮 ✈",
    "right to left": "\u202bשלום مرحبا\u202c",
    "sql": "Robert'); DROP TABLE fairhold_bookings;-- $1 ?1 {booking} %s",
    "500 characters": "ж" * 500,
    "json": '{"a": [1, "\\u0000"]}\\',
    "white space": " \t two\nlines\r\n ",
    "control": "\x1e\x1d|\x1d\x1e\x01",
    "a control character alone": "\x1d",
    "highest": "\U0010ffff\ufeff\u0301",
}
NOT_TEXTS = {"nul": "An\x00n", "lone surrogate": "An\ud800n", "too long": "x" * 501, "number": 7}


@pytest.fixture
async def hf(database_url: str) -> AsyncIterator[Fairhold]:
    async with opened(database_url) as hf:
        granted(await hf.create_pool("chair", preset="class_waitlist", quotas={"main": 1}))
        yield hf


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
async def test_text_is_kept_as_it_is(hf: Fairhold, text: str) -> None:
    party = Party(text, text, {"note": text}, (text,), {"said": text, text[:20]: [text, {"deep": None}]})
    made = granted(await hf.book("chair", party, idempotency_key=text[:255]))
    assert made.party == party
    assert granted(await hf.booking(made.id)).party == party
    assert granted(await hf.book("chair", party, idempotency_key=text[:255])) == made
    assert [b.id for b in granted(await hf.bookings("chair", party=text))] == [made.id]
    granted(await hf.cancel(made.id, why=text, by=f"staff:{text[:50]}"))
    entry = granted(await hf.log("chair"))[-1]
    assert (entry.facts["why"], entry.by) == (text, f"staff:{text[:50]}")


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
async def test_pools_and_units_keep_their_texts_too(hf: Fairhold, text: str) -> None:
    short, units = text[:100], [{"label": text[:100], "attributes": {"view": text}}]
    made = granted(
        await hf.create_pool(
            "seats",
            title=text,
            quotas=[{"key": short, "title": text, "units": units}],
            attributes={"a": text},
        )
    )
    assert (made.title, made.quotas[0].key, made.quotas[0].title) == (text, short, text)
    assert granted(await hf.pool("seats")) == made
    assert granted(await hf.book("seats", "ann", units=[short], quota=short)).units == (short,)
    assert granted(await hf.room("seats")) == {short: 0}


@pytest.mark.parametrize("text", NOT_TEXTS.values(), ids=NOT_TEXTS)
async def test_what_no_database_can_keep_is_refused_by_its_field(
    hf: Fairhold, database_url: str, text: Any
) -> None:
    before = await dump(database_url)
    by_field = {
        "party.id": hf.book("chair", {"id": text}),
        "party.name": hf.book("chair", {"id": "ann", "name": text}),
        "party.contacts.email": hf.book("chair", {"id": "ann", "contacts": {"email": text}}),
        "party.tags": hf.book("chair", {"id": "ann", "tags": [text]}),
        "title": hf.create_pool("other", title=text, quotas={"main": 1}),
        "quotas[0].key": hf.create_pool("other", quotas=[{"key": text, "size": 1}]),
        "key": hf.create_pool(text, quotas={"main": 1}),
        "units[0].label": hf.add_units("chair", [{"label": text, "quota": "main"}]),
        "idempotency_key": hf.book("chair", "ann", idempotency_key=text),
        "quota": hf.book("chair", "ann", quota=text),
        "by": hf.book("chair", "ann", by=text),
        "why": hf.change_pool("chair", title="x", why=text),
    }
    for field, asked in by_field.items():
        answer = await asked
        assert isinstance(answer, Refusal), field
        assert (answer.code, answer.field) == ("invalid", field)
    assert await dump(database_url) == before


@pytest.mark.parametrize("name", ["An\x00n", "An\ud800n", "", "nobody", "b" * 22, "." * 60, "a.b", "é.ü"])
async def test_a_name_of_nothing_is_simply_unknown(hf: Fairhold, name: str) -> None:
    for answer in (
        await hf.pool(name),
        await hf.booking(name),
        await hf.position(name),
        await hf.cancel(name),
        await hf.claim(name),
        await hf.decline(name),
        await hf.line(name),
        await hf.book(name, "ann"),
    ):
        assert isinstance(answer, Refusal)
        assert answer.code == "unknown"


@pytest.mark.parametrize("quantity", [0, -1, 1.5, "2", True, 2**31, 2**63, float("nan"), None, [1]])
async def test_a_quantity_is_a_whole_number_of_seats(hf: Fairhold, database_url: str, quantity: Any) -> None:
    """What is no whole number is refused."""
    held = granted(await hf.book("chair", "olga"))
    waiting = granted(await hf.book("chair", "ann", 2))
    granted(await hf.cancel(held.id))
    token = granted(await hf.booking(waiting.id, secret=True)).offer.token  # type: ignore[union-attr]
    before = await dump(database_url)
    answers = [await hf.book("chair", "bea", quantity, idempotency_key="once")]
    answers.append(await hf.dry_run(lambda dry: dry.book("chair", "bea", quantity)))
    if quantity is not None:
        answers.append(await hf.claim(token, quantity, idempotency_key="twice"))
    for answer in answers:
        assert isinstance(answer, Refusal)
        assert (answer.code, answer.field, answer.status) == ("invalid", "quantity", 422)
    assert await dump(database_url) == before


@pytest.mark.parametrize("size", [-1, 1.5, "2", True, 2**31, 2**63, float("nan"), [1]])
async def test_a_size_is_a_whole_number_too(hf: Fairhold, database_url: str, size: Any) -> None:
    before = await dump(database_url)
    asked = [
        hf.create_pool("other", quotas=[{"key": "main", "size": size}]),
        hf.create_pool("other", quotas={"main": 1}, open_size=size),
        hf.change_pool("chair", sizes={"main": size}),
        hf.change_pool("chair", open_size=size),
        hf.change_pool("chair", policy={"quantity_max": size}),
    ]
    if size != 2**31:
        asked.append(hf.change_pool("chair", price={"amount": size, "currency": "EUR"}))
        asked.append(hf.fill("chair", size))  # type: ignore[arg-type]
    for answer in [await one for one in asked]:
        assert isinstance(answer, Refusal)
        assert answer.code == "invalid"
    assert await dump(database_url) == before


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    "value",
    [
        float("nan"),
        float("inf"),
        2**53,
        2**70,
        b"bytes",
        {1: 2},
        {"a": object()},
        nested(20),
        list(range(2000)),
    ],
)
async def test_attributes_are_plain_data(hf: Fairhold, database_url: str, value: Any) -> None:
    """What cannot be kept is refused."""
    before = await dump(database_url)
    answer = await hf.book("chair", {"id": "ann", "attributes": {"a": value}})
    assert isinstance(answer, Refusal)
    assert answer.code == "invalid"
    assert (answer.field or "").startswith("party.attributes")
    assert await dump(database_url) == before


async def test_numbers_keep_their_bounds_and_their_kind(hf: Fairhold) -> None:
    attributes = {
        "least": -(2**53) + 1,
        "most": 2**53 - 1,
        "half": 0.5,
        "yes": True,
        "no": None,
        "list": [1, "1"],
    }
    made = granted(await hf.book("chair", {"id": "ann", "attributes": attributes}))
    kept = granted(await hf.booking(made.id)).party.attributes
    assert kept == attributes
    assert kept["yes"] is True
    priced = granted(await hf.change_pool("chair", price=Price(10**12, "EUR")))
    assert priced.price == Price(10**12, "EUR")


async def test_an_instant_needs_a_time_zone_and_keeps_its_millisecond(hf: Fairhold) -> None:
    for wrong in ("2027-01-01T10:00", "tomorrow", 7, datetime(2027, 1, 1)):  # noqa: DTZ001
        answer = await hf.change_pool("chair", starts_at=wrong)
        assert isinstance(answer, Refusal)
        assert (answer.code, answer.field) == ("invalid", "starts_at")
    at = datetime(2027, 10, 31, 1, 30, 0, 123_000, tzinfo=UTC)
    assert granted(await hf.change_pool("chair", starts_at=at)).starts_at == at
    assert granted(await hf.pool("chair")).starts_at == at


async def test_wants_are_checked_however_they_are_given(hf: Fairhold, database_url: str) -> None:
    granted(await hf.create_pool("seats", preset="last_minute", quotas={"main": ["a"]}))
    before = await dump(database_url)
    for wants in (
        Wants({"colour": "red"}),
        {"attributes": {"colour": "red"}},
        {"from_at": "soon"},
        {"colour": "red"},
        Wants(None, "soon"),  # type: ignore[arg-type]
        Wants(None, None, 2**70),
    ):
        answer = await hf.book("seats", "ann", wants=wants)
        assert isinstance(answer, Refusal), wants
        assert answer.code == "invalid"
        assert (answer.field or "").startswith("wants")
    assert await dump(database_url) == before


async def test_who_asks_what_cannot_be_asked_leaves_nothing_behind(hf: Fairhold) -> None:
    """The next who gets the same connection reads as of one moment of their own."""
    with pytest.raises((asyncpg.DataError, UnicodeEncodeError)):
        await hf.store.reader().rows("pools_of_org", "\ud800")
    for _ in range(3):
        async with hf.store.snapshot() as seen:
            assert len(await seen.rows("pools_of_org", "default")) == 1
