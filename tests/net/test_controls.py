"""The net notices: one rule or one check is taken away, and a recorded history comes out otherwise."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fairhold.core import decide, line, obey
from fairhold.core.model import Booking
from fairhold.core.work import Work
from fairhold.store.sqlite.transaction import SqliteTransaction
from net import comparing, playing, recorded
from net.comparing import Difference
from net.drive_fairhold import opened
from net.histories import ERASE
from net.playing import EIGHT, FOREIGN, ONE
from net.recorded import Recorded
from tests.engine.staging import without_conditions, without_keys
from tests.models import Model

pytestmark = pytest.mark.tampered


@pytest.fixture
def url(new_sqlite: Model, tmp_path: Path) -> Iterator[str]:
    with new_sqlite.copied(tmp_path) as url:
        yield url


def some() -> list[Recorded]:
    """Return histories in which nobody is forgotten: to erase a person is a write beside the engine, too."""
    every = [it for path in recorded.files()[:2] for it in recorded.read(path)]
    return [it for it in every if not any(step["do"] == ERASE for step in it.history["steps"])]


async def replay(url: str, way: str) -> None:
    """Replay until one history comes out otherwise."""
    async with opened(url) as tree, opened(url) as other:
        for history, expected in some():
            async with asyncio.timeout(60):
                actual = await playing.play(tree, history, way, other)
            comparing.compare(history, expected, actual, way)


async def test_a_fill_that_is_left_out_is_noticed(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decide, "fill", lambda *_: None)
    with pytest.raises(Difference):
        await replay(url, ONE)


async def test_a_position_that_is_off_by_one_is_noticed(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    position = line.position
    monkeypatch.setattr(line, "position", lambda view, place: position(view, place) + 1)
    with pytest.raises(Difference):
        await replay(url, ONE)


async def test_an_offer_that_lapses_as_if_declined_is_noticed(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    end_offer = obey.end_offer

    def end_as_declined(work: Work, booking: Booking, *, lapsed: bool) -> None:
        end_offer(work, booking, lapsed=False)

    monkeypatch.setattr(obey, "end_offer", end_as_declined)
    with pytest.raises(Difference):
        await replay(url, ONE)


async def test_a_confirmation_that_staff_need_not_give_is_noticed(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(obey, "staff_confirm", lambda *_: False)
    with pytest.raises(Difference):
        await replay(url, ONE)


async def without_looking_at_the_log(url: str, patch: pytest.MonkeyPatch) -> None:
    """What was decided ahead is written whatever the logs end with; who else has booked is still asked."""

    async def finish(self: SqliteTransaction, whole: Any) -> bool:
        live = sum(row[0] for row in await self.each("live_of_parties", whole.seen.parties))
        if live != whole.seen.live:
            return False
        for write in whole.writes:
            await self.many(write.name, write.rows)
        await self.commit()
        return True

    without_conditions(patch, url)
    await without_keys(url)
    patch.setattr(SqliteTransaction, "finish", finish)


async def test_a_foreign_write_that_is_overwritten_is_noticed(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await without_looking_at_the_log(url, monkeypatch)
    with pytest.raises(Difference, match=", foreign:"):
        await replay(url, FOREIGN)


async def test_without_a_foreign_write_there_is_nothing_to_overwrite(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So it is the foreign write that the control before this one is about."""
    await without_looking_at_the_log(url, monkeypatch)
    await replay(url, EIGHT)
