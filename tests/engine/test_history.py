"""Looking back: the log from its end, what it adds up to, and whether it is whole."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from fairhold import Fairhold, Refusal, granted
from fairhold.history import SCANNED_MAX
from fairhold.numbers import ENTRIES_MAX, Entry, Standing, changes, figures
from fairhold.store import rows
from tests.database import START, ask, opened
from tests.engine.lively import Lively, make_pools

HOUR = 3_600


@pytest.fixture
async def hf(database_url: str) -> AsyncIterator[Fairhold]:
    async with opened(database_url) as hf:
        yield hf


async def salon(hf: Fairhold) -> dict[str, str]:
    """Olga has the chair and gives it back; Ann does not answer, Bea declines, Cyd claims."""
    units = [{"label": "2 pm"}, {"label": "5 pm"}]
    granted(await hf.create_pool("salon", preset="last_minute", quotas=[{"key": "chair", "units": units}]))
    found = {}
    for name, label in (("olga", "2 pm"), ("eve", "5 pm")):
        found[name] = granted(await hf.book("salon", name, units=[label], confirmed=True, by="staff")).id
    for name in ("ann", "bea", "cyd"):
        found[name] = granted(await hf.book("salon", name)).id
    await hf.advance(seconds=60)
    await hf.cancel(found["olga"])
    await hf.advance(seconds=600)
    await hf.decline(found["bea"])
    await hf.advance(seconds=120)
    offer = granted(await hf.booking(found["cyd"], secret=True)).offer
    assert offer is not None
    granted(await hf.claim(offer.token))
    return found


def events(page: Any) -> list[str]:
    return [entry.event for entry in granted(page).entries]


async def test_the_newest_comes_first_and_pages_lead_back_to_the_beginning(hf: Fairhold) -> None:
    await salon(hf)
    whole = granted(await hf.log("salon", limit=1000))
    found, before = [], None
    while True:
        page = granted(await hf.history("salon", before=before, limit=4))
        found += page.entries
        before = page.earlier
        if before is None:
            break
    assert found == whole[::-1]


async def test_one_may_look_for_some_of_it_alone(hf: Fairhold) -> None:
    await salon(hf)
    assert events(await hf.history("salon", topic="offers")) == [
        "Claimed",
        "Offered",
        "Declined",
        "Offered",
        "Lapsed",
        "Offered",
    ]
    assert set(events(await hf.history("salon", actor="staff"))) == {"Held", "UnitsAdded", "PoolCreated"}
    assert events(await hf.history("salon", actor="party", topic="ends")) == ["Cancelled"]
    assert events(await hf.history("salon", actor="rule", topic="offers")) == [
        "Offered",
        "Offered",
        "Lapsed",
        "Offered",
    ]


async def test_a_seat_has_a_story_of_its_own(hf: Fairhold) -> None:
    found = await salon(hf)
    page = granted(await hf.history("salon", unit="2 pm"))
    assert [(entry.event, entry.booking) for entry in page.entries if entry.booking] == [
        ("Claimed", found["cyd"]),
        ("Offered", found["cyd"]),
        ("Declined", found["bea"]),
        ("Offered", found["bea"]),
        ("Lapsed", found["ann"]),
        ("Offered", found["ann"]),
        ("Cancelled", found["olga"]),
        ("Held", found["olga"]),
    ]
    assert {"OpeningStarted", "OpeningEnded", "UnitsAdded"} <= {entry.event for entry in page.entries}
    assert events(await hf.history("salon", unit="no such chair")) == []


async def test_a_page_looks_at_so_much_and_says_where_to_go_on(
    hf: Fairhold, monkeypatch: pytest.MonkeyPatch
) -> None:
    await salon(hf)
    monkeypatch.setattr("fairhold.history.SCANNED_MAX", 6)
    monkeypatch.setattr("fairhold.history._AT_ONCE", 3)
    page = granted(await hf.history("salon", topic="pool"))
    assert page.entries == ()
    assert page.earlier is not None
    seen = 0
    while page.earlier is not None:
        page = granted(await hf.history("salon", topic="pool", before=page.earlier))
        seen += len(page.entries)
    assert seen == 2
    assert SCANNED_MAX >= 1_000


@pytest.mark.parametrize(
    ("wrong", "field"),
    [({"topic": "all"}, "topic"), ({"actor": "me"}, "actor"), ({"limit": 0}, "limit"), ({"unit": 7}, "unit")],
)
async def test_what_cannot_be_looked_for_is_refused(hf: Fairhold, wrong: dict[str, Any], field: str) -> None:
    await salon(hf)
    answer = await hf.history("salon", **wrong)
    assert isinstance(answer, Refusal)
    assert (answer.code, answer.field) == ("invalid", field)


async def test_other_orgs_see_nothing_of_it(hf: Fairhold) -> None:
    await salon(hf)
    theirs = hf.for_org("theirs")
    for answer in (
        await theirs.history("salon"),
        await theirs.numbers("salon"),
        await theirs.verify("salon"),
    ):
        assert isinstance(answer, Refusal)
        assert answer.code == "unknown"


@pytest.mark.tampered
async def test_a_pool_is_verified_and_what_was_tampered_with_is_named(
    hf: Fairhold, database_url: str
) -> None:
    await salon(hf)
    assert granted(await hf.verify("salon")).whole
    await ask(database_url, "UPDATE fairhold_log SET by = 'staff:Mallory' WHERE seq = 5")
    report = granted(await hf.verify("salon"))
    assert not report.whole
    assert "log_tells_all" in {finding.promise for finding in report.findings}


async def test_the_numbers_tell_of_freed_seats_and_offers(hf: Fairhold) -> None:
    await salon(hf)
    await hf.advance(seconds=3 * HOUR)
    found = granted(await hf.numbers("salon", days=1))
    ended = {"claimed": 1, "declined": 1, "lapsed": 1, "withdrawn": 0, "unreachable": 0, "live": 0}
    assert found.outcomes == ended
    assert found.filled_within == (0, 1, 0, 0, 0, 0)
    assert found.filled_median_s == 720
    assert found.tries == (0, 0, 1, 0, 0)
    assert (found.capacity, found.points[-1].used, found.points[-1].waiting) == (2, 2, 2)
    assert not found.cut_short
    hour = (START // 3_600_000) % 24
    assert [(it.hour, it.offers, it.unanswered) for it in found.hours if it.offers] == [(hour, 3, 1)]
    assert (found.points[0].used, found.points[0].waiting) == (0, 0)


async def test_quiet_pools_have_numbers_too(hf: Fairhold) -> None:
    granted(await hf.create_pool("new", quotas={"main": None}))
    found = granted(await hf.numbers("new"))
    assert found.capacity is None
    assert {point.used for point in found.points} == {0}
    assert found.filled_median_s is None
    for days in (0, 400, True, "7"):
        assert isinstance(await hf.numbers("new", days=days), Refusal)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(2))
async def test_fill_and_line_are_what_they_were(hf: Fairhold, seed: int) -> None:
    """Whatever happened: told from the log alone, seats and line are those that were seen at the time."""
    pools = await make_pools(hf)
    lively = Lively(hf, pools, seed)
    seen: dict[str, dict[int, tuple[int, int]]] = {pool: {} for pool in pools}
    for _ in range(150):
        await lively.step()
        for pool in pools:
            state = granted(await hf.pool(pool))
            pool_id = await hf.reads.pool_id(pool, hf.org)
            assert pool_id is not None
            seats = sum(quota.used for quota in state.quotas)
            seen[pool][await hf.reads.log_seq(pool_id)] = (seats, state.waiting)
    for pool in pools:
        log = await logged(hf, pool)
        for seq, was in seen[pool].items():
            steps = changes(log[:seq])
            assert (sum(it[1] for it in steps), sum(it[2] for it in steps)) == was, f"{pool} {seq}"
        # The same from the end of the log alone, backwards from how it stands.
        last = max(seen[pool])
        for begin in range(0, last, 7):
            used, waiting = seen[pool][last]
            steps = changes(log[begin:last])
            before = changes(log[:begin])
            assert used - sum(it[1] for it in steps) == sum(it[1] for it in before), f"{pool} {begin}"
            assert waiting - sum(it[2] for it in steps) == sum(it[2] for it in before), f"{pool} {begin}"


async def logged(hf: Fairhold, pool: str) -> list[Entry]:
    pool_id = await hf.reads.pool_id(pool, hf.org)
    found = await hf.store.reader().rows("log_with_quantities", pool_id, ENTRIES_MAX)
    return [Entry(*row[:4], rows.mapping_of(row[4]), row[5]) for row in reversed(found)]  # type: ignore[call-arg]


def test_a_log_that_was_not_read_to_its_beginning_says_so() -> None:
    entry = Entry(7, START, "Cancelled", 1, {"position": None}, 2)
    found = figures([entry], Standing(3, 0, 0, 5), START - 86_400_000, START + 60_000, "UTC")
    assert found.cut_short
    assert [point.used for point in found.points[-1:]] == [3]
    whole = figures([entry._replace(seq=1)], Standing(3, 0, 0, 5), START - 86_400_000, START + 60_000, "UTC")
    assert not whole.cut_short
    assert (whole.points[0].used, whole.points[-1].used) == (5, 3)
