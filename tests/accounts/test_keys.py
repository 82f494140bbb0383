"""API keys have a form that scanners of source code know, and a checksum that finds mistakes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fairhold import granted
from fairhold import keys as module
from fairhold.keys import Keys, is_well_formed, with_checksum
from tests.database import opened

REFERENCE = Path(__file__).parents[2] / "docs/reference/api.md"
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
SECRETS = st.text(ALPHABET, min_size=43, max_size=43)


def documented() -> tuple[re.Pattern[str], Any]:
    """Return the regular expression and the check that the reference shows to those who scan."""
    page = REFERENCE.read_text(encoding="utf-8").partition("## What a key looks like")[2]
    page = page.partition("\n## ")[0]
    (expression,) = re.findall(r"```text\n(.*)\n```", page)
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)
    return re.compile(expression), names["is_a_key"]


async def test_every_key_is_found_by_the_expression_in_the_reference(database_url: str) -> None:
    expression, is_a_key = documented()
    async with opened(database_url) as hf:
        keys = Keys(hf.store, hf.clock, hf.secret)
        for number in range(40):
            # Half of them are made at random, half are derived from a request.
            request = f"request {number}" if number % 2 else None
            secret = granted(await keys.create("default", "read", "a key", request)).secret
            assert secret is not None
            assert expression.findall(f"KEY={secret}\n") == expression.findall(f'("{secret}")') == [secret]
            assert is_a_key(secret)
            assert await keys.find(secret)


@given(SECRETS)
def test_the_reference_agrees_with_every_checksum(secret: str) -> None:
    expression, is_a_key = documented()
    key = with_checksum(f"fh_{secret}")
    assert expression.fullmatch(key)
    assert is_a_key(key)
    assert is_well_formed(key)


@given(SECRETS, st.integers(3, 51), st.sampled_from(ALPHABET))
def test_one_wrong_character_is_always_noticed(secret: str, place: int, character: str) -> None:
    key = with_checksum(f"fh_{secret}")
    assume(key[place] != character)
    assert not is_well_formed(key[:place] + character + key[place + 1 :])


# Not the last of the secret with the first of the checksum: that one is noticed almost always.
@given(SECRETS, st.integers(3, 50).filter(lambda place: place != 45))
def test_two_characters_in_the_wrong_order_are_always_noticed(secret: str, place: int) -> None:
    key = with_checksum(f"fh_{secret}")
    assume(key[place] != key[place + 1])
    assert not is_well_formed(key[:place] + key[place + 1] + key[place] + key[place + 2 :])


@given(SECRETS)
def test_a_key_that_is_not_whole_is_noticed(secret: str) -> None:
    key = with_checksum(f"fh_{secret}")
    for wrong in ("", key[:-1], key[1:], f"{key}0", f"{key}\n", f" {key}", f"é{key[1:]}", f"g{key[1:]}"):
        assert not is_well_formed(wrong)


def test_the_checksum_stays_as_it_is() -> None:
    """Later versions must know the keys that are in use. A small checksum has zeros at its left."""
    assert with_checksum("fh_" + "A" * 43) == "fh_" + "A" * 43 + "1ymNtE"
    assert with_checksum(f"fh_{110:043}") == f"fh_{110:043}" + "00fvT1"


async def test_a_mistyped_key_asks_the_database_nothing(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(database_url) as hf:
        keys = Keys(hf.store, hf.clock, hf.secret)
        secret = granted(await keys.create("default", "read", "a key")).secret
        assert secret is not None
        wrong = secret[:-1] + ("0" if secret[-1] != "0" else "1")
        asked: list[str] = []

        class Reader:
            async def rows(self, name: str, *values: object) -> list[Any]:
                asked.append(name)
                return []

        monkeypatch.setattr(hf.store, "reader", Reader)
        assert await keys.find(wrong) is None
        assert asked == []
        # Control: where nobody looks at the checksum, the database is asked.
        monkeypatch.setattr(module, "is_well_formed", lambda secret: True)
        assert await keys.find(wrong) is None
        assert asked == ["key_by_digest"]
