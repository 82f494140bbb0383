"""A drill on a store of its own, thrown away afterwards."""

from __future__ import annotations

import asyncio
import math
import sys
import tempfile
import time
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from drills.crash.run import Outcome, Plan, drill
from testbed.postgres import TemporaryPostgres, fresh_database


def play_on(store: str, times: int, clients: int, seed: int, minutes: float = math.inf) -> Outcome:
    """A drill on a new database. PostgreSQL has two nodes, and is killed itself now and then."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="fairhold-crash-")))
        plan = Plan(f"sqlite:///{folder}/crash.db", folder, times, clients, seed)
        plan.tell = partial(_tell_progress, store)
        end = time.monotonic() + minutes * 60
        plan.is_over = lambda: time.monotonic() > end
        if store == "postgres":
            plan.server = stack.enter_context(TemporaryPostgres(durable=True))
            plan.url = stack.enter_context(fresh_database(plan.server.url))
            plan.nodes = 2
        return asyncio.run(_play(plan))


async def _play(plan: Plan) -> Outcome:
    async with drill(plan) as made:
        return await made.play()


def _tell_progress(store: str, sentence: str) -> None:
    print(f"{store:<8} {sentence}", file=sys.stderr, flush=True)
