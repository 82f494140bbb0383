"""The real service dies by SIGKILL at chosen steps of its writing transaction, and is asked again."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest

from fairhold.ids import pool_number
from tests.engine.looking import bookings, look, wrong
from tests.guarantees.broken import PROGRAM, broken
from tests.http.server import Client, Server, make_key, serving
from tests.patience import PATIENCE_S
from tests.verified import assert_verified

BEFORE = {"olga": "held", "ann": "waiting"}
DONE = {"olga": "cancelled", "ann": "offered"}
# In the order in which they come when Olga cancels, and what is there afterwards.
STEPS = {
    "before begin": BEFORE,
    "after rows lock_pools": BEFORE,
    "after many update_bookings": BEFORE,
    "after many insert_log": BEFORE,
    "after many insert_outbox": BEFORE,
    # All is written by then, the key last.
    "before commit": BEFORE,
    "after commit": DONE,
}


@pytest.fixture
def server(database_url: str, tmp_path: Path) -> Iterator[Server]:
    with serving(database_url, program=PROGRAM, broken=str(tmp_path)) as running:
        yield running


@pytest.fixture
def admin(server: Server) -> Iterator[Client]:
    with server.client(make_key(server.url)) as client:
        yield client


def prepared(admin: Client, pool: str) -> Any:
    """Olga has the one seat, and Ann waits for it."""
    made = admin.pool(pool)
    olga, _ = (admin.book(pool, name) for name in ("olga", "ann"))
    return made, olga


def cancel(admin: Client, olga: Any) -> Any:
    """Under one key, however often."""
    path, key = f"/v1/bookings/{olga['id']}/cancel", f"cancel-{olga['id']}"
    return admin.ask("POST", path, headers={"Idempotency-Key": key})


def cut_off(server: Server, admin: Client, olga: Any, place: Path, step: str) -> None:
    """Ask, and see that it dies of it."""
    assert server.process is not None
    with broken(place, "kill", how=step):
        with pytest.raises(httpx.TransportError):
            cancel(admin, olga)
        assert server.process.wait(PATIENCE_S) == -signal.SIGKILL


def found(url: str, pool: Any) -> tuple[dict[str, str], list[str]]:
    """Who is where, and what is wrong, as the database has it."""
    picture = asyncio.run(look(url))
    mine = [it for it in bookings(picture) if it.pool_id == pool_number(pool["id"])]
    return {it.party: it.state for it in mine}, wrong(picture)


@pytest.mark.guarantee(
    "killed.whole",
    "It dies before the transaction begins, and after it has locked, written, logged, told, kept the key and "
    "committed: until the commit nothing has happened, and then all of it.",
)
@pytest.mark.guarantee(
    "killed.retry",
    "After each of these deaths the same key, asked twice, gets the one answer, and the record is whole.",
)
def test_at_whichever_step_it_dies_all_or_nothing_has_happened(
    server: Server, admin: Client, tmp_path: Path
) -> None:
    made = {step: prepared(admin, step.replace(" ", "-").lower()) for step in STEPS}
    for step, after in STEPS.items():
        pool, olga = made[step]
        cut_off(server, admin, olga, tmp_path, step)
        assert found(server.url, pool) == (after, []), step
        server.start()
        assert cancel(admin, olga) == cancel(admin, olga), step
        assert found(server.url, pool) == (DONE, []), step
    asyncio.run(assert_verified(server.url))


@pytest.mark.guarantee(
    "killed",
    "Where every write commits by itself, the same death leaves Olga's booking cancelled, and the log does "
    "not know of it.",
    control=True,
)
def test_control_without_one_transaction_a_death_leaves_half_of_it(
    server: Server, admin: Client, tmp_path: Path
) -> None:
    pool, olga = prepared(admin, "half")
    with broken(tmp_path, "no one transaction"):
        cut_off(server, admin, olga, tmp_path, "after many update_bookings")
    states, complaints = found(server.url, pool)
    assert states["olga"] == "cancelled"
    assert complaints != []
