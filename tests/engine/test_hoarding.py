"""Live holds are limited by where they come from and by party, counted in the database over all processes."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import pytest

from fairhold import Fairhold, Refusal, granted
from fairhold.engine.limits import Source
from tests.database import ask, dump, opened
from tests.engine.test_ahead import slowly, soon
from tests.verified import assert_verified

BOT, OTHER = Source("bot", 3, 2), Source("other", 3, 2)


@pytest.fixture
async def hf(database_url: str) -> AsyncIterator[Fairhold]:
    async with opened(database_url) as hf:
        for pool in ("a", "b"):
            policy = {"holds_per_party_max": None}
            granted(await hf.create_pool(pool, preset="checkout", quotas={"main": 99}, policy=policy))
        yield hf
    await assert_verified(database_url)


def outcome(answer: Any) -> str:
    return answer.code if isinstance(answer, Refusal) else str(answer.state)


async def test_of_many_at_once_from_one_source_only_so_many_are_held(hf: Fairhold) -> None:
    asked = [hf.book("ab"[n % 2], f"party {n}", source=BOT) for n in range(50)]
    assert Counter(map(outcome, await asyncio.gather(*asked))) == {"held": 3, "too_many_requests": 47}
    assert outcome(await hf.book("a", "party 99", source=OTHER)) == "held"
    assert outcome(await hf.book("a", "party 98")) == "held", "who is no stranger is not limited"


async def test_one_party_holds_only_so_many_from_wherever_it_asks(hf: Fairhold) -> None:
    for pool, source in (("a", BOT), ("b", OTHER)):
        assert outcome(await hf.book(pool, "ann", source=source)) == "held"
    refused = await hf.book("a", "ann", source=OTHER)
    assert isinstance(refused, Refusal)
    assert refused.sentence.startswith("This party has 2 live holds")
    assert refused.facts == {"retry_after_s": 900}
    other = hf.for_org("theirs")
    granted(await other.create_pool("c", preset="checkout", quotas={"main": 9}))
    assert outcome(await other.book("c", "ann", source=OTHER)) == "held", "another org's Ann is another"


@pytest.mark.parametrize("how", ["confirm", "cancel", "expire"])
async def test_a_hold_that_is_over_does_not_count(hf: Fairhold, database_url: str, how: str) -> None:
    holds = [granted(await hf.book("a", f"party {n}", source=BOT)) for n in range(3)]
    assert outcome(await hf.book("b", "late", source=BOT)) == "too_many_requests"
    sources = "SELECT count(*) FROM fairhold_bookings WHERE source IS NOT NULL"
    assert await ask(database_url, sources) == [(3,)]
    if how == "expire":
        await hf.advance(seconds=900)
    else:
        granted(await getattr(hf, how)(holds[0].id))
    assert outcome(await hf.book("b", "late", source=BOT)) == "held"
    left = 1 if how == "expire" else 3
    assert await ask(database_url, sources) == [(left,)], "what is decided forgets where it came from"


async def test_who_comes_from_the_line_to_a_hold_counts_too(hf: Fairhold) -> None:
    granted(await hf.create_pool("gig", preset="event_signup", quotas={"main": 1}))
    first = granted(await hf.book("gig", "olga"))
    for n in range(3):
        assert outcome(await hf.book("gig", f"party {n}", source=BOT)) == "waiting"
    granted(await hf.cancel(first.id))
    assert outcome(await hf.book("a", "x", source=BOT)) == "held"
    assert outcome(await hf.book("a", "y", source=BOT)) == "held"
    assert outcome(await hf.book("a", "z", source=BOT)) == "too_many_requests"


async def test_a_no_for_now_is_not_kept_under_the_key_and_a_yes_is(hf: Fairhold) -> None:
    holds = [granted(await hf.book("a", f"p{n}", source=BOT, idempotency_key=f"k{n}")) for n in range(3)]
    assert await hf.book("a", "p0", source=BOT, idempotency_key="k0") == holds[0]
    elsewhere = await hf.book("a", "p0", source=OTHER, idempotency_key="k0")
    assert elsewhere == holds[0], "a phone may ask again from another network"
    assert outcome(await hf.book("a", "p3", source=BOT, idempotency_key="k3")) == "too_many_requests"
    granted(await hf.cancel(holds[0].id))
    assert outcome(await hf.book("a", "p3", source=BOT, idempotency_key="k3")) == "held"


async def test_two_processes_count_together(database_url: str, hf: Fairhold) -> None:
    async with opened(database_url) as second:
        asked = [(hf, second)[n % 2].book("a", f"party {n}", source=BOT) for n in range(40)]
        assert Counter(map(outcome, await asyncio.gather(*asked))) == {"held": 3, "too_many_requests": 37}
    # Control: what one process counts, another that starts later knows.
    async with opened(database_url) as third:
        assert outcome(await third.book("b", "late", source=BOT)) == "too_many_requests"


async def held_by_one_source(hf: Fairhold, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Ask for three holds in one pool; while they are being written, for three in another."""
    await slowly(hf, monkeypatch)
    asked = [
        await soon(hf, asyncio.gather(*(hf.book(pool, f"{pool} {n}", source=BOT) for n in range(3))))
        for pool in "ab"
    ]
    return Counter(outcome(it) for some in await asyncio.gather(*asked) for it in some)


async def test_holds_that_are_being_written_count(hf: Fairhold, monkeypatch: pytest.MonkeyPatch) -> None:
    """The counts are of what is committed, so who has a limit waits for the batch in flight."""
    # Both pools are in hand.
    for pool in "ab":
        granted(await hf.book(pool, "olga"))
    assert await held_by_one_source(hf, monkeypatch) == {"held": 3, "too_many_requests": 3}


async def test_control_without_waiting_for_the_flight_a_source_holds_twice_as_much(
    hf: Fairhold, monkeypatch: pytest.MonkeyPatch
) -> None:
    for pool in "ab":
        granted(await hf.book(pool, "olga"))
    monkeypatch.setattr("fairhold.engine.batch._asks_of_all_pools", lambda job: False)
    assert await held_by_one_source(hf, monkeypatch) == {"held": 6}


async def test_where_somebody_came_from_is_in_no_log_and_goes_with_them(
    hf: Fairhold, database_url: str
) -> None:
    source = Source("0123456789abcdef", 3, 3)
    granted(await hf.book("a", "ann", source=source))
    tables = await dump(database_url)
    assert [name for name, rows in tables.items() if source.address in str(rows)] == ["fairhold_bookings"]
    granted(await hf.erase_person("ann", cancel=True))
    assert source.address not in str(await dump(database_url))


async def test_a_limit_of_nothing_is_none(hf: Fairhold) -> None:
    free = Source("free", 0, 0)
    answers = [await hf.book("a", "ann", source=free) for _ in range(12)]
    assert Counter(map(outcome, answers)) == {"held": 12}
