"""An address with several hosts: the one that can write is found, and a silent one keeps nobody waiting."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

import asyncpg
import pytest

from fairhold import Booking, Fairhold, granted
from fairhold.errors import SettingsWrong, Unavailable
from fairhold.store.postgres import connections, hosts
from tests.database import SECRET, ask
from tests.engine.flights import all_under_lock
from tests.engine.proxy import Proxy, proxied
from tests.patience import until

# Longer than any test may take: who waits for this long for a host fails.
FOR_EVER_S = 10_000.0


@pytest.fixture
def _in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """The hosts are asked as they are written, and soon one after the other."""
    monkeypatch.setattr("random.shuffle", lambda listed: None)
    monkeypatch.setattr(hosts, "HEAD_START_S", 0.05)


@asynccontextmanager
async def two_ways(url: str) -> AsyncIterator[tuple[Proxy, Proxy, str]]:
    """Two hosts that lead to the same database, and the address with both."""
    async with proxied(url) as (first, to_first), proxied(url) as (second, to_second):
        parts, other = urlsplit(to_first), urlsplit(to_second)
        yield first, second, parts._replace(netloc=f"{parts.netloc},127.0.0.1:{other.port}").geturl()


def test_each_host_gets_an_address_with_all_the_rest() -> None:
    url = "postgresql://ann:p%40ss,word@a:1,b,[::1]:3/seats?sslmode=require"
    assert sorted(hosts.addresses(url)) == [
        "postgresql://ann:p%40ss,word@[::1]:3/seats?sslmode=require",
        "postgresql://ann:p%40ss,word@a:1/seats?sslmode=require",
        "postgresql://ann:p%40ss,word@b/seats?sslmode=require",
    ]
    assert hosts.addresses("postgresql:///seats?host=/run") == ["postgresql:///seats?host=/run"]


async def test_several_hosts_in_the_query_are_refused_in_one_line() -> None:
    """They would be asked in their order, and one that can only be read would be kept."""
    with pytest.raises(SettingsWrong, match="postgresql://HOST,HOST/NAME"):
        async with Fairhold.open("postgresql:///seats?host=a,b"):
            pass


def test_every_host_is_asked_first_at_some_time() -> None:
    # That one of three never is, in so many tries, is as likely as 3 * (2 / 3) ** 1000.
    firsts = {hosts.addresses("postgresql://a,b,c/seats")[0] for _ in range(1_000)}
    assert firsts == {f"postgresql://{host}/seats" for host in "abc"}


@pytest.mark.usefixtures("_in_order")
async def test_a_host_that_does_not_answer_keeps_nobody_from_the_next(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "CONNECT_S", FOR_EVER_S)
    async with two_ways(postgres_url) as (silent, _, url):
        silent.stall()
        async with Fairhold.open(url, secret=SECRET, ticker=False) as hf:
            granted(await hf.create_pool("gig", preset="checkout", quotas={"main": 1}))
            granted(await hf.book("gig", "Ann"))
            granted(await hf.pool("gig"))


@pytest.mark.usefixtures("_in_order")
async def test_reads_go_where_writes_go_when_the_first_host_falls_silent(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with (
        two_ways(postgres_url) as (first, _, url),
        Fairhold.open(url, secret=SECRET, ticker=False) as hf,
    ):
        granted(await hf.create_pool("gig", preset="checkout", quotas={"main": 9}))
        granted(await hf.pool("gig"))
        await hf.store.scout().rows("next_due")
        monkeypatch.setattr(connections, "ANSWER_S", 1.0)
        first.stall()

        async def booked() -> Booking | None:
            # A slow machine may miss the short deadline even where somebody answers.
            with suppress(Unavailable):
                return granted(await hf.book("gig", "Ann", idempotency_key="k"))
            return None

        booking = await until(booked)
        assert booking is not None
        # From here on a read that went to the silent host would never end.
        monkeypatch.setattr(connections, "ANSWER_S", FOR_EVER_S)
        assert granted(await hf.booking(booking.id)).state == "held"
        # The lane reads by itself, too, and all would wait for it.
        assert await hf.store.scout().rows("next_due")


@pytest.mark.usefixtures("_in_order")
async def test_a_host_that_can_only_be_read_is_passed_over(postgres_url: str) -> None:
    """As a standby is; here the database says so itself, to whoever comes by the first host."""
    name = postgres_url.rsplit("/", 1)[-1]

    async def only_reads(address: str) -> asyncpg.Connection:
        asked.append(address)
        options: dict[str, Any] = {"target_session_attrs": "read-write"}
        if address.endswith("#standby"):
            options["server_settings"] = {"default_transaction_read_only": "on"}
        return await asyncpg.connect(address.removesuffix("#standby"), **options)

    asked: list[str] = []
    connection = await hosts.first_to_answer(only_reads, [f"{postgres_url}#standby", postgres_url])
    try:
        assert await connection.fetchval("SELECT current_database()") == name
        assert asked == [f"{postgres_url}#standby", postgres_url]
    finally:
        await connection.close()
    with pytest.raises(asyncpg.TargetServerAttributeNotMatched):
        await hosts.first_to_answer(only_reads, [f"{postgres_url}#standby"] * 2)


@pytest.mark.usefixtures("_in_order")
async def test_a_host_that_was_overtaken_is_passed_over_though_it_says_that_it_can_write(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As an old primary does that wakes up after another was promoted: what it has to read is old."""
    # Both answer, and however long that takes, one is asked after the other.
    monkeypatch.setattr(hosts, "HEAD_START_S", FOR_EVER_S)
    told, timelines = [], {}

    async def timeline(connection: asyncpg.Connection) -> int | None:
        port = connection._addr[1]
        told.append(port)
        return timelines.get(port) or await real(connection)

    real = connections._timeline
    monkeypatch.setattr(connections, "_timeline", timeline)
    async with two_ways(postgres_url) as (_, _, url):
        old, new = (urlsplit(address).port for address in hosts.addresses(url))
        (await connections.connect(url)).terminate()
        assert told == [old]
        timelines = {old: 1, new: 2}
        first_to_answer = hosts.first_to_answer
        with monkeypatch.context() as patch:
            # Once the new one is known ...
            patch.setattr(connections, "first_to_answer", lambda ask, asked: first_to_answer(ask, asked[1:]))
            (await connections.connect(url)).terminate()
        told.clear()
        connection = await connections.connect(url)
        # ... the old one is asked first, and not taken.
        assert told == [old, new]
        assert connection._addr[1] == new
        connection.terminate()


def test_a_database_that_was_set_up_anew_is_not_refused_for_ever() -> None:
    url = "postgresql://a,b/anew"
    assert not hosts.is_overtaken(url, 7, 0.0)
    assert hosts.is_overtaken(url, 1, 1.0)
    assert not hosts.is_overtaken(url, 1, hosts._HELD_S + 1.0)
    assert not hosts.is_overtaken(url, 1, hosts._HELD_S + 2.0)


async def test_a_server_that_can_only_be_read_is_left_as_soon_as_another_can_be_written_to(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One address that leads to whoever leads, but a little late: what was reached first was a standby."""
    all_under_lock(monkeypatch)
    name = postgres_url.rsplit("/", 1)[-1]
    async with Fairhold.open(postgres_url, secret=SECRET, ticker=False) as hf:
        granted(await hf.create_pool("gig", preset="checkout", quotas={"main": 9}))
        # From here on nothing has to be read for a booking but by the writer.
        granted(await hf.pool("gig"))
        await ask(postgres_url, f"ALTER DATABASE {name} SET default_transaction_read_only = on")
        others = "application_name = 'fairhold' AND datname = current_database()"
        await ask(postgres_url, f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {others}")
        with pytest.raises(Unavailable, match="ReadOnly"):
            await hf.book("gig", "Ann")
        reset = f"BEGIN READ WRITE; ALTER DATABASE {name} RESET default_transaction_read_only; COMMIT"
        connection = await asyncpg.connect(postgres_url)
        await connection.execute(reset)
        await connection.close()
        assert granted(await hf.book("gig", "Ann")).state == "held"


async def test_a_server_that_ends_its_connections_is_away_and_no_fault_of_ours(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between its last word and the end of the connection, the driver can only say that it is confused."""
    confused = asyncpg.InternalClientError("cannot switch to state 12; another operation (2) is in progress")

    async def fails(*_: Any, **__: Any) -> None:
        raise confused

    async with Fairhold.open(postgres_url, secret=SECRET, ticker=False) as hf:
        granted(await hf.create_pool("gig", preset="checkout", quotas={"main": 9}))
        with monkeypatch.context() as patch:
            patch.setattr(asyncpg.Connection, "fetch", fails)
            patch.setattr(asyncpg.Connection, "prepare", fails)
            for ask_something in (
                lambda: hf.pool("gig"),
                lambda: hf.book("gig", "Ann"),
                hf.store.pending,
            ):
                with pytest.raises(Unavailable):
                    await ask_something()
        granted(await hf.book("gig", "Ann"))
    assert (await ask(postgres_url, "SELECT count(*) FROM fairhold_bookings"))[0][0] == 1
