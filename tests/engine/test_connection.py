"""The connection to PostgreSQL is lost: the outcome is looked up, never guessed, and Fairhold recovers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from operator import ge
from typing import Any

import pytest

from fairhold import Fairhold, Refusal, granted
from fairhold.engine import engine as engines
from fairhold.engine import outcome as outcomes
from fairhold.errors import OutcomeUnknown, Unavailable
from fairhold.store.postgres import connections, readers
from tests.database import SECRET, ask
from tests.engine.flights import all_under_lock
from tests.engine.looking import Picture, bookings, events, look, wrong
from tests.engine.proxy import Proxy, proxied
from tests.engine.staging import outcome
from tests.patience import PATIENCE_S, until
from tests.verified import assert_verified

WAYS = ["cut before", "cut after", "stall before", "stall after"]


@pytest.fixture(autouse=True)
def _impatient(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the database falls silent nobody waits ten seconds for it; elsewhere it may be slow."""
    if "stall" in request.node.name or "silent" in request.node.name:
        monkeypatch.setattr(connections, "ANSWER_S", 1.0)
        monkeypatch.setattr(connections, "CONNECT_S", 2.0)


def be_patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who has been waiting for the silent one gives up soon; all that begins now may take its time."""
    monkeypatch.setattr(connections, "ANSWER_S", PATIENCE_S)
    monkeypatch.setattr(connections, "CONNECT_S", PATIENCE_S)


@pytest.fixture(params=["ahead", "under the lock"])
async def line(
    postgres_url: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[tuple[Proxy, Fairhold]]:
    """A Fairhold behind a proxy, with a pool of a thousand seats; commands decided in either way."""
    if request.param == "under the lock":
        all_under_lock(monkeypatch)
    async with (
        proxied(postgres_url) as (proxy, through),
        Fairhold.open(through, secret=SECRET, ticker=False) as hf,
    ):
        granted(await hf.create_pool("hall", quotas={"main": 1_000}, preset="course_section"))
        granted(await hf.pool("hall"))
        proxy.on_stall = lambda: be_patient(monkeypatch)
        yield proxy, hf


async def untouched(url: str) -> Picture:
    """The database behind the proxy, in order."""
    picture = await look(url)
    assert wrong(picture) == []
    await assert_verified(url)
    return picture


@pytest.mark.guarantee(
    "lost-commit.settled",
    "Cut off or silent, just before or just after the commit, with and without a key: one booking, one yes.",
)
@pytest.mark.parametrize("key", [None, "a key"])
@pytest.mark.parametrize("way", WAYS)
async def test_a_booking_lost_at_its_commit_is_made_once_and_answered_yes(
    postgres_url: str, line: tuple[Proxy, Fairhold], way: str, key: str | None
) -> None:
    proxy, hf = line
    proxy.at_commit = [way]

    booked = granted(await hf.book("hall", "Ann", idempotency_key=key))

    assert proxy.at_commit == []
    picture = await untouched(postgres_url)
    assert [(b.party, b.state) for b in bookings(picture)] == [("Ann", "held")]
    assert granted(await hf.booking(booked.reference)).id == booked.id


@pytest.mark.parametrize("way", ["cut before", "cut after", "stall before"])
async def test_a_pool_lost_at_its_commit_is_made_once_and_answered_yes(
    postgres_url: str, line: tuple[Proxy, Fairhold], way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is not there yet cannot be locked: its maker must be gone by the time it is made again."""
    proxy, hf = line
    monkeypatch.setattr(connections, "ANSWER_S", 2.5)
    proxy.at_commit = [way]
    made = granted(await hf.create_pool("other", quotas={"main": 1}, preset="checkout"))
    assert granted(await hf.pool("other")).id == made.id
    assert len((await untouched(postgres_url)).pools) == 2


@pytest.mark.parametrize("way", WAYS)
async def test_a_whole_batch_lost_at_its_commit_is_made_once(
    postgres_url: str, line: tuple[Proxy, Fairhold], way: str
) -> None:
    proxy, hf = line
    proxy.at_commit = [way]
    parties = [f"party-{number}" for number in range(32)]
    answers = await asyncio.gather(*(hf.book("hall", party) for party in parties))

    assert [granted(answer).party.id for answer in answers] == parties
    picture = await untouched(postgres_url)
    assert sorted(b.party for b in bookings(picture, "held")) == sorted(parties)


async def test_a_refusal_under_a_key_that_is_lost_at_its_commit_stays_a_refusal(
    postgres_url: str, line: tuple[Proxy, Fairhold]
) -> None:
    proxy, hf = line
    for way in WAYS[:2]:
        proxy.at_commit = [way]
        asking: dict[str, Any] = {"quantity": 101, "idempotency_key": way}
        assert outcome(await hf.book("hall", "Ann", **asking)) == "invalid"
        assert outcome(await hf.book("hall", "Ann", **asking)) == "invalid"
    assert bookings(await untouched(postgres_url)) == []


async def test_a_commit_lost_again_and_again_is_a_clear_error_and_changes_nothing(
    postgres_url: str, line: tuple[Proxy, Fairhold], request: pytest.FixtureRequest
) -> None:
    proxy, hf = line
    # Those that are let through look what has become of the one before. What is decided ahead has a try more.
    tries = 3 if "ahead" in request.node.name else 2
    proxy.at_commit = ["cut before", *["let through", "cut before"] * (tries - 1)]
    async with asyncio.timeout(PATIENCE_S):
        with pytest.raises(Unavailable) as caught:
            await hf.book("hall", "Ann", idempotency_key="k")
    assert not isinstance(caught.value, OutcomeUnknown)
    assert bookings(await untouched(postgres_url)) == []

    granted(await hf.book("hall", "Ann", idempotency_key="k"))
    assert len(bookings(await untouched(postgres_url))) == 1


@pytest.mark.parametrize("way", ["cut before", "cut after"])
async def test_an_outcome_nobody_can_tell_is_called_unknown_and_settles_with_the_key(
    postgres_url: str, line: tuple[Proxy, Fairhold], way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy, hf = line
    monkeypatch.setattr(outcomes, "_GIVE_UP_S", 0.3)
    proxy.at_commit = [way]
    proxy.refusing = True
    with pytest.raises(OutcomeUnknown):
        await hf.book("hall", "Ann", idempotency_key="k")
    with pytest.raises(Unavailable):
        await hf.book("hall", "Bea")

    proxy.refusing = False
    ann = granted(await hf.book("hall", "Ann", idempotency_key="k"))
    assert granted(await hf.book("hall", "Ann", idempotency_key="k")) == ann
    assert [b.party for b in bookings(await untouched(postgres_url))] == ["Ann"]


@pytest.mark.guarantee("lost-commit", "Taking it for failed books twice.", control=True)
async def test_control_guessing_that_a_lost_commit_failed_books_twice(
    postgres_url: str, line: tuple[Proxy, Fairhold], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def guess(*_: Any) -> bool:
        return False

    proxy, hf = line
    monkeypatch.setattr(engines.Engine, "_has_happened", guess)
    proxy.at_commit = ["cut after"]
    # Nobody is stopped from asking for a seat when they have a confirmed one, so this books again.
    granted(await hf.book("hall", "Ann", confirmed=True, by="staff"))
    assert len(bookings(await look(postgres_url))) == 2


@pytest.mark.guarantee(
    "lost-commit",
    "Taking it for done answers yes to somebody who has nothing.",
    control=True,
)
async def test_control_guessing_that_a_lost_commit_succeeded_loses_a_yes(
    postgres_url: str, line: tuple[Proxy, Fairhold], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def guess(*_: Any) -> bool:
        return True

    proxy, hf = line
    monkeypatch.setattr(engines.Engine, "_has_happened", guess)
    proxy.at_commit = ["cut before"]
    granted(await hf.book("hall", "Ann"))
    assert bookings(await look(postgres_url)) == []


async def test_a_cut_between_commands_is_not_noticed_by_anybody(
    postgres_url: str, line: tuple[Proxy, Fairhold]
) -> None:
    proxy, hf = line
    for turn in range(5):
        proxy.cut()
        granted(await hf.book("hall", f"party-{turn}"))
    assert len(bookings(await untouched(postgres_url))) == 5


async def test_a_writer_that_the_server_throws_out_is_replaced(
    postgres_url: str, line: tuple[Proxy, Fairhold]
) -> None:
    _, hf = line
    ended = asyncio.Event()
    heard: list[list[str]] = [[] for _ in range(8)]

    async def call(number: int) -> None:
        while not ended.is_set():
            heard[number].append(outcome(await hf.book("hall", f"{number}-{len(heard[number])}")))
            await asyncio.sleep(0.002)

    calling = asyncio.gather(*(call(number) for number in range(8)))
    for _ in range(5):
        # A command is tried twice: nobody is thrown out twice with the same one.
        enough = [len(said) + 2 for said in heard]
        await until(lambda enough=enough: calling.done() or all(map(ge, map(len, heard), enough)))
        others = "application_name = 'fairhold' AND datname = current_database()"
        await ask(postgres_url, f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {others}")
    ended.set()
    await calling
    said = [answer for answers in heard for answer in answers]
    assert set(said) <= {"held", "waiting"}
    assert len(bookings(await untouched(postgres_url))) == len(said)


async def test_a_silent_database_is_a_clear_error_and_is_found_again(
    postgres_url: str, line: tuple[Proxy, Fairhold], monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy, hf = line
    proxy.stall()
    calls = [hf.book("hall", "Ann"), hf.pool("hall"), hf.line("hall"), hf.stats("hall")]
    async with asyncio.timeout(PATIENCE_S):
        found = await asyncio.gather(*calls, return_exceptions=True)
    assert [type(error) for error in found] == [Unavailable] * 4
    proxy.flow()
    proxy.cut()
    be_patient(monkeypatch)
    async with asyncio.timeout(PATIENCE_S):
        assert not isinstance(await hf.pool("hall"), Refusal)
        granted(await hf.book("hall", "Ann"))
    assert [b.party for b in bookings(await untouched(postgres_url))] == ["Ann"]


async def test_reads_recover_by_themselves(line: tuple[Proxy, Fairhold]) -> None:
    proxy, hf = line
    proxy.refusing = True
    proxy.cut()
    for _ in range(3):
        with pytest.raises(Unavailable, match="PostgreSQL"):
            await hf.pool("hall")
    proxy.refusing = False
    assert granted(await hf.pool("hall")).key == "hall"


@pytest.mark.parametrize("how", ["rows", "stream"])
async def test_long_looks_at_a_silent_database_end_and_keep_no_place(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """As many as there may be: a server whose disk hangs says nothing, but its system is there."""
    async with (
        proxied(postgres_url) as (proxy, through),
        Fairhold.open(through, secret=SECRET, ticker=False) as hf,
    ):
        looking = 0

        async def look_for_long() -> None:
            nonlocal looking
            async with hf.store.snapshot(long=True) as snapshot:
                await snapshot.rows("all_pool_ids")
                looking += 1
                await stalled.wait()
                if how == "rows":
                    await snapshot.rows("all_pool_ids")
                else:
                    [page async for page in snapshot.stream("every_request")]

        stalled = asyncio.Event()
        tasks = [asyncio.create_task(look_for_long()) for _ in range(4)]
        await until(lambda: looking == 4)
        monkeypatch.setattr(readers, "LONG_ANSWER_S", 0.5)
        proxy.stall()
        stalled.set()
        async with asyncio.timeout(PATIENCE_S):
            told = await asyncio.gather(*tasks, return_exceptions=True)
        assert [type(it) for it in told] == [Unavailable] * 4
        proxy.flow()
        monkeypatch.setattr(readers, "LONG_ANSWER_S", PATIENCE_S)
        async with asyncio.timeout(PATIENCE_S), hf.store.snapshot(long=True) as snapshot:
            assert await snapshot.rows("all_pool_ids") == []


async def test_a_start_without_a_database_says_so_at_once(postgres_url: str) -> None:
    async with proxied(postgres_url) as (proxy, through):
        proxy.refusing = True
        with pytest.raises(Unavailable, match="PostgreSQL cannot be reached"):
            async with Fairhold.open(through):
                pass
    with pytest.raises(Unavailable, match="PostgreSQL cannot be reached"):
        async with Fairhold.open(through):
            pass


async def test_the_log_of_a_settled_commit_has_each_event_once(
    postgres_url: str, line: tuple[Proxy, Fairhold]
) -> None:
    proxy, hf = line
    for turn, way in enumerate(["cut before", "cut after"] * 3):
        proxy.at_commit = [way]
        granted(await hf.book("hall", f"party-{turn}"))
    assert [kind for kind, _, _ in events(await untouched(postgres_url), "Held")] == ["Held"] * 6


async def test_a_full_disk_of_the_server_is_a_clear_error_and_nothing_is_half_done(
    postgres_url: str, line: tuple[Proxy, Fairhold]
) -> None:
    _, hf = line
    raising = "BEGIN RAISE EXCEPTION 'no space left' USING ERRCODE = 'disk_full'; END"
    await ask(postgres_url, f"CREATE FUNCTION no_space() RETURNS trigger LANGUAGE plpgsql AS $${raising}$$")
    await ask(
        postgres_url, "CREATE TRIGGER no_space BEFORE INSERT ON fairhold_log EXECUTE FUNCTION no_space()"
    )
    with pytest.raises(Unavailable, match="DiskFull"):
        await hf.book("hall", "Ann")
    assert bookings(await untouched(postgres_url)) == []

    await ask(postgres_url, "DROP TRIGGER no_space ON fairhold_log")
    granted(await hf.book("hall", "Ann"))
    assert len(bookings(await untouched(postgres_url))) == 1


async def test_while_the_database_is_silent_nobody_waits_behind_all_the_others(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every batch finds out anew that nobody answers; who stands behind many of them is told all the same."""
    monkeypatch.setattr(engines, "BATCH_MAX", 4)
    monkeypatch.setattr("fairhold.engine.engine._HALVED_ABOVE", 4)
    async with (
        proxied(postgres_url) as (proxy, through),
        Fairhold.open(through, secret=SECRET, ticker=False) as hf,
    ):
        granted(await hf.create_pool("hall", quotas={"main": 1_000}, preset="course_section"))
        granted(await hf.book("hall", "first"))
        proxy.stall()
        # One batch after the other would take a second each: a hundred.
        with monkeypatch.context() as patch:
            patch.setattr("fairhold.door._GIVE_UP_S", 3.0)
            async with asyncio.timeout(PATIENCE_S):
                asked = [hf.book("hall", f"party {n}", idempotency_key=f"{n}") for n in range(400)]
                answers = await asyncio.gather(*asked, return_exceptions=True)
        assert {type(answer) for answer in answers} <= {Unavailable, OutcomeUnknown}
        proxy.flow()
        be_patient(monkeypatch)
        asked = [hf.book("hall", f"party {n}", idempotency_key=f"{n}") for n in range(400)]
        assert {outcome(answer) for answer in await asyncio.gather(*asked)} == {"held"}
    assert len(bookings(await untouched(postgres_url))) == 401


async def test_while_an_outcome_is_looked_up_nobody_behind_it_waits_for_longer_than_that(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of theirs was begun, so they can be told at once, and ask again."""
    all_under_lock(monkeypatch)
    monkeypatch.setattr("fairhold.door._GIVE_UP_S", 0.2)
    monkeypatch.setattr(outcomes, "_GIVE_UP_S", 10_000.0)
    async with (
        proxied(postgres_url) as (proxy, through),
        Fairhold.open(through, secret=SECRET, ticker=False) as hf,
    ):
        granted(await hf.create_pool("hall", quotas={"main": 9}, preset="checkout"))
        proxy.at_commit = ["cut after"]
        proxy.refusing = True
        before = proxy.commits
        first = asyncio.create_task(hf.book("hall", "Ann"))
        await until(lambda: proxy.commits > before)
        with pytest.raises(Unavailable):
            await asyncio.wait_for(hf.book("hall", "Bea"), PATIENCE_S)
        assert not first.done()
        proxy.refusing = False
        granted(await asyncio.wait_for(first, PATIENCE_S))
    assert [booking.party for booking in bookings(await untouched(postgres_url))] == ["Ann"]
