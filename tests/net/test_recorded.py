"""The tree does what the reference did: three hundred recorded histories, each in one of four ways."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from net import comparing, playing, recorded
from net.drive_fairhold import opened
from net.playing import ONE, WAYS
from net.recorded import Recorded
from net.running import HISTORY_S
from tests.models import Model

FILES = recorded.files()


async def replay(url: str, numbered: list[tuple[int, Recorded]]) -> int:
    """Carry these out, each its own way; how many batches were decided while another was in flight."""
    async with opened(url) as tree, opened(url) as other:
        for number, (history, expected) in numbered:
            way = WAYS[number % len(WAYS)]
            async with asyncio.timeout(HISTORY_S):
                actual = await playing.play(tree, history, way, other)
            comparing.compare(history, expected, actual, way)
        assert await tree.verified() == []
        return tree.pipeline.decided_in_flight


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
async def test_histories_on_sqlite_come_out_as_recorded(
    path: Path, new_sqlite: Model, tmp_path: Path
) -> None:
    numbered = [(it.history["seed"], it) for it in recorded.read(path)]
    with new_sqlite.copied(tmp_path) as url:
        assert await replay(url, numbered) > 0


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
async def test_a_quarter_of_them_on_postgresql_comes_out_as_recorded(
    path: Path, new_postgres: Model, tmp_path: Path
) -> None:
    every = [(it.history["seed"], it) for it in recorded.read(path)]
    numbered = [(number, it) for number, it in every if number // len(WAYS) % 4 == 0]
    with new_postgres.copied(tmp_path) as url:
        await replay(url, numbered)


def test_there_are_recorded_histories_for_every_way() -> None:
    seeds = [it.history["seed"] for path in FILES for it in recorded.read(path)]
    assert len(seeds) == 300
    assert {WAYS[seed % len(WAYS)] for seed in seeds} == set(WAYS)
    assert ONE in WAYS
