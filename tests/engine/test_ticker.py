"""What is due happens by itself: soon, once, in order, whoever sleeps, fails or has a clock gone wrong."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg
import pytest

from fairhold import Booking, Fairhold, granted, upkeep
from fairhold.clock import SystemClock, TestClock, to_datetime
from fairhold.core import fill as filling
from fairhold.engine import ticker as tickers
from fairhold.errors import CommandFailed
from fairhold.store import loader
from fairhold.store.base import Store
from tests.database import SECRET, START, ask, dialect_of, opened
from tests.engine.looking import events, look, wrong
from tests.engine.processes import Worker, Workers
from tests.engine.proxy import proxied
from tests.engine.staging import HandClock, file_locked_outside, nodes, outcome
from tests.patience import PATIENCE_S, until
from tests.verified import assert_verified


@pytest.fixture(autouse=True)
def nobody_just_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A ticker looks now and then whatever it has heard; here it hears, or it never knows."""
    monkeypatch.setattr(tickers, "_LOOK_S", 3_600.0)


async def hold(hf: Fairhold, pool: str, window_s: int = 1) -> Booking:
    """A pool of one seat with a short window, and a hold in it."""
    policy = {"hold_window": window_s}
    granted(await hf.create_pool(pool, quotas={"main": 1}, preset="checkout", policy=policy))
    return granted(await hf.book(pool, "Ann"))


@asynccontextmanager
async def by_hand(url: str) -> AsyncIterator[tuple[Fairhold, HandClock]]:
    """A Fairhold with a ticker, and the clock that they go by."""
    clock = HandClock()
    async with Fairhold.open(url, secret=SECRET, clock=clock) as hf:
        yield hf, clock


async def is_in(hf: Fairhold, booking: Booking, state: str) -> bool:
    return granted(await hf.booking(booking.id)).state == state


async def test_a_hold_expires_by_itself(database_url: str) -> None:
    async with Fairhold.open(database_url, secret=SECRET) as hf:
        ann = await hold(hf, "chair")
        await until(lambda: is_in(hf, ann, "expired"))
    found = await look(database_url)
    assert wrong(found) == []
    (expired,) = [at for kind, _, at in events(found, "Expired")]
    assert expired >= ann.expires_at.timestamp() * 1000
    await assert_verified(database_url)


async def test_what_is_given_out_in_pieces_comes_to_its_end(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filling, "FILL_MAX", 2)
    async with Fairhold.open(database_url, secret=SECRET) as hf:
        granted(await hf.create_pool("class", quotas={"main": 0}, preset="course_section"))
        last = [granted(await hf.book("class", f"person {number}")) for number in range(9)][-1]
        granted(await hf.change_pool("class", sizes={"main": 20}))
        await until(lambda: is_in(hf, last, "offered"))
    await assert_verified(database_url)


@pytest.mark.parametrize("pool", ["chair", None], ids=["one pool", "all pools"])
async def test_what_is_due_in_pieces_is_all_done_and_every_promise_holds_in_between(
    database_url: str, monkeypatch: pytest.MonkeyPatch, pool: str | None
) -> None:
    monkeypatch.setattr(loader, "DUE_MAX", 3)
    async with opened(database_url) as hf:
        granted(await hf.create_pool("chair", quotas={"main": 20}, preset="checkout"))
        for number in range(11):
            granted(await hf.book("chair", f"person {number}"))
            assert await hf.advance(seconds=1) is None
        hf.clock.move_to(hf.clock.now() + 3_600_000)
        await hf.ticker.tick_due()
        assert len(granted(await hf.bookings("chair", state="held"))) == 8
        await assert_verified(database_url)
        assert await hf.tick(pool) == 1
        assert granted(await hf.bookings("chair", state="held")) == []
        assert await hf.tick(pool) == 0
    await assert_verified(database_url)


async def test_an_earlier_deadline_wakes_a_ticker_that_sleeps_for_longer(database_url: str) -> None:
    async with Fairhold.open(database_url, secret=SECRET) as hf:
        await hold(hf, "later", window_s=3_600)
        await asyncio.sleep(0.1)
        sooner = await hold(hf, "sooner")
        await until(lambda: is_in(hf, sooner, "expired"))


async def test_holds_expire_while_old_keys_are_being_forgotten(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a busy day there are millions of them, and they are forgotten a thousand at a time."""
    reached, go_on = asyncio.Event(), asyncio.Event()
    async with Fairhold.open(database_url, secret=SECRET, ticker=False) as hf:

        async def forget(store: Store, before: int) -> None:
            reached.set()
            await go_on.wait()

        monkeypatch.setattr(upkeep, "forget_requests", forget)
        await hf.ticker.start()
        ann = await hold(hf, "chair")
        await until(lambda: is_in(hf, ann, "expired"))
        await reached.wait()
        bea = await hold(hf, "sofa")
        try:
            await until(lambda: is_in(hf, bea, "expired"))
        finally:
            go_on.set()


async def test_that_old_keys_cannot_be_forgotten_is_told_and_stops_nothing(
    database_url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with Fairhold.open(database_url, secret=SECRET, ticker=False) as hf:

        async def forget(store: Store, before: int) -> None:
            raise RuntimeError("no more space")

        monkeypatch.setattr(upkeep, "forget_requests", forget)
        await hf.ticker.start()
        for pool in ("chair", "sofa"):
            held = await hold(hf, pool)
            await until(lambda held=held: is_in(hf, held, "expired"))
        await until(lambda: "no more space" in caplog.text)


async def test_an_earlier_deadline_of_another_process_wakes_the_ticker(database_url: str) -> None:
    """Only the other process has a ticker, which sleeps until it hears of the new deadline."""
    async with Fairhold.open(database_url, secret=SECRET, ticker=False) as hf:
        await hold(hf, "later", window_s=3_600)
        with Workers(Worker("book", database_url, pool="later", parties=[])):
            await asyncio.sleep(0.3)
            sooner = await hold(hf, "sooner")
            await until(lambda: is_in(hf, sooner, "expired"))


async def test_what_fell_due_while_nobody_was_awake_is_caught_up_in_order(database_url: str) -> None:
    clock = TestClock(START)
    async with nodes(database_url, 1, clock=clock) as (hf,):
        policy = {"hold_window": 600, "holds_per_party_max": None}
        granted(await hf.create_pool("hall", quotas={"main": 9}, preset="event_signup", policy=policy))
        held = [granted(await hf.book("hall", f"party-{n}")) for n in range(6)]
        for number in (3, 0, 5):
            clock.move_to(clock.now() + 1_000)
            granted(await hf.extend(held[number].id, 60 + number, by="staff"))
        clock.move_to(START + 24 * 3_600_000)
        assert await hf.tick() == 1
        assert await hf.tick() == 0
    found = [booking for kind, booking, _ in events(await look(database_url), "Expired")]
    assert found == [2, 3, 5, 1, 4, 6]
    await assert_verified(database_url)


async def test_the_longest_overdue_pool_comes_first(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = TestClock(START)
    monkeypatch.setattr(tickers, "_POOLS_MAX", 1)
    async with nodes(database_url, 1, clock=clock) as (hf,):
        held = {name: await hold(hf, name, due) for name, due in (("c", 30), ("a", 10), ("b", 20))}
        clock.move_to(START + 3_600_000)
        for name in ("a", "b", "c"):
            assert len(await hf.ticker.tick_due()) == 1
            assert await is_in(hf, held.pop(name), "expired")
            assert all([await is_in(hf, booking, "held") for booking in held.values()])


async def test_many_tickers_have_one_effect(database_url: str) -> None:
    """Three in this process and one in another; each of three offers lapses once, in each of ten pools."""
    policy = {"offer_window": 1, "after_lapse": "leave"}
    async with nodes(database_url, 3, ticker=True) as running:
        with Workers(Worker("book", database_url, pool="none", parties=[])):
            for number in range(10):
                pool = f"chair-{number}"
                granted(
                    await running[0].create_pool(
                        pool, quotas={"main": 1}, preset="last_minute", policy=policy
                    )
                )
                olga = granted(await running[0].book(pool, "Olga", confirmed=True, by="staff"))
                for party in ("Ann", "Bea"):
                    granted(await running[0].book(pool, party))
                granted(await running[0].cancel(olga.id))

            async def all_handed_back() -> bool:
                return len(events(await look(database_url), "HandedBack")) == 10

            await until(all_handed_back)
    found = await look(database_url)
    assert wrong(found) == []
    lapses = Counter((row[0], row[3]) for row in found.log if row[2] == "Lapsed")
    assert len(lapses) == 20
    assert set(lapses.values()) == {1}
    await assert_verified(database_url)


async def test_a_poisoned_pool_does_not_stop_the_others(
    database_url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(tickers, "_POISONED", 200)
    async with Fairhold.open(database_url, secret=SECRET, ticker=False) as hf:
        poisoned, healthy = await hold(hf, "poisoned"), await hold(hf, "healthy")
        whole = (await ask(database_url, "SELECT config FROM fairhold_pools WHERE key = 'poisoned'"))[0][0]
    await ask(database_url, "UPDATE fairhold_pools SET config = '{' WHERE key = 'poisoned'")
    async with Fairhold.open(database_url, secret=SECRET) as hf:
        await until(lambda: is_in(hf, healthy, "expired"))
        another = await hold(hf, "another")
        await until(lambda: is_in(hf, another, "expired"))
        assert "a tick of pool" in caplog.text
        whole = whole.replace("'", "''")
        await ask(database_url, f"UPDATE fairhold_pools SET config = '{whole}' WHERE key = 'poisoned'")
        await until(lambda: is_in(hf, poisoned, "expired"))
    await assert_verified(database_url)


async def test_a_pool_locked_from_outside_does_not_keep_the_timers_of_others(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The engine does not give up on the locked pool, so nothing else can let the others go on.
    monkeypatch.setattr("fairhold.door._GIVE_UP_S", 3_600.0)
    async with by_hand(postgres_url) as (hf, clock):
        locked = await hold(hf, "locked")
        connection = await asyncpg.connect(postgres_url)
        async with connection.transaction():
            await connection.fetch("SELECT id FROM fairhold_pools WHERE key = 'locked' FOR UPDATE")
            clock.move(1)
            hf.ticker.wake()
            await until(lambda: hf.ticker._ticking)
            free = await hold(hf, "free")
            clock.move(1)
            await until(lambda: is_in(hf, free, "expired"))
            assert await is_in(hf, locked, "held")
        await connection.close()
        await until(lambda: is_in(hf, locked, "expired"))


@pytest.mark.tampered
async def test_time_that_cannot_go_on_says_so(database_url: str, caplog: pytest.LogCaptureFixture) -> None:
    async with nodes(database_url, 1, clock=TestClock(START)) as (hf,):
        await hold(hf, "poisoned")
    await ask(database_url, "UPDATE fairhold_pools SET config = '{' WHERE key = 'poisoned'")
    async with nodes(database_url, 1, clock=TestClock(START)) as (hf,):
        with pytest.raises(CommandFailed, match="time cannot go on"):
            await hf.advance(seconds=60)


# Clocks gone wrong, and databases gone away.


def test_the_clock_of_a_process_never_goes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([5_000, 1_000, 6_000])
    monkeypatch.setattr("time.time_ns", lambda: next(times) * 1_000_000)
    clock = SystemClock()
    assert [clock.now() for _ in range(3)] == [5_000, 5_000, 6_000]


@pytest.mark.guarantee(
    "clock.back",
    "A node whose clock is an hour behind the others' undoes nothing and ends nothing twice.",
)
async def test_a_node_whose_clock_is_behind_undoes_nothing(database_url: str) -> None:
    hour = 3_600_000
    async with (
        nodes(database_url, 1, clock=TestClock(START)) as (right,),
        nodes(database_url, 1, clock=TestClock(START - hour)) as (behind,),
    ):
        ann = await hold(right, "chair", window_s=60)
        assert await behind.tick() == 0
        await right.advance(seconds=60)
        assert await is_in(right, ann, "expired")
        assert await behind.tick() == 0
        assert outcome(await behind.confirm(ann.id)) == "hold_expired"
        # Time goes on from where the pool was last, so Bea has her minute whatever this node's clock says.
        bea = granted(await behind.book("chair", "Bea"))
        assert bea.expires_at == to_datetime(START + 2 * 60_000)
        assert await right.tick() == 0
        await right.advance(seconds=60)
        assert await is_in(right, bea, "expired")
    assert wrong(await look(database_url)) == []


async def test_the_ticker_outlives_a_database_that_goes_away(
    database_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    if dialect_of(database_url) == "sqlite":
        await outlive_a_lock(database_url)
    else:
        await outlive_a_cut(database_url, caplog)
    await assert_verified(database_url)


async def outlive_a_lock(url: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fairhold.store.sqlite.transaction.BUSY_S", 0.1)
        async with by_hand(url) as (hf, clock):
            ann = await hold(hf, "chair")
            with file_locked_outside(url):
                clock.move(1)
                await until(lambda: hf.ticker._left_alone)
                assert await is_in(hf, ann, "held")
            clock.move(1)
            await until(lambda: is_in(hf, ann, "expired"))


async def outlive_a_cut(url: str, caplog: pytest.LogCaptureFixture) -> None:
    async with (
        proxied(url) as (proxy, through),
        by_hand(through) as (hf, clock),
        Fairhold.open(url, secret=SECRET, clock=clock, ticker=False) as elsewhere,
    ):
        ann = await hold(hf, "chair")
        proxy.refusing = True
        proxy.cut()
        clock.move(1)
        await until(lambda: "the ticker waits for the database" in caplog.text)
        assert await is_in(elsewhere, ann, "held")
        proxy.refusing = False
        await until(lambda: is_in(elsewhere, ann, "expired"))
        # It listens again, too.
        bea = await hold(elsewhere, "another")
        clock.move(1)
        await until(lambda: is_in(elsewhere, bea, "expired"))


async def heard_after_silence(url: str, patience_s: float = PATIENCE_S) -> bool:
    """Whether a ticker hears of an earlier deadline when its listening connection has died in silence."""
    async with (
        proxied(url) as (proxy, through),
        Fairhold.open(through, secret=SECRET) as hf,
        Fairhold.open(url, secret=SECRET, ticker=False) as elsewhere,
    ):
        await hold(hf, "later", window_s=3_600)
        await until(lambda: proxy.is_listened_through)
        await asyncio.sleep(0.3)
        proxy.silence_listeners()
        ann = await hold(elsewhere, "sooner")
        try:
            return await until(lambda: is_in(elsewhere, ann, "expired"), patience_s)
        except AssertionError:
            return False


async def test_a_listening_connection_that_dies_in_silence_is_noticed(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fairhold.store.postgres.listening._PULSE_S", 0.2)
    monkeypatch.setattr("fairhold.store.postgres.listening._PULSE_DEADLINE_S", 0.3)
    assert await heard_after_silence(postgres_url)


async def test_control_without_a_pulse_nobody_notices(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fairhold.store.postgres.listening._PULSE_S", 3_600)
    assert not await heard_after_silence(postgres_url, 4)


async def test_a_pulse_does_not_disturb_a_connection_that_is_there(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fairhold.store.postgres.listening._PULSE_S", 0.01)
    async with (
        Fairhold.open(postgres_url, secret=SECRET) as hf,
        Fairhold.open(postgres_url, secret=SECRET, ticker=False) as elsewhere,
    ):
        await hold(hf, "later", window_s=3_600)
        await asyncio.sleep(0.5)
        ann = await hold(elsewhere, "sooner")
        await until(lambda: is_in(elsewhere, ann, "expired"))
