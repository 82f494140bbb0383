"""The mapping of names: each entry is needed, none is missing, and a wrong one is noticed."""

from __future__ import annotations

from pathlib import Path

import pytest

from net import comparing, playing, recorded, vocabulary
from net.comparing import Difference
from net.drive_fairhold import opened
from net.mapping import FAIRHOLD_CHANGED, FAIRHOLD_EXTRA_COLUMNS, Names, TreeNames, Unmapped
from net.recorded import Recorded
from tests.models import Model

KNOWN = frozenset({"Held", "Joined", "Lapsed"})


async def replay(url: str, names: TreeNames, histories: list[Recorded]) -> None:
    async with opened(url, names) as tree:
        for history, expected in histories:
            actual = await playing.one_by_one(tree, history)
            comparing.compare(history, expected, actual, playing.ONE)


def some(count: int) -> list[Recorded]:
    """Return recorded histories without crowds, for they are quick."""
    quiet = [it for it in recorded.read(recorded.files()[0]) if len(it.history["steps"]) < 80]
    return quiet[:count]


async def test_every_entry_of_the_mapping_is_needed(new_sqlite: Model, tmp_path: Path) -> None:
    names = TreeNames(FAIRHOLD_CHANGED, FAIRHOLD_EXTRA_COLUMNS)
    with new_sqlite.copied(tmp_path) as url:
        await replay(url, names, some(12))
    assert names.unused() == []


def test_a_name_that_is_not_mapped_raises() -> None:
    names = Names("events", KNOWN, {"Held": "RoomHeld"})
    assert (names.theirs("Held"), names.neutral("RoomHeld")) == ("RoomHeld", "Held")
    assert (names.theirs("Joined"), names.neutral("Joined")) == ("Joined", "Joined")
    for name in ("Held", "SeatHeld"):
        # The old name, too, is a stranger once it has a new one.
        with pytest.raises(Unmapped):
            names.neutral(name)
    with pytest.raises(Unmapped):
        names.theirs("RoomHeld")


def test_a_mapping_that_is_wrong_in_itself_raises() -> None:
    with pytest.raises(Unmapped):
        Names("events", KNOWN, {"Never": "Held"})
    with pytest.raises(Unmapped):
        Names("events", KNOWN, {"Held": "Kept", "Joined": "Kept"})
    with pytest.raises(Unmapped):
        TreeNames({"colours": {}})


def test_entries_that_nothing_asks_for_are_told() -> None:
    names = TreeNames({"events": {"Held": "RoomHeld", "Lapsed": "Ended"}})
    names["events"].neutral("RoomHeld")
    assert names.unused() == ["events: Lapsed"]


# Of each kind two names that every history has to do with, and that are mistaken for each other here.
MISTAKEN = {
    "events": ("Held", "Joined"),
    "booking states": ("held", "waiting"),
    "opening states": ("open", "taken"),
    "messages": ("joined", "cancelled"),
    "refusals": ("unknown", "not_possible"),
    "offer outcomes": ("declined", "claimed"),
    "columns of bookings": ("arrival", "number"),
    "columns of quotas": ("used", "waiting"),
}


@pytest.mark.parametrize("kind", MISTAKEN)
async def test_a_wrong_entry_of_the_mapping_is_noticed(kind: str, new_sqlite: Model, tmp_path: Path) -> None:
    one, other = MISTAKEN[kind]
    changed = {it: dict(entries) for it, entries in FAIRHOLD_CHANGED.items()}
    right = TreeNames(FAIRHOLD_CHANGED)[kind]
    mistaken = {one: right.changed.get(other, other), other: right.changed.get(one, one)}
    changed[kind] = {**changed.get(kind, {}), **mistaken}
    with new_sqlite.copied(tmp_path) as url, pytest.raises(Difference):
        await replay(url, TreeNames(changed, FAIRHOLD_EXTRA_COLUMNS), some(12))


async def test_a_column_that_nobody_knows_of_raises(
    new_sqlite: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tree that stores more than the reference must say so in the mapping."""
    fewer = {**vocabulary.COLUMNS, "bookings": vocabulary.COLUMNS["bookings"][:-1]}
    monkeypatch.setattr(vocabulary, "COLUMNS", fewer)
    with new_sqlite.copied(tmp_path) as url, pytest.raises(Unmapped):
        await replay(url, TreeNames(FAIRHOLD_CHANGED, FAIRHOLD_EXTRA_COLUMNS), some(1))
