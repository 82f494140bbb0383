"""Times, lengths and tables as people read them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
import typer

from fairhold.cli import options
from fairhold.cli.words import Times, columns, count, hanging, length, listed, price, width_of
from fairhold.core.model import Price

NOW = datetime(2026, 3, 7, 14, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0, "0 s"),
        (45, "45 s"),
        (90, "1 min 30 s"),
        (600, "10 min"),
        (899, "14 min"),
        (900, "15 min"),
        (5400, "1 h 30 min"),
        (86_400, "24 h"),
        (3 * 86_400 + 7200, "3 d 2 h"),
        (-5, "0 s"),
    ],
)
def test_lengths(seconds: int, said: str) -> None:
    assert length(seconds) == said


@pytest.mark.parametrize(
    ("at", "said"),
    [
        (NOW + timedelta(minutes=32), "14:32 UTC"),
        (NOW + timedelta(days=2), "Mon 14:00 UTC"),
        (NOW + timedelta(days=30), "Mon 6 Apr 14:00 UTC"),
        (NOW + timedelta(days=365), "Sun 7 Mar 2027 14:00 UTC"),
        (NOW - timedelta(days=1), "Fri 14:00 UTC"),
    ],
)
def test_moments_are_as_short_as_they_can_be(at: datetime, said: str) -> None:
    assert Times("UTC", NOW).moment(at) == said


def test_moments_are_in_the_pools_time_zone() -> None:
    assert Times("Europe/Berlin", NOW).moment(NOW) == "15:00 CET"


def test_a_part_of_a_second_that_is_left_counts_as_one() -> None:
    times = Times("UTC", NOW)
    assert times.left(NOW + timedelta(seconds=899, milliseconds=1)) == "15 min left"
    assert times.left(NOW) == "time is over"


def test_prices_have_the_decimals_of_their_currency() -> None:
    assert price(Price(15_000, "EUR")) == "150.00 EUR"
    assert price(Price(15_000, "JPY"), 2) == "30,000 JPY"
    assert price({"amount": 1500, "currency": "KWD"}) == "1.500 KWD"
    assert options.price("150EUR") == {"amount": 15_000, "currency": "EUR"}
    assert options.price("150.5EUR") == {"amount": 15_050, "currency": "EUR"}
    assert options.price("150JPY") == {"amount": 150, "currency": "JPY"}


def test_lengths_are_read() -> None:
    assert [options.seconds(text, "x") for text in ("90s", "15m", "24h", "2d", "1h30m")] == [
        90,
        900,
        86_400,
        172_800,
        5400,
    ]


@pytest.mark.parametrize("written", ["", "90", "1h30", "1h 30m", "m"])
def test_what_is_no_length_is_refused(written: str) -> None:
    with pytest.raises(typer.BadParameter, match="is no length"):
        options.seconds(written, "x")


def test_columns_are_aligned_and_empty_ones_left_out() -> None:
    rows = [("Ann", "", 1), ("Bea-Lou", "", 10), ("山田", None, 2)]
    assert columns(rows, right=[2]).splitlines() == ["Ann       1", "Bea-Lou  10", "山田      2"]
    assert columns([]) == ""


def test_long_texts_hang_behind_their_opening() -> None:
    told = hanging("  Sat 10:00  ", "one two three four", 20)
    assert told.splitlines() == ["  Sat 10:00  one two", "             three", "             four"]
    assert width_of("\x1b[31mred\x1b[0m") == 3


def test_small_words() -> None:
    assert listed(["Ann", "Bea", "Cyd"]) == "Ann, Bea and Cyd"
    assert listed([]) == ""
    assert (count(1, "seat"), count(2_000, "seat")) == ("1 seat", "2,000 seats")
