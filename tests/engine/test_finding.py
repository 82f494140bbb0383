"""Somebody at the desk says a name, an address, a number or a reference: who is found, on both databases."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from fairhold import Fairhold, Refusal, finding, granted
from tests.database import opened
from tests.engine.counting import counted


@pytest.fixture
async def hf(database_url: str) -> AsyncIterator[Fairhold]:
    async with opened(database_url) as hf:
        yield hf


def party(who: str, name: str, **contacts: str) -> dict[str, Any]:
    return {"id": who, "name": name, "contacts": contacts, "tags": ["honours"], "locale": "fi"}


PEOPLE = [
    party("s-1", "Ann Example", email="ann@example.org", phone="+358401234567"),
    party("s-2", "Ännä Höglund", email="hoglund@example.org", phone="040 765 4321"),
    party("s-3", 'Bea "Bee" 100% O\\Neill', email="bea_b@example.org"),
    party("s-4", "Cyd Example-Stone", email="STONE@EXAMPLE.ORG"),
    party("00417", "Dee Weiß"),
]


async def stage(hf: Fairhold) -> None:
    for key in ("yoga", "gig"):
        granted(await hf.create_pool(key, quotas={"main": 9}))
    for index, who in enumerate(PEOPLE):
        await hf.advance(seconds=1)
        granted(await hf.book("gig" if index % 2 else "yoga", who))


SAID = [
    ("ann", "s-1"),
    ("EXAMPLE ann", "s-1"),
    ("  stone ", "s-4"),
    ("ännä", "s-2"),
    ("ÄNNÄ HÖG", "s-2"),
    ("hoglund@", "s-2"),
    ("stone@example", "s-4"),
    ("040 1234567", "s-1"),
    ("+358 (40) 123-4567", "s-1"),
    ("0407654321", "s-2"),
    ("WEISS", "00417"),
    ("weiß", "00417"),
    ("s-3", "s-3"),
    ("00417", "00417"),
    ("100%", "s-3"),
    ("a_b", "s-3"),
    ('"Bee"', "s-3"),
    ("O\\N", "s-3"),
    # What is not said of oneself finds nobody: how it is stored, tags, languages, joker signs.
    ("contacts", ""),
    ("honours", ""),
    ("%", "s-3"),
    ("a%e", ""),
    ("ann stone", ""),
    ("Zoe", ""),
]


async def test_people_are_found_by_what_they_say(hf: Fairhold) -> None:
    await stage(hf)
    for said, who in SAID:
        assert [it.party.id for it in granted(await hf.find(said))] == ([who] if who else []), said


async def test_a_reference_an_id_and_a_link_find_their_booking(hf: Fairhold) -> None:
    await stage(hf)
    made = granted(await hf.booking(granted(await hf.find("dee"))[0].id, secret=True))
    for name in (
        made.reference,
        f" {made.reference[:3].lower()} {made.reference[3:]}",
        made.id,
        made.edit_token,
    ):
        assert [it.id for it in granted(await hf.find(str(name)))] == [made.id]
    assert granted(await hf.find(made.reference, pool="gig")) == []


async def test_only_the_org_and_the_pool_that_are_asked_are_searched_the_newest_first(hf: Fairhold) -> None:
    await stage(hf)
    theirs = hf.for_org("theirs")
    granted(await theirs.create_pool("yoga", quotas={"main": 9}))
    granted(await theirs.book("yoga", party("t-1", "Ann of theirs")))
    assert [it.party.id for it in granted(await hf.find("example"))] == ["s-3", "s-1", "s-4", "s-2"]
    assert [it.party.id for it in granted(await hf.find("example", pool="yoga"))] == ["s-3", "s-1"]
    assert [it.party.id for it in granted(await hf.find("example", limit=1))] == ["s-3"]
    assert [it.party.id for it in granted(await theirs.find("ann"))] == ["t-1"]


async def test_what_cannot_be_looked_for_is_refused_by_field(hf: Fairhold) -> None:
    wrong: list[Any] = ["", "  ", "x" * 201, 7, None, "a\x00b"]
    for said in wrong:
        refused = await hf.find(said)
        assert isinstance(refused, Refusal)
        assert (refused.code, refused.field) == ("invalid", "text")
    assert isinstance(unknown := await hf.find("ann", pool="nope"), Refusal)
    assert unknown.code == "unknown"


async def test_many_bookings_are_looked_through_in_pieces_and_not_without_end(
    hf: Fairhold, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(finding, "_PIECE", 10)
    granted(await hf.create_pool("big", quotas={"main": 99}))
    for key in ("a", "b", "c"):
        granted(await hf.create_pool(key, quotas={"main": 9}))
        granted(await hf.book(key, party(f"few-{key}", "Ann")))
    await hf.advance(seconds=1)
    granted(await hf.book("big", party("first", "Ann")))
    for n in range(34):
        granted(await hf.book("big", f"p{n}"))
    with counted(hf) as asked:
        found = [it.party.id for it in granted(await hf.find("ann"))]
    # The big pool is the latest, and goes in four pieces; the small ones go together.
    assert sorted(found) == ["few-a", "few-b", "few-c", "first"]
    assert asked.count("search_parties") == 5
    monkeypatch.setattr(finding, "LOOKED_MAX", 30)
    with counted(hf) as asked:
        assert granted(await hf.find("ann")) == []
    assert asked.count("search_parties") == 3
