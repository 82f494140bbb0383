"""A pool with many in it closes in pieces, and everyone keeps the position that was their last."""

from __future__ import annotations

import asyncio

import pytest

from fairhold import Fairhold, granted
from fairhold.store import loader
from tests.database import opened
from tests.engine.looking import look, wrong
from tests.verified import assert_verified

MANY, PIECE, OFFERED = 50, 20, 3


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loader, "DUE_MAX", PIECE)


async def closed(hf: Fairhold) -> dict[str, int | None]:
    return {b.id: b.position for b in granted(await hf.bookings("class", state="closed", limit=1_000))}


@pytest.mark.parametrize("status", ["closed", "cancelled"])
async def test_who_was_in_line_keeps_the_last_position(database_url: str, status: str) -> None:
    async with opened(database_url, ticker=False) as hf:
        granted(await hf.create_pool("class", preset="course_section", quotas={"main": 2, "other": 1}))
        for n, quota in enumerate(("main", "main", "other")):
            granted(await hf.book("class", f"seat {n}", quota=quota, confirmed=True, by="staff"))
        await asyncio.gather(*(hf.book("class", f"party {n}", quota="main") for n in range(OFFERED + MANY)))
        granted(await hf.change_pool("class", sizes={"main": 2 + OFFERED}))
        line = {b.id: b.position for b in granted(await hf.line("class", limit=MANY))}
        assert list(line.values()) == list(range(1, MANY + 1))
        granted(await hf.change_pool("class", status=status))
        left = granted(await hf.line("class", limit=MANY))
        assert 0 < len(left) < MANY, "it went in one piece"
        # Somebody near the front asks for something before it is their turn.
        granted(await hf.change_booking(left[2].id, name="Ann"))
        for _ in range(MANY):
            if granted(await hf.pool("class")).waiting:
                await hf.tick("class")
        ended = await closed(hf)
        assert {who: ended[who] for who in line} == line
        assert len(ended) == OFFERED + MANY + (3 if status == "cancelled" else 0)
    assert wrong(await look(database_url)) == []
    await assert_verified(database_url)
