"""Races for seats: whoever comes with however many, a seat is given once, and a freed one is given on."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from fairhold import Fairhold, granted, open_sync
from fairhold.core import book, decide
from fairhold.errors import CommandFailed
from tests.database import SECRET
from tests.engine.looking import Picture, bookings, events, look, look_now, watching, wrong
from tests.engine.processes import Worker, run_together
from tests.engine.staging import (
    always_under_lock,
    at_once,
    meet_before_writing,
    nodes,
    outcome,
    without_conditions,
    without_keys,
    without_lock,
)
from tests.verified import assert_verified

PARTIES = [f"party-{number}" for number in range(200)]


def unfair(said: list[str], picture: Picture) -> list[str]:
    """What is wrong with a race for one seat: by what was answered, and by what is there."""
    held = bookings(picture, "held")
    found = wrong(picture)
    if said.count("held") != 1 or len(held) != 1:
        found.append(f"{said.count('held')} were told yes, {len(held)} have a seat")
    if set(said) - {"held", "not_enough_room"}:
        found.append(f"somebody was told {set(said)}")
    return found


def make_pool(url: str, size: int = 1, preset: str = "checkout", **options: object) -> None:
    with open_sync(url, secret=SECRET, ticker=False) as hf:
        granted(hf.create_pool("chair", quotas={"main": size}, preset=preset, **options))


def test_of_200_threads_one_gets_the_last_seat(database_url: str) -> None:
    with open_sync(database_url, secret=SECRET) as hf:
        granted(hf.create_pool("chair", quotas={"main": 1}, preset="checkout"))
        answers = at_once([lambda party=party: hf.book("chair", party) for party in PARTIES])

    assert unfair([outcome(answer) for answer in answers], look_now(database_url)) == []
    asyncio.run(assert_verified(database_url))


def test_of_200_parties_at_four_processes_one_gets_the_last_seat(database_url: str) -> None:
    make_pool(database_url)
    shares = [PARTIES[start::4] for start in range(4)]
    found = run_together(*(Worker("book", database_url, pool="chair", parties=share) for share in shares))

    said = [answer for answers in found for answer in answers.values()]
    assert len(said) == 200
    assert unfair(said, look_now(database_url)) == []


def test_processes_that_make_the_same_new_database_share_it(database_url: str) -> None:
    found = run_together(*(Worker("make", database_url, pool="hall", party=f"party-{n}") for n in range(4)))
    assert Counter(answer["pool"] for answer in found) == {"made": 1, "exists": 3}
    assert {answer["party"] for answer in found} == {"held"}
    assert len({answer["secret"] for answer in found}) == 1
    picture = look_now(database_url)
    assert wrong(picture) == []
    assert (len(picture.pools), len(bookings(picture))) == (1, 4)


async def race_of_two_nodes(url: str) -> list[str]:
    async with nodes(url) as (one, other):
        answers = await asyncio.gather(one.book("chair", "Ann"), other.book("chair", "Bea"))
    return unfair([outcome(answer) for answer in answers], await look(url))


async def prepare(url: str) -> None:
    async with Fairhold.open(url, secret=SECRET, ticker=False) as hf:
        granted(await hf.create_pool("chair", quotas={"main": 1}, preset="checkout"))


@pytest.mark.parametrize("under_lock", [False, True])
async def test_two_nodes_that_decide_at_the_same_moment_give_one_seat(
    database_url: str, under_lock: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    await prepare(database_url)
    if under_lock:
        always_under_lock(monkeypatch)
    meet_before_writing(monkeypatch)
    assert await race_of_two_nodes(database_url) == []
    await assert_verified(database_url)


@pytest.mark.parametrize("under_lock", [False, True])
async def test_control_without_the_lock_the_keys_still_stop_the_second(
    database_url: str, under_lock: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    await prepare(database_url)
    if under_lock:
        always_under_lock(monkeypatch)
    without_lock(monkeypatch, database_url)
    meet_before_writing(monkeypatch)
    assert await race_of_two_nodes(database_url) == []


@pytest.mark.guarantee(
    "two-taps",
    "Two nodes that decide at the same moment give one seat to two people.",
    control=True,
)
@pytest.mark.parametrize("under_lock", [False, True])
@pytest.mark.tampered
async def test_control_without_lock_conditions_and_keys_the_seat_is_given_twice(
    database_url: str, under_lock: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    await prepare(database_url)
    if under_lock:
        always_under_lock(monkeypatch)
    without_lock(monkeypatch, database_url)
    without_conditions(monkeypatch, database_url)
    await without_keys(database_url)
    meet_before_writing(monkeypatch, for_sure=True)
    found = await race_of_two_nodes(database_url)
    assert any("2 were told yes" in complaint for complaint in found), found


async def test_control_a_wrong_room_is_refused_by_the_database_itself(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(book, "room", lambda *_, **__: 1_000)
    await prepare(database_url)
    async with nodes(database_url, 1) as (hf,):
        granted(await hf.book("chair", "Ann"))
        with pytest.raises(CommandFailed, match="no_oversell"):
            await hf.book("chair", "Bea")
    assert wrong(await look(database_url)) == []


# Storms of cancellations.

SEATS = 20


def storm_of_cancellations(url: str, preset: str) -> tuple[Picture, list[str]]:
    """Twenty have a seat, sixty wait; the twenty cancel at once. Who was given their seats, in order."""
    with open_sync(url, secret=SECRET) as hf, watching(url) as watch:
        granted(hf.create_pool("hall", quotas={"main": SEATS}, preset=preset))
        seated = [granted(hf.book("hall", f"in-{n}", confirmed=True, by="staff")) for n in range(SEATS)]
        queued = [granted(hf.book("hall", f"wait-{n}")) for n in range(60)]
        assert [booking.position for booking in queued] == list(range(1, 61))
        at_once([lambda seat=seat: granted(hf.cancel(seat.id)) for seat in seated])
    picture = look_now(url)
    served = [b.party for b in bookings(picture, "offered", "held", "confirmed")]
    if sorted(served) != sorted(b.party.id for b in queued[:SEATS]):
        watch.complaints.append(f"the freed seats went to {served}")
    return picture, watch.complaints


@pytest.mark.parametrize("preset", ["event_signup", "course_section"])
def test_a_storm_of_cancellations_seats_the_first_in_line(database_url: str, preset: str) -> None:
    picture, complaints = storm_of_cancellations(database_url, preset)

    assert complaints == []
    kinds = Counter(kind for kind, _, _ in events(picture))
    assert kinds["Cancelled"] == kinds["Promoted"] + kinds["Offered"] == SEATS
    asyncio.run(assert_verified(database_url))


def test_control_without_fill_the_storm_leaves_seats_empty(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decide, "fill", lambda *_, **__: None)
    _, complaints = storm_of_cancellations(sqlite_url, "event_signup")
    assert complaints == ["the freed seats went to []"]
