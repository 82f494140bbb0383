"""A clock that is set wrong ends nothing and undoes nothing, and the alarm is raised where people look."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from fairhold import Fairhold, TestClock, granted
from fairhold import clock as clocks
from fairhold.clock import BELIEVED_AFTER, LEAP, SystemClock
from fairhold.engine import ticker as tickers
from fairhold.errors import SettingsWrong
from tests.database import SECRET
from tests.patience import until

HOUR = 3_600_000
DAY = 24 * HOUR


class Machine:
    """A machine whose clock can be set, and which counts on evenly all the same."""

    def __init__(self) -> None:
        self.steady = 500
        self.set_by = 1_800_000_000_000

    def clock(self) -> SystemClock:
        return SystemClock(lambda: self.set_by + self.steady, lambda: self.steady)


def test_time_goes_with_the_machine() -> None:
    machine = Machine()
    clock, start = machine.clock(), machine.set_by
    for later in (500, 700, DAY, 100 * DAY):
        machine.steady = later
        assert (clock.now(), clock.ahead_s) == (start + later, 0)


@pytest.mark.parametrize("leap", [HOUR, DAY, -HOUR, -DAY, LEAP + 1, -LEAP - 1])
def test_a_leap_is_not_followed_and_is_told(leap: int) -> None:
    machine = Machine()
    clock = machine.clock()
    before = clock.now()
    machine.set_by += leap
    machine.steady += 5_000
    assert clock.now() == before + 5_000
    assert clock.ahead_s == round(leap / 1000)
    machine.set_by -= leap
    machine.steady += 5_000
    assert (clock.now(), clock.ahead_s) == (before + 10_000, 0)


def test_a_leap_forward_that_stays_is_believed_and_one_back_never() -> None:
    for leap, believed in ((HOUR, True), (-HOUR, False)):
        machine = Machine()
        clock = machine.clock()
        before = clock.now()
        machine.set_by += leap
        clock.now()
        machine.steady += BELIEVED_AFTER - 1
        assert clock.now() == before + BELIEVED_AFTER - 1
        machine.steady += 1
        assert clock.now() == before + BELIEVED_AFTER + (leap if believed else 0)
        assert (clock.ahead_s == 0) == believed


@pytest.mark.parametrize(("agrees", "leap"), [(True, DAY), (False, DAY), (False, HOUR)])
def test_where_there_is_another_clock_a_leap_is_believed_only_if_it_agrees(agrees: bool, leap: int) -> None:
    machine = Machine()
    clock, other = machine.clock(), machine.set_by
    before = clock.now()
    clock.compare(other + machine.steady)
    machine.set_by += leap
    clock.now()
    for _ in range(3):
        machine.steady += BELIEVED_AFTER
        clock.compare(other + machine.steady + (leap if agrees else 0))
        assert clock.now() - before == machine.steady - 500 + (leap if agrees else 0)
    assert clock.ahead_s == (0 if agrees else leap // 1000)


def test_what_the_other_clock_said_last_counts_while_it_cannot_be_asked() -> None:
    machine = Machine()
    clock = machine.clock()
    before = clock.now()
    clock.compare(before)
    machine.set_by += DAY
    for _ in range(3):
        machine.steady += BELIEVED_AFTER
        assert clock.now() - before == machine.steady - 500


def test_small_corrections_are_followed_but_never_back() -> None:
    machine = Machine()
    clock = machine.clock()
    before = clock.now()
    machine.set_by += LEAP
    assert clock.now() == before + LEAP
    machine.set_by -= LEAP // 2
    assert clock.now() == before + LEAP
    machine.steady += LEAP
    assert (clock.now(), clock.ahead_s) == (before + LEAP + LEAP // 2, 0)


def test_a_machine_that_slept_has_not_leapt() -> None:
    """The even count goes on while the machine sleeps."""
    assert clocks._steady() > 0
    if hasattr(time, "CLOCK_BOOTTIME"):
        assert abs(clocks._steady() - time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1_000_000) < 30_000


async def after_a_leap(url: str, monkeypatch: pytest.MonkeyPatch) -> tuple[dict[str, int], int]:
    """Ten holds while the clock is set a day ahead and the ticker runs: their states, and the alarm."""
    leap, wall = 0, clocks._wall
    clock = SystemClock(lambda: wall() + leap)
    monkeypatch.setattr("fairhold.engine.ticker._LOOK_S", 0.05)
    monkeypatch.setattr("fairhold.engine.ticker._WATCH_S", 0.0)
    compared, compare = 0, tickers.clock_off_s

    async def compare_and_count(*args: Any) -> int:
        nonlocal compared
        compared += 1
        return await compare(*args)

    monkeypatch.setattr(tickers, "clock_off_s", compare_and_count)
    async with Fairhold.open(url, clock=clock, secret=SECRET) as hf:
        granted(await hf.create_pool("gig", preset="checkout", quotas={"main": 10}))
        for n in range(10):
            granted(await hf.book("gig", f"party {n}"))
        leap, compared = DAY, 0
        hf.ticker.wake()
        await until(lambda: compared > 4)
        await hf.cancel(granted(await hf.bookings("gig"))[0].id)
        stats = granted(await hf.stats("gig"))
        assert stats.clock_ahead_s == (await hf.totals()).clock_ahead_s
        return dict(stats.bookings), stats.clock_ahead_s


async def test_a_clock_set_a_day_ahead_raises_the_alarm_and_ends_nothing(
    database_url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    states, ahead = await after_a_leap(database_url, monkeypatch)
    assert states == {"held": 9, "cancelled": 1}
    assert DAY // 1000 - 1 <= ahead <= DAY // 1000
    alarms = [record for record in caplog.records if "the clock is wrong" in record.message]
    assert [record.levelname for record in alarms] == ["WARNING"], "once, not at every look"


@pytest.mark.guarantee(
    "clock",
    "Followed at once, a clock set a day ahead ends every hold there is.",
    control=True,
)
async def test_control_a_clock_that_follows_every_leap_ends_every_hold(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clocks, "LEAP", 10 * DAY)
    states, _ = await after_a_leap(database_url, monkeypatch)
    assert states["expired"] >= 9


@pytest.mark.guarantee(
    "clock.ahead", "It stays so, long enough to be believed without the database's clock: nobody's hold ends."
)
async def test_a_leap_that_stays_ends_nothing_while_the_databases_clock_disagrees(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The quarter of an hour is over at once here."""
    monkeypatch.setattr(clocks, "BELIEVED_AFTER", 0)
    states, ahead = await after_a_leap(postgres_url, monkeypatch)
    assert states == {"held": 9, "cancelled": 1}
    assert DAY // 1000 - 1 <= ahead <= DAY // 1000


async def test_where_there_is_no_other_clock_a_leap_that_stays_is_followed(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite has the machine's own clock: after the quarter of an hour, which is over at once here."""
    monkeypatch.setattr(clocks, "BELIEVED_AFTER", 0)
    states, _ = await after_a_leap(sqlite_url, monkeypatch)
    assert states["expired"] >= 9


async def test_the_ticker_says_when_the_clock_is_right_again(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    leap, wall = 0, clocks._wall
    monkeypatch.setattr("fairhold.engine.ticker._LOOK_S", 0.05)
    monkeypatch.setattr("fairhold.engine.ticker._WATCH_S", 0.0)

    def told(words: str) -> bool:
        return any(words in record.message for record in caplog.records)

    async with Fairhold.open(sqlite_url, clock=SystemClock(lambda: wall() + leap), secret=SECRET) as hf:
        hf.ticker.wake()
        leap = -DAY
        await until(lambda: told("86,400 seconds behind"))
        leap = 0
        await until(lambda: told("the clock is right again"))


async def with_a_node_that_starts_wrong(url: str, off: int) -> tuple[dict[str, int], int, int]:
    """Ten holds, and a node whose machine never had the right time: their states, its alarm, its error."""
    wall = clocks._wall
    async with Fairhold.open(url, secret=SECRET, ticker=False) as right:
        granted(await right.create_pool("gig", preset="checkout", quotas={"main": 10}))
        for n in range(10):
            granted(await right.book("gig", f"party {n}"))
        clock = SystemClock(lambda: wall() + off)
        async with Fairhold.open(url, clock=clock, secret=SECRET) as wrong:
            await wrong.tick()
            granted(await wrong.cancel(granted(await right.bookings("gig"))[0].id))
            stats = granted(await wrong.stats("gig"))
            return dict(stats.bookings), stats.clock_ahead_s, clock.now() - wall()


@pytest.mark.parametrize("off", [HOUR, DAY])
async def test_a_node_that_starts_with_its_clock_ahead_ends_nothing(postgres_url: str, off: int) -> None:
    """It goes by the database's clock, and the alarm is raised until its own is set right."""
    states, ahead, by = await with_a_node_that_starts_wrong(postgres_url, off)
    assert states == {"held": 9, "cancelled": 1}
    # Between asking the database for its time and hearing it, a machine may stand still.
    assert abs(ahead - off // 1000) < LEAP // 1000
    assert abs(by) < LEAP


async def test_a_node_that_starts_behind_keeps_its_time_and_raises_the_alarm(postgres_url: str) -> None:
    """Nothing can end too early by it; what is later in a pool counts there anyway."""
    states, ahead, _ = await with_a_node_that_starts_wrong(postgres_url, -HOUR)
    assert states == {"held": 9, "cancelled": 1}
    assert abs(ahead + HOUR // 1000) < LEAP // 1000


async def test_what_a_clock_that_was_ahead_has_left_behind_raises_the_alarm(
    sqlite_url: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the database has no clock: a pool that came into tomorrow stands still until then."""
    monkeypatch.setattr(tickers, "_LOOK_S", 0.1)
    async with Fairhold.open(sqlite_url, clock=TestClock(clocks._wall() + DAY), secret=SECRET) as wrong:
        granted(await wrong.create_pool("gig", preset="checkout", quotas={"main": 10}))
    async with Fairhold.open(sqlite_url, secret=SECRET) as right:
        await until(lambda: "their time stands still until then" in caplog.text)
        assert granted(await right.stats("gig")).clock_ahead_s == 0, "the clock itself is right"


def test_a_clock_that_started_ahead_and_is_set_right_raises_no_alarm_any_more() -> None:
    machine = Machine()
    clock, right = machine.clock(), machine.set_by + machine.steady
    machine.set_by += DAY
    clock.start_no_later_than(right)
    for _ in range(2):
        machine.steady += BELIEVED_AFTER
        assert (clock.now() - right, clock.ahead_s) == (machine.steady - 500, DAY // 1000)
    machine.set_by -= DAY
    assert (clock.now() - right, clock.ahead_s) == (machine.steady - 500, 0)
    machine.steady += 5_000
    assert (clock.now() - right, clock.ahead_s) == (machine.steady - 500, 0)


@pytest.mark.parametrize("off", [0, 1, LEAP, -LEAP, -DAY])
def test_a_clock_that_is_not_ahead_keeps_its_time(off: int) -> None:
    machine = Machine()
    clock = machine.clock()
    clock.start_no_later_than(machine.set_by + machine.steady - off)
    assert (clock.now(), clock.ahead_s) == (machine.set_by + machine.steady, 0)


@pytest.mark.parametrize(
    "start",
    [
        datetime(2030, 1, 1, tzinfo=UTC),
        datetime(2030, 1, 1, 2, tzinfo=ZoneInfo("Europe/Helsinki")),
        "2030-01-01T02:00:00+02:00",
        "2030-01-01T00:00Z",
        1_893_456_000_000,
    ],
)
async def test_a_test_clock_starts_where_advance_could_go(sqlite_url: str, start: Any) -> None:
    async with Fairhold.open(sqlite_url, clock=TestClock(start), secret=SECRET) as hf:
        assert hf.clock.now() == 1_893_456_000_000
        assert await hf.advance(to="2030-01-01T00:00:01Z") is None
        assert hf.clock.now() == 1_893_456_001_000


@pytest.mark.parametrize(
    "start",
    [
        datetime(2030, 1, 1),  # noqa: DTZ001  # that is the fault
        datetime(1900, 1, 1, tzinfo=UTC),
        datetime.max.replace(tzinfo=UTC),
        "2030-01-01T00:00:00",
        "tomorrow",
        "",
        -1,
        2**53,
        True,
        1.5e12,
        timedelta(1),
    ],
)
def test_a_test_clock_that_starts_nowhere_is_refused(start: Any) -> None:
    with pytest.raises(SettingsWrong, match="with a time zone"):
        TestClock(start)
