"""Boundaries, and to which side of each the value itself belongs."""

from __future__ import annotations

import pytest

from fairhold.core import commands as c
from fairhold.core.model import Quota, Unit, Wants
from fairhold.core.room import suits
from tests.core.world import one_seat

NINE, TEN, ELEVEN = 9 * 3_600_000, 10 * 3_600_000, 11 * 3_600_000


@pytest.mark.parametrize(
    ("starts_at", "is_wanted"), [(NINE, False), (TEN, True), (ELEVEN, True), (None, False)]
)
def test_a_unit_that_starts_at_the_first_instant_that_is_wanted_is_wanted(
    starts_at: int | None, is_wanted: bool
) -> None:
    assert suits(Wants(from_at=TEN), Unit("12A", "main", 1, starts_at)) is is_wanted


@pytest.mark.parametrize(
    ("starts_at", "is_wanted"), [(NINE, True), (TEN, True), (ELEVEN, False), (None, False)]
)
def test_a_unit_that_starts_at_the_last_instant_that_is_wanted_is_wanted(
    starts_at: int | None, is_wanted: bool
) -> None:
    assert suits(Wants(until_at=TEN), Unit("12A", "main", 1, starts_at)) is is_wanted


@pytest.mark.parametrize("key", ["", "q" * 101])
def test_a_quota_has_a_key_of_one_to_a_hundred_characters(key: str) -> None:
    world = one_seat()
    assert world.refused(c.ChangePool({"quotas": (Quota("main", size=1), Quota(key, size=1))})) == "invalid"
    longest = (Quota("main", size=1), Quota("q" * 100, size=1))
    assert world.do(c.ChangePool({"quotas": longest})).view.pool.quotas == longest
