"""`fairhold verify` finds nothing after any honest history, and every tampering, by promise and place."""

from __future__ import annotations

import asyncio
from typing import Any, Final

import pytest
import typer
from typer.testing import CliRunner

from fairhold import granted
from fairhold.cli import verify as command
from fairhold.verify.replay import Replay
from fairhold.verify.report import Findings
from tests.database import ask, opened
from tests.engine.lively import Lively, make_pools, stage
from tests.verified import assert_verified

# Events that a lively history must have had, for verifying it to mean something.
LIVELY: Final = {
    "Held",
    "Joined",
    "Offered",
    "Lapsed",
    "Claimed",
    "Promoted",
    "Demoted",
    "HandedBack",
    "Moved",
    "PutBack",
    "BookingChanged",
}


@pytest.mark.parametrize("seed", [7, 22])
async def test_after_a_lively_history_nothing_is_wrong(database_url: str, seed: int) -> None:
    async with opened(database_url) as hf:
        lively = Lively(hf, await make_pools(hf), seed)
        for _ in range(6):
            await lively.run(100)
            await assert_verified(database_url)
        kinds = {row[0] for row in await ask(database_url, "SELECT DISTINCT kind FROM fairhold_log")}
        parts = await ask(database_url, "SELECT count(*) FROM fairhold_bookings WHERE split_from IS NOT NULL")
    assert kinds >= LIVELY
    assert parts[0][0] > 0
    report = await assert_verified(database_url)
    assert str(report).startswith("All promises hold: 6 pools, ")


async def test_an_empty_database_is_whole(database_url: str) -> None:
    async with opened(database_url):
        report = await assert_verified(database_url)
    assert str(report) == "All promises hold: 0 pools, 0 bookings, 0 log entries"


async def test_verifying_amid_traffic_sees_whole_states(database_url: str) -> None:
    async with opened(database_url) as hf:
        await hf.create_pool("yoga", preset="class_waitlist", quotas={"main": 2})
        over = False

        async def come_and_go(who: int) -> None:
            for turn in range(25):
                booking = await hf.book("yoga", f"{who}-{turn}")
                await hf.cancel(granted(booking).id)

        async def look() -> None:
            while not over:
                await assert_verified(database_url)

        looking = asyncio.create_task(look())
        await asyncio.gather(*map(come_and_go, range(20)))
        over = True
        await looking


async def test_closed_and_cancelled_pools_are_whole(database_url: str) -> None:
    async with opened(database_url) as hf:
        for key, status in (("yoga", "closed"), ("event", "cancelled")):
            await hf.create_pool(key, preset="class_waitlist", quotas={"main": 1})
            for who in range(4):
                await hf.book(key, f"party {who}")
            await hf.change_pool(key, status=status)
            await assert_verified(database_url)
        await hf.advance(seconds=10)
        await assert_verified(database_url)


async def test_a_replay_forgets_what_has_ended(database_url: str) -> None:
    async with opened(database_url) as hf:
        await hf.create_pool("flight", preset="checkout", quotas={"main": 500})
        held = await asyncio.gather(*(hf.book("flight", f"party {n}") for n in range(500)))
        await asyncio.gather(*(hf.cancel(granted(booking).id) for booking in held[10:]))
        async with hf.store.snapshot() as snapshot:
            (pool_id, log_seq, log_hash), *_ = await ask(
                database_url, "SELECT id, log_seq, log_hash FROM fairhold_pools"
            )
            replay = Replay(snapshot, pool_id, Findings("here"))
            await replay.run(log_seq, log_hash)
        assert len(replay.view.bookings) == len(replay.view.by_party) == 10


# The command ---------------------------------------------------------------------------------------------


async def run_command(*arguments: str) -> Any:
    app = typer.Typer()
    command.register(app)
    return await asyncio.to_thread(CliRunner().invoke, app, list(arguments))


@pytest.mark.tampered
async def test_the_command_says_what_is_wrong_and_where(database_url: str) -> None:
    async with opened(database_url) as hf:
        await stage(hf)
    answer = await run_command("--database", database_url)
    assert (answer.exit_code, answer.output) == (
        0,
        "All promises hold: 4 pools, 12 bookings, 26 log entries\n",
    )
    await ask(database_url, "UPDATE fairhold_quotas SET waiting = waiting + 1 WHERE waiting = 2")
    answer = await run_command("--database", database_url)
    assert answer.exit_code == 1
    assert "tallies_add_up: pool yoga: main has" in answer.output
    answer = await run_command("--database", database_url, "--pool", "event", "--json")
    assert answer.exit_code == 0
    assert '"findings": []' in answer.output
    answer = await run_command("--database", database_url, "--pool", "nowhere")
    assert answer.exit_code == 1
    assert "unknown" in answer.output
