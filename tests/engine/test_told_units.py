"""Who loses a seat is told which one it was, though the booking has it no more."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from fairhold import Fairhold, granted
from tests.database import opened
from tests.verified import assert_verified


@pytest.fixture
async def hf(database_url: str) -> AsyncIterator[Fairhold]:
    async with opened(database_url) as hf:
        row = [{"key": "main", "units": ["13C", "13D", "13E"]}]
        granted(await hf.create_pool("row", preset="class_waitlist", quotas=row))
        yield hf
    await assert_verified(database_url)


async def told(hf: Fairhold, booking: str, kind: str) -> Any:
    return [it.facts["units"] for it in granted(await hf.messages_about(booking)) if it.kind == kind]


async def test_whoever_loses_a_seat_is_told_which(hf: Fairhold) -> None:
    ann = granted(await hf.book("row", "ann", units=["13C"]))
    bea = granted(await hf.book("row", "bea", units=["13D"]))
    eve = granted(await hf.book("row", "eve", units=["13E"]))
    granted(await hf.confirm(bea.id))
    dan = granted(await hf.book("row", "dan"))
    granted(await hf.cancel(ann.id))
    assert await told(hf, ann.id, "cancelled") == [["13C"]]
    # Eve's hold ends, and the offer to Dan.
    await hf.advance(seconds=24 * 3600)
    assert await told(hf, eve.id, "lapsed") == [["13E"]]
    assert await told(hf, dan.id, "lapsed") == [["13C"]]
    granted(await hf.change_pool("row", status="cancelled"))
    assert await told(hf, bea.id, "cancelled") == [["13D"]]
