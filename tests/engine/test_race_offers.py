"""Races for an offer: claims, declines and the end of its window, and only one of them happens."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest

from fairhold import Fairhold, SyncFairhold, granted, open_sync
from fairhold.clock import TestClock, from_datetime
from fairhold.core import decide
from fairhold.errors import CommandFailed
from tests.database import SECRET, START, ask
from tests.engine.looking import Picture, events, look, look_now, wrong
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
    without_windows,
)
from tests.verified import assert_verified

TAPS = 24


async def offered(hf: Fairhold, pool: str = "chair", **policy: Any) -> tuple[str, str]:
    """Ann is offered the one chair, Bea and Cyd wait behind her. The token, and Ann's booking."""
    granted(await hf.create_pool(pool, quotas={"main": 1}, preset="last_minute", policy=policy))
    olga = granted(await hf.book(pool, "Olga", confirmed=True, by="staff"))
    ann, *_ = [granted(await hf.book(pool, party)) for party in ("Ann", "Bea", "Cyd")]
    granted(await hf.cancel(olga.id))
    found = granted(await hf.booking(ann.id, secret=True))
    assert found.offer is not None
    return found.offer.token, ann.id


def offered_in_threads(hf: SyncFairhold) -> str:
    return hf.run(offered(hf.hf))[0]


def unfair(picture: Picture, said: Counter[str]) -> list[str]:
    """Ann's offer ended in one way, and everybody was told the same about it."""
    found = wrong(picture)
    ends = [kind for kind, booking, _ in events(picture, "Claimed", "Declined", "Lapsed") if booking == 2]
    if len(ends) != 1:
        return [*found, f"the offer ended in {ends}"]
    told = {"Claimed": {"confirmed", "offer_answered"}, "Declined": {"waiting", "offer_answered"}}
    if set(said) - told[ends[0]]:
        found.append(f"the offer was {ends[0]}, and somebody was told {dict(said)}")
    return found


def test_one_person_who_taps_many_times_gets_the_same_yes(database_url: str) -> None:
    with open_sync(database_url, secret=SECRET) as hf:
        token = offered_in_threads(hf)
        answers = at_once([lambda: hf.claim(token)] * TAPS)

    said = Counter(map(outcome, answers))
    assert said == {"confirmed": TAPS}
    assert len({granted(answer).id for answer in answers}) == 1
    picture = look_now(database_url)
    assert unfair(picture, said) == []
    assert [row[3] for row in picture.outbox].count("confirmed") == 2  # Olga's, and Ann's one
    asyncio.run(assert_verified(database_url))


def test_claims_and_declines_of_one_offer_have_one_outcome(database_url: str) -> None:
    with open_sync(database_url, secret=SECRET) as hf:
        token = offered_in_threads(hf)
        taps = [lambda: hf.claim(token), lambda: hf.decline(token)] * (TAPS // 2)
        said = Counter(map(outcome, at_once(taps)))

    assert unfair(look_now(database_url), said) == []
    assert said["offer_answered"] == TAPS // 2


def test_taps_at_three_processes_have_one_outcome(database_url: str) -> None:
    with open_sync(database_url, secret=SECRET) as hf:
        token = offered_in_threads(hf)
    tapping = {"claims": [token] * 8, "declines": [token] * 8}
    found = run_together(*(Worker("answer", database_url, **tapping) for _ in range(3)))

    said = sum((Counter(answers) for answers in found), Counter())
    assert said.total() == 48
    assert unfair(look_now(database_url), said) == []
    asyncio.run(assert_verified(database_url))


async def test_of_two_people_offered_one_chair_after_another_only_the_second_can_take_it(
    database_url: str,
) -> None:
    async with nodes(database_url, clock=TestClock(START)) as (one, other):
        ann, _ = await offered(one)
        await one.advance(seconds=600)
        bea = [
            granted(await one.booking(b.id, secret=True))
            for b in await one.bookings("chair", state="offered")
        ]
        assert [booking.party.id for booking in bea] == ["Bea"]

        taps = [node.claim(token) for node in (one, other) for token in (ann, bea[0].offer.token) * 5]
        said = Counter(map(outcome, await asyncio.gather(*taps)))

    assert said == {"confirmed": 10, "offer_expired": 10}
    picture = await look(database_url)
    assert wrong(picture) == []
    assert [kind for kind, _, _ in events(picture, "Claimed", "Lapsed")] == ["Lapsed", "Claimed"]


# Two nodes at the same moment, with and without what protects them.


async def two_claims(url: str, token: str) -> list[str]:
    async with nodes(url) as (one, other):
        said = Counter(map(outcome, await asyncio.gather(one.claim(token), other.claim(token))))
    return unfair(await look(url), said)


async def claim_and_decline(url: str, token: str) -> list[str]:
    async with nodes(url) as (one, other):
        said = Counter(map(outcome, await asyncio.gather(one.claim(token), other.decline(token))))
    return unfair(await look(url), said)


async def prepare(url: str) -> str:
    async with nodes(url, 1) as (hf,):
        return (await offered(hf))[0]


@pytest.mark.parametrize("race", [two_claims, claim_and_decline])
@pytest.mark.parametrize("under_lock", [False, True])
async def test_two_nodes_that_decide_at_the_same_moment_end_an_offer_once(
    database_url: str, race: Any, under_lock: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = await prepare(database_url)
    if under_lock:
        always_under_lock(monkeypatch)
    meet_before_writing(monkeypatch)
    assert await race(database_url, token) == []


@pytest.mark.parametrize("race", [two_claims, claim_and_decline])
@pytest.mark.parametrize("under_lock", [False, True])
async def test_control_without_the_lock_the_conditional_write_stops_the_second(
    database_url: str,
    race: Any,
    under_lock: bool,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    token = await prepare(database_url)
    if under_lock:
        always_under_lock(monkeypatch)
    without_lock(monkeypatch, database_url)
    await without_keys(database_url)
    meet_before_writing(monkeypatch)
    assert await race(database_url, token) == []


@pytest.mark.guarantee("two-taps", "One offer ends twice, with a yes and a no.", control=True)
@pytest.mark.parametrize("race", [two_claims, claim_and_decline])
@pytest.mark.parametrize("under_lock", [False, True])
@pytest.mark.tampered
async def test_control_without_lock_and_conditions_an_offer_ends_twice(
    database_url: str, race: Any, under_lock: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = await prepare(database_url)
    if under_lock:
        always_under_lock(monkeypatch)
    without_lock(monkeypatch, database_url)
    without_conditions(monkeypatch, database_url)
    await without_keys(database_url)
    meet_before_writing(monkeypatch, for_sure=True)
    assert await race(database_url, token) != []


# The end of the window.


async def untimely(url: str) -> list[str]:
    """Offers that were claimed or declined when their window had ended, or lapsed before it had."""
    found = await ask(
        url,
        """SELECT l.kind, l.at - o.expires_at FROM fairhold_log AS l
        JOIN fairhold_offers AS o ON o.pool_id = l.pool_id AND o.booking = l.booking AND o.seq = 1
        WHERE l.kind IN ('Claimed', 'Declined', 'Lapsed')""",
    )
    return [f"{kind} {late} ms late" for kind, late in found if (kind == "Lapsed") != (late >= 0)]


@pytest.mark.parametrize("tap", ["claim", "decline"])
async def test_a_tap_at_the_end_of_the_window_is_in_time_or_late_and_never_both(
    database_url: str, tap: str
) -> None:
    after = [-3_600, -0.02, -0.01, -0.004, -0.002, 0, 0.002, 0.004, 0.01, 0.02, 0.4]
    async with nodes(database_url, ticker=True) as (one, other):
        # The first has so much time that it is in time on any machine; the last is late on any.
        windows = [3_600, *[2] * (len(after) - 1)]
        policy: dict[str, Any] = {"after_lapse": "leave", "after_decline": "leave"}
        made = await asyncio.gather(
            *(offered(one, f"chair-{n}", offer_window=window, **policy) for n, window in enumerate(windows))
        )

        async def tap_twice(token: str, booking: str, late_s: float) -> set[str]:
            found = granted(await one.booking(booking))
            # On a machine that stands still it may be over by now: then it is late at once.
            if found.expires_at is not None:
                await asyncio.sleep((from_datetime(found.expires_at) - one.clock.now()) / 1000 + late_s)
            return set(
                map(outcome, await asyncio.gather(*(getattr(node, tap)(token) for node in (one, other))))
            )

        said = await asyncio.gather(
            *(tap_twice(*offer, late_s) for offer, late_s in zip(made, after, strict=True))
        )

    yes = {"claim": "confirmed", "decline": "declined"}[tap]
    assert all(answers in ({yes}, {"offer_expired"}) for answers in said)
    assert (said[0], said[-1]) == ({yes}, {"offer_expired"})
    picture = await look(database_url)
    assert wrong(picture) == []
    assert await untimely(database_url) == []
    ends = Counter((row[0], row[3]) for row in picture.log if row[2] in ("Claimed", "Declined", "Lapsed"))
    assert set(ends.values()) == {1}
    await assert_verified(database_url)


@pytest.mark.parametrize("tap", ["claim", "decline"])
async def test_a_tap_after_the_window_is_late_though_no_timer_has_fired(database_url: str, tap: str) -> None:
    async with nodes(database_url, 1, clock=TestClock(START)) as (hf,):
        token, _ = await offered(hf)
        hf.clock.move_to(START + 600_000)
        assert outcome(await getattr(hf, tap)(token)) == "offer_expired"
    assert await untimely(database_url) == []


async def test_a_late_claim_is_not_written_whatever_was_decided(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Deadlines are judged in the decision; should that ever fail, the write itself asks for the window."""
    monkeypatch.setattr(decide, "expire", lambda work: None)
    async with nodes(database_url, 1, clock=TestClock(START)) as (hf,):
        token, ann = await offered(hf)
        hf.clock.move_to(START + 600_000)
        with pytest.raises(CommandFailed, match="answer_offers found something else"):
            await hf.claim(token)
        assert granted(await hf.booking(ann)).state == "offered"
    assert await untimely(database_url) == []


async def test_a_claim_in_the_last_moment_is_written(database_url: str) -> None:
    async with nodes(database_url, 1, clock=TestClock(START)) as (hf,):
        token, _ = await offered(hf)
        hf.clock.move_to(START + 599_999)
        assert outcome(await hf.claim(token)) == "confirmed"


@pytest.mark.guarantee("timers", "A late tap is taken while the timer sleeps.", control=True)
@pytest.mark.parametrize("tap", ["claim", "decline"])
async def test_control_without_judging_deadlines_a_late_tap_is_taken(
    database_url: str, tap: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For a claim two protections are taken away: the decision's, and that of the write."""
    monkeypatch.setattr(decide, "expire", lambda work: None)
    without_windows(monkeypatch, database_url)
    async with nodes(database_url, 1, clock=TestClock(START)) as (hf,):
        token, _ = await offered(hf)
        hf.clock.move_to(START + 600_000)
        await getattr(hf, tap)(token)
    assert await untimely(database_url) != []
