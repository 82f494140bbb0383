"""An answer is kept under its key in few words, and told again in full."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from fairhold import granted
from fairhold.answers import decode_answer, encode_answer, of_row
from fairhold.core import model
from fairhold.core.model import Party, Price
from fairhold.shapes import Booking, Wanted, total_of
from tests.database import opened

NOW = datetime(2026, 3, 7, 14, tzinfo=UTC)
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=20)
PARTIES = st.builds(
    Party,
    TEXT.filter(bool),
    TEXT,
    st.dictionaries(TEXT, TEXT, max_size=2),
    st.lists(TEXT, max_size=2).map(tuple),
    st.dictionaries(TEXT, st.integers(-9, 9) | TEXT, max_size=2),
)
PRICES = st.none() | st.builds(Price, st.integers(0, 10**6), st.just("EUR"))


def hold(party: Party, quantity: int, price: Price | None, window_ms: int) -> Booking:
    """A hold as it is answered when it is made."""
    return Booking(
        id="b0123456789abck7pm2x",
        reference="K7PM2X",
        pool="p0123456789abc",
        quota="main",
        party=party,
        quantity=quantity,
        units=("A1",) * quantity,
        state="held",
        position=None,
        ahead=None,
        attempts=0,
        round=0,
        offered_at=None,
        expires_at=NOW + timedelta(milliseconds=window_ms),
        seconds_left=-(-window_ms // 1000),
        confirmed_at=None,
        price=price,
        total=total_of(price, quantity),
        placement="quota",
        answers={},
        created_at=NOW,
        updated_at=NOW,
    )


def row_of(booking: Booking) -> model.Booking:
    """What of an answer stands in the booking's row alone."""
    return model.Booking(1, booking.reference, booking.party, booking.quota, 1, booking.state, 1, 1)


def decoded(text: str) -> Booking:
    answer = decode_answer(text)
    assert isinstance(answer, Booking)
    return answer


@given(PARTIES, st.integers(1, 3), PRICES, st.integers(0, 10**7))
def test_a_new_hold_is_told_again_as_it_was(
    party: Party, quantity: int, price: Price | None, window_ms: int
) -> None:
    made = hold(party, quantity, price, window_ms)
    text = encode_answer(made)
    assert text.startswith("held ")
    assert of_row(decoded(text), row_of(made)) == made


@given(PARTIES, st.integers(1, 9))
def test_a_hold_that_was_waited_for_is_told_again_too(party: Party, position: int) -> None:
    """What only looks like a new hold is kept in full."""
    promoted = replace(hold(party, 1, None, 1_000), position=position)
    extended = replace(hold(party, 1, None, 1_000), updated_at=NOW + timedelta(seconds=1))
    asked = replace(hold(party, 1, None, 1_000), offered_at=NOW)
    rest = replace(hold(party, 1, None, 1_000), split_from="b0123456789abc234567")
    for booking in (promoted, extended, asked, rest):
        assert of_row(decoded(encode_answer(booking)), row_of(booking)) == booking


def test_what_is_kept_is_short() -> None:
    assert len(encode_answer(hold(Party("ann"), 1, None, 900_000))) < 160


def test_what_is_kept_names_nobody() -> None:
    """Else each of them would have to be looked for when a person is forgotten."""
    ann = Party("ann-7", "Ann", {"email": "ann@example.org"}, ("member",), {"age": 31})
    wants = Wanted({"attribute": "beside", "is": "Ann"})
    new = replace(hold(ann, 1, None, 1_000), answers={"diet": "vegan"}, wants=wants)
    for booking in (new, replace(new, position=3)):
        text = encode_answer(booking).lower()
        assert not [word for word in ("ann", "example", "member", "31", "vegan") if word in text]


async def test_who_asks_again_is_told_who_booked(database_url: str) -> None:
    """By another node, which has nothing but the key and the booking's row."""
    ann = {"id": "ann", "name": "Ann", "contacts": {"email": "ann@example.org"}}
    async with opened(database_url) as here:
        granted(await here.create_pool("chair", preset="checkout", quotas={"main": 2}))
        held = granted(await here.book("chair", ann, idempotency_key="a"))
        confirmed = granted(await here.confirm(held.id, idempotency_key="b"))
        granted(await here.book("chair", "bea", idempotency_key="c"))
    async with opened(database_url) as there:
        asked = [
            there.book("chair", ann, idempotency_key="a"),
            there.confirm(held.id, idempotency_key="b"),
            there.book("chair", "bea", idempotency_key="c"),
        ]
        again = [granted(it) for it in await asyncio.gather(*asked)]
    assert again[:2] == [held, confirmed]
    assert [it.party.name or it.party.id for it in again] == ["Ann", "Ann", "bea"]


async def test_a_hold_for_which_time_has_passed_is_kept_as_it_was_answered(database_url: str) -> None:
    """One that was put back may look like a new one in all but that."""
    async with opened(database_url) as hf:
        granted(await hf.create_pool("chair", preset="checkout", quotas={"main": 1}))
        held = granted(await hf.book("chair", "Ann"))
    assert held.seconds_left is not None
    later = replace(held, seconds_left=held.seconds_left - 60, edit_token=None)
    assert of_row(decoded(encode_answer(later)), row_of(later)) == later
