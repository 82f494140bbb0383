"""What cannot be opened is refused in a sentence, before anything is made."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from fairhold import Fairhold, TestClock, granted
from fairhold.errors import SettingsWrong
from tests.database import SECRET


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("sqlite:///:memory:", "a file in a temporary folder"),
        ("sqlite:///./:memory:", "a file in a temporary folder"),
        ("sqlite:///file::memory:?cache=shared", "a file in a temporary folder"),
        ("sqlite:///file:seats?mode=memory", "a file in a temporary folder"),
        ("sqlite:///", "a file in a temporary folder"),
        ("sqlite:///s.db?x=1", "has no options"),
        ("sqlite:///s\0.db", "not an address of a database"),
        ("", "not an address of a database"),
        (5, "not an address of a database"),
        (b"sqlite:///s.db", "not an address of a database"),
    ],
)
async def test_an_address_that_is_none_makes_nothing(
    url: Any, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SettingsWrong, match=said):
        async with Fairhold.open(url):
            pass
    assert list(tmp_path.iterdir()) == []


def test_a_path_is_a_file_of_sqlite(tmp_path: Path) -> None:
    with Fairhold.open_sync(tmp_path / "s.db") as hf:
        granted(hf.create_pool("class", quotas={"main": 1}))
    with closing(sqlite3.connect(tmp_path / "s.db")) as file:
        assert file.execute("SELECT key FROM fairhold_pools").fetchall() == [("class",)]
    with pytest.raises(SettingsWrong), Fairhold.open_sync(Path(":memory:")):
        pass


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"clock": 5}, "clock"),
        ({"clock": TestClock}, "clock"),
        ({"secret": "x"}, "16 characters"),
        ({"secret": ""}, "16 characters"),
        ({"secret": 5}, "text"),
        ({"org": ""}, "org"),
        ({"org": 5}, "org"),
        ({"org": "A B\0"}, "org"),
    ],
)
async def test_a_clock_a_secret_and_an_org_are_looked_at_before_anything_is_made(
    options: dict[str, Any], said: str, tmp_path: Path
) -> None:
    with pytest.raises(SettingsWrong, match=said):
        async with Fairhold.open(tmp_path / "s.db", **options):
            pass
    assert list(tmp_path.iterdir()) == []


async def test_a_short_secret_of_the_environment_is_refused_and_an_empty_one_is_none(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAIRHOLD_SECRET", "fifteen letters")
    with pytest.raises(SettingsWrong, match=r"FAIRHOLD_SECRET.* 16 characters") as refused:
        async with Fairhold.open(sqlite_url):
            pass
    assert "fifteen letters" not in str(refused.value)
    monkeypatch.setenv("FAIRHOLD_SECRET", "")
    async with Fairhold.open(sqlite_url) as hf:
        assert len(hf.secret) >= 16


@pytest.mark.parametrize("org", ["", 5, None, "A B\0", "North", "n" * 101, ["north"]])
async def test_an_org_is_called_as_one_of_a_key_is(sqlite_url: str, org: Any) -> None:
    async with Fairhold.open(sqlite_url, secret=SECRET) as hf:
        with pytest.raises(SettingsWrong, match="org"):
            hf.for_org(org)
        assert hf.for_org("north-2").org == "north-2"
