"""However long the line is, a decision looks at hundreds of rows: on a line of 100,000, and on odd ones."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fairhold import Fairhold, TestClock, granted
from fairhold.clock import to_datetime
from fairhold.core.commands import Tick
from fairhold.store import loader
from testbed.postgres import fresh_database
from tests.database import START, opened
from tests.engine.long_lines import LONG, ODD, WISHES, prepare

HUNDREDS = 700


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """One database for the module, with the long lines in it."""
    if request.param == "sqlite":
        path: Path = tmp_path_factory.mktemp("long") / "fairhold.db"
        asyncio.run(prepare(f"sqlite:///{path}"))
        yield f"sqlite:///{path}"
        return
    with fresh_database(request.getfixturevalue("postgres_server_url")) as fresh:
        asyncio.run(prepare(fresh))
        yield fresh


@pytest.fixture
async def hf(url: str) -> AsyncIterator[Fairhold]:
    """Opened anew for each test, so that nothing is remembered."""
    async with opened(url) as hf:
        yield hf


@contextmanager
def few_rows(hf: Fairhold, most: int = HUNDREDS) -> Iterator[None]:
    """What happens inside looks at few rows."""
    hf.engine.memory.__init__()  # type: ignore[misc]
    before = hf.engine.rows_loaded
    yield
    assert 0 < hf.engine.rows_loaded - before <= most


async def someone(hf: Fairhold, pool: str, state: str, skip: int = 0) -> str:
    return granted(await hf.bookings(pool, state=state, limit=skip + 1))[skip].id


async def in_line(hf: Fairhold, pool: str, position: int) -> str:
    return granted(await hf.line(pool, after=position - 1, limit=1))[0].id


async def test_the_line_is_long(hf: Fairhold) -> None:
    assert granted(await hf.pool("long")).waiting >= LONG - 100
    last = granted(await hf.line("long", after=LONG - 100, limit=1))[0]
    assert last.position == await hf.position(last.id) == LONG - 99


async def test_joining(hf: Fairhold) -> None:
    waiting = granted(await hf.pool("long")).waiting
    with few_rows(hf):
        assert granted(await hf.book("long", "newcomer")).position == waiting + 1


async def test_joining_in_the_middle_by_priority(hf: Fairhold) -> None:
    with few_rows(hf):
        assert granted(await hf.book("long", {"id": "vip", "tags": ["first"]})).position == 1
    with few_rows(hf):
        assert granted(await hf.book("long", {"id": "star", "tags": ["next"]})).position == 2


async def test_a_crowd_that_joins_at_once(hf: Fairhold) -> None:
    with few_rows(hf):
        joined = await asyncio.gather(*(hf.book("long", f"one of a crowd {n}") for n in range(200)))
    positions = sorted(granted(booking).position for booking in joined)  # type: ignore[union-attr]
    assert positions == list(range(positions[0], positions[0] + 200))


@pytest.mark.parametrize("position", [1, 50_000, 99_000])
async def test_leaving_from_anywhere(hf: Fairhold, position: int) -> None:
    leaver, follower = await in_line(hf, "long", position), await in_line(hf, "long", position + 1)
    with few_rows(hf):
        assert granted(await hf.cancel(leaver)).position == position
    assert await hf.position(follower) == position


async def test_confirming_and_extending(hf: Fairhold) -> None:
    with few_rows(hf):
        assert granted(await hf.extend(await someone(hf, "long", "held"), 60)).state == "held"
    with few_rows(hf):
        assert granted(await hf.confirm(await someone(hf, "long", "held"))).state == "confirmed"


async def test_a_seat_given_back_is_offered_to_the_first(hf: Fairhold) -> None:
    first = await in_line(hf, "long", 1)
    with few_rows(hf):
        granted(await hf.cancel(await someone(hf, "long", "confirmed")))
    assert granted(await hf.booking(first)).state == "offered"


async def test_declining_rolls_on_and_claiming_ends_it(hf: Fairhold) -> None:
    granted(await hf.cancel(await someone(hf, "long", "confirmed")))
    offered = await someone(hf, "long", "offered")
    with few_rows(hf):
        assert granted(await hf.decline(offered)).state == "declined"
    offer = granted(await hf.booking(await someone(hf, "long", "offered"), secret=True)).offer
    assert offer is not None
    with few_rows(hf):
        assert granted(await hf.claim(offer.token)).state == "confirmed"


async def test_moves_by_staff(hf: Fairhold) -> None:
    for position in (90_000, 2):
        with few_rows(hf):
            assert granted(await hf.move(await in_line(hf, "long", position), "front")).position == 1
    with few_rows(hf):
        moved = granted(await hf.move(await in_line(hf, "long", 3), "back"))
    assert moved.position == granted(await hf.pool("long")).waiting
    after = await in_line(hf, "long", 40_000)
    with few_rows(hf):
        assert granted(await hf.move(await in_line(hf, "long", 7), after=after)).position == 40_000


async def test_an_offer_out_of_turn(hf: Fairhold) -> None:
    granted(await hf.change_pool("long", status="paused"))
    granted(await hf.cancel(await someone(hf, "long", "confirmed")))
    chosen = await in_line(hf, "long", 60_000)
    with few_rows(hf):
        assert granted(await hf.offer(chosen)).state == "offered"
    with few_rows(hf):
        granted(await hf.change_pool("long", status="open"))


async def test_changes_of_size(hf: Fairhold) -> None:
    size = granted(await hf.pool("long")).quotas[0].size or 0
    with few_rows(hf):
        granted(await hf.change_pool("long", sizes={"main": size + 5}))
    with few_rows(hf):
        granted(await hf.change_pool("long", sizes={"main": size}, allow_demotion=True))
    with few_rows(hf):
        granted(await hf.change_pool("long", title="A long line", dry_run=True))
    with few_rows(hf):
        granted(await hf.fill("long"))


async def test_a_tick_that_ends_holds_and_offers(url: str) -> None:
    async with opened(url, clock=TestClock(START + 25 * 3_600_000)) as hf:
        with few_rows(hf):
            assert await hf.tick("long") == 1


async def test_a_whole_line_that_runs_out_goes_in_pieces(url: str) -> None:
    """10,000 signups that were not confirmed in time: hundreds in each transaction, until all are gone."""
    async with opened(url, clock=TestClock(START + 2 * 3_600_000)) as hf:
        while granted(await hf.pool("signup")).waiting:
            with few_rows(hf, 3 * loader.DUE_MAX):
                await hf._on_pool("signup", Tick())
        assert granted(await hf.stats("signup")).bookings["expired"] >= ODD


# Odd lines.


async def test_nobody_in_line_fits_the_one_free_seat(hf: Fairhold) -> None:
    """Everyone wants two. The seat that is free goes to who wants one, and nobody is looked at one by one."""
    with few_rows(hf):
        granted(await hf.cancel(await someone(hf, "pairs", "confirmed")))
    assert granted(await hf.room("pairs")) == {"main": 1}
    with few_rows(hf):
        assert granted(await hf.book("pairs", "single")).state == "held"
    with few_rows(hf):
        granted(await hf.cancel(await someone(hf, "pairs", "confirmed")))
    with few_rows(hf):
        granted(await hf.cancel(await someone(hf, "pairs", "confirmed")))
    assert granted(await hf.stats("pairs")).offers_live == 1


async def test_everyone_had_a_turn_in_this_round(hf: Fairhold) -> None:
    first = await in_line(hf, "turns", 1)
    with few_rows(hf):
        granted(await hf.cancel(await someone(hf, "turns", "confirmed")))
    assert granted(await hf.booking(first)).state == "offered"
    assert granted(await hf.pool("turns")).round == 2
    with few_rows(hf):
        granted(await hf.decline(first))
    assert granted(await hf.booking(await someone(hf, "turns", "offered"))).position == 2


async def test_the_first_few_hundred_are_not_eligible(hf: Fairhold) -> None:
    """Each of them has to be asked, so it takes as many more rows; never those behind who is found."""
    first = await in_line(hf, "members", 301)
    with few_rows(hf, 3 * HUNDREDS):
        granted(await hf.cancel(await someone(hf, "members", "confirmed")))
    assert granted(await hf.booking(first)).state == "offered"


async def test_nobody_in_line_can_use_the_unit_that_is_free(hf: Fairhold) -> None:
    """All wait for a window, and an aisle seat comes free: it is handed back without asking all of them."""
    with few_rows(hf):
        granted(await hf.cancel(await someone(hf, "seats", "confirmed")))
    with few_rows(hf):
        granted(await hf.book("seats", "newcomer"))
    with few_rows(hf):
        granted(await hf.add_units("seats", [{"label": "w", "attributes": {"side": "window"}}]))
    offered = granted(await hf.booking(await someone(hf, "seats", "offered")))
    assert (offered.units, offered.position) == (("w",), 1)


async def test_everyone_wants_something_else(hf: Fairhold) -> None:
    """Each has to be asked, once: the first in line must not be missed among very many kinds of wishes."""
    first = await in_line(hf, "wishes", 1)
    starts_at = to_datetime(START + 43_200_000)
    with few_rows(hf, 4 * WISHES):
        granted(await hf.add_units("wishes", [{"label": "noon", "starts_at": starts_at}]))
    offered = granted(await hf.booking(first))
    assert (offered.state, offered.units) == ("offered", ("noon",))


async def test_a_loader_that_takes_the_whole_line_would_be_noticed(
    hf: Fairhold, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loader, "_HEADS", 10**6)
    with pytest.raises(AssertionError), few_rows(hf):
        granted(await hf.cancel(await someone(hf, "long", "confirmed")))
