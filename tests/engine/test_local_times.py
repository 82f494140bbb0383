"""A local time that does not exist, or that could mean two instants, is refused and never guessed."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from fairhold import Fairhold, Refusal, granted
from fairhold.inputs import Bad, local_instant
from fairhold.local_times import problem
from tests.database import opened

BERLIN = "Europe/Berlin"
GAP, FOLD = "2026-03-29T02:30", "2026-10-25T02:30"


@pytest.mark.parametrize(
    ("local", "zone"),
    [
        ("2026-03-29T02:00", BERLIN),
        ("2026-03-29T02:59", BERLIN),
        ("2026-03-08T02:30", "America/New_York"),
        ("2026-10-04T02:15", "Australia/Lord_Howe"),
        ("2011-12-30T12:00", "Pacific/Apia"),
    ],
)
def test_a_time_that_the_clocks_leap_over_does_not_exist(local: str, zone: str) -> None:
    found = problem(datetime.fromisoformat(local), ZoneInfo(zone))
    assert found == (
        f"{local} does not exist in {zone}: the clocks go forward then. Say an earlier or later time."
    )


@pytest.mark.parametrize(
    ("local", "zone", "ways"),
    [
        ("2026-10-25T02:00", BERLIN, "2026-10-25T02:00+02:00 or 2026-10-25T02:00+01:00"),
        ("2026-11-01T01:59", "America/New_York", "2026-11-01T01:59-04:00 or 2026-11-01T01:59-05:00"),
        ("2026-04-05T01:45", "Australia/Lord_Howe", "2026-04-05T01:45+11:00 or 2026-04-05T01:45+10:30"),
    ],
)
def test_a_time_that_is_there_twice_says_both_ways(local: str, zone: str, ways: str) -> None:
    found = problem(datetime.fromisoformat(local), ZoneInfo(zone))
    assert found == f"{local} is there twice in {zone}: the clocks go back then. Say which is meant: {ways}."


@pytest.mark.parametrize(
    "local", ["2026-03-29T01:59", "2026-03-29T03:00", "2026-10-25T01:59", "2026-10-25T03:00"]
)
def test_the_minutes_around_it_are_like_any_other(local: str) -> None:
    assert problem(datetime.fromisoformat(local), ZoneInfo(BERLIN)) is None


def test_a_time_with_an_offset_is_taken_as_it_is() -> None:
    for text in (f"{GAP}+01:00", f"{FOLD}+02:00", f"{FOLD}+01:00", f"{FOLD}Z"):
        assert local_instant(text, BERLIN, "starts_at") == datetime.fromisoformat(text)
    assert local_instant("2026-07-01T12:00", BERLIN, "starts_at") == datetime.fromisoformat(
        "2026-07-01T10:00Z"
    )


@pytest.mark.parametrize(
    ("value", "zone", "field"),
    [
        (GAP, BERLIN, "starts_at"),
        (FOLD, BERLIN, "starts_at"),
        ("soon", BERLIN, "starts_at"),
        (5, BERLIN, "starts_at"),
        ("2026-07-01T12:00", "Mars/X", "time_zone"),
        ("2026-07-01T12:00", "../etc/passwd", "time_zone"),
        ("2026-07-01T12:00", 5, "time_zone"),
    ],
)
def test_what_names_no_instant_is_refused_by_its_field(value: Any, zone: Any, field: str) -> None:
    with pytest.raises(Bad) as bad:
        local_instant(value, zone, "starts_at")
    assert (bad.value.refusal.code, bad.value.refusal.field) == ("invalid", field)


async def test_the_library_refuses_a_zoned_time_that_does_not_exist(database_url: str) -> None:
    zone = ZoneInfo(BERLIN)

    async def make(hf: Fairhold, key: str, moment: datetime) -> Any:
        return await hf.create_pool(key, preset="checkout", quotas={"main": 1}, starts_at=moment)

    async with opened(database_url) as hf:
        refused = await make(hf, "gap", datetime.fromisoformat(GAP).replace(tzinfo=zone))
        assert isinstance(refused, Refusal)
        assert (refused.code, refused.field) == ("invalid", "starts_at")
        assert "does not exist in Europe/Berlin" in refused.sentence
        assert (
            await make(hf, "far", datetime.max.replace(tzinfo=ZoneInfo("America/New_York")))
        ).field == "starts_at"
        fold = datetime.fromisoformat(FOLD).replace(tzinfo=zone)
        first, second = [granted(await make(hf, f"fold-{n}", fold.replace(fold=n))) for n in (0, 1)]
        assert [str(it.starts_at) for it in (first, second)] == [
            "2026-10-25 00:30:00+00:00",
            "2026-10-25 01:30:00+00:00",
        ]
