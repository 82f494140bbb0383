"""Every scenario again, on the real engine with a real database behind it; afterwards all promises hold."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fairhold import SyncFairhold, TestClock, open_sync
from fairhold.testing import Scenario, play, read
from fairhold.testing.engine_world import EngineWorld
from fairhold.verify import verify
from testbed.postgres import fresh_database

FOLDER = Path(__file__).parent.parent / "core" / "scenarios"
FILES = sorted(FOLDER.glob("*.txt"))


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def hf(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SyncFairhold]:
    if request.param == "sqlite":
        with open_sync(
            f"sqlite:///{tmp_path_factory.mktemp('scenarios')}/fairhold.db", clock=TestClock()
        ) as hf:
            yield hf
            assert_whole(hf)
        return
    with (
        fresh_database(request.getfixturevalue("postgres_server_url")) as url,
        open_sync(url, clock=TestClock()) as hf,
    ):
        yield hf
        assert_whole(hf)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_scenarios(hf: SyncFairhold, path: Path) -> None:
    for scenario in read(path.read_text(encoding="utf-8"), f"tests/core/scenarios/{path.name}"):
        _play(scenario, hf)


def _play(scenario: Scenario, hf: SyncFairhold) -> None:
    play(scenario, EngineWorld(hf))


def assert_whole(hf: SyncFairhold) -> None:
    """After all of them every promise holds, in every pool."""
    report = hf.run(verify(hf.hf.store))
    assert report.pools > 100
    assert report.whole, str(report)
