"""The `event_signup` design: every change recomputes the whole event, and stores what changed.

The event is locked, all its signups are read in order, each is given its quota, the open quota or the queue,
and its position there; what differs from the stored is written, and the transaction commits.

What makes it fair:

- Only the event's row is locked. That is enough, because every change locks it, and it spares the writes that
  a lock on each signup would cost.
- One query reads the signups, in order, and no more columns than the rule needs; the rule is one pass over
  plain rows. Window functions in the database were no faster.
- Only changed rows are written, all of them in one round trip.
"""

import asyncio
import secrets
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

from bench import measure
from bench.baselines.database import Database, Transaction, open_postgres, open_sqlite
from testbed.postgres import TemporaryPostgres

EVENT = 1
QUOTA = 1
QUOTA_SIZE = 50
OPEN_QUOTA_SIZE = 20
CONFIRM_WINDOW_MS = 30 * 60 * 1000

SCHEMA = """
CREATE TABLE events (id int PRIMARY KEY, open_quota_size int NOT NULL);
CREATE TABLE fairhold_quotas (id int PRIMARY KEY, event_id int NOT NULL, size int NOT NULL);
CREATE TABLE signups (
    id {identity},
    event_id int NOT NULL, quota_id int NOT NULL, name text NOT NULL, edit_token text NOT NULL,
    created_at bigint NOT NULL, confirmed_at bigint, status text, position int
);
CREATE INDEX in_order ON signups (event_id, created_at, id);
CREATE TABLE fairhold_outbox (id {identity}, signup_id bigint NOT NULL, kind text NOT NULL, at
bigint NOT NULL);
CREATE TABLE fairhold_log (
    id {identity}, event_id int NOT NULL, signup_id bigint NOT NULL, kind text NOT NULL, at bigint NOT NULL
);
CREATE TABLE idempotency (key text PRIMARY KEY, signup_id bigint NOT NULL, at bigint NOT NULL);
INSERT INTO events VALUES ({event}, {open_quota_size});
INSERT INTO fairhold_quotas VALUES ({quota}, {event}, {quota_size});
"""

LOCK_EVENT = "SELECT open_quota_size FROM events WHERE id = $1"
QUOTAS = "SELECT id, size FROM fairhold_quotas WHERE event_id = $1"
SIGNUPS = """
SELECT id, quota_id, status, position FROM signups
WHERE event_id = $1 AND (confirmed_at IS NOT NULL OR created_at > $2) ORDER BY created_at, id"""
INSERT_SIGNUP = """
INSERT INTO signups (event_id, quota_id, name, edit_token, created_at)
VALUES ($1, $2, $3, $4, $5) RETURNING id"""
INSERT_CONFIRMED = """
INSERT INTO signups (event_id, quota_id, name, edit_token, created_at, confirmed_at)
VALUES ($1, $2, $3, $4, $5, $5)"""
DELETE_SIGNUP = "DELETE FROM signups WHERE id = $1"
STORE = "UPDATE signups SET status = $2, position = $3 WHERE id = $1"
INSERT_MESSAGE = "INSERT INTO fairhold_outbox (signup_id, kind, at) VALUES ($1, 'out of the queue', $2)"
INSERT_LOG = "INSERT INTO fairhold_log (event_id, signup_id, kind, at) VALUES ($1, $2, $3, $4)"
INSERT_KEY = "INSERT INTO idempotency VALUES ($1, $2, $3)"

Change = tuple[int, str, int]


def changes(
    signups: Sequence[Sequence[Any]], sizes: Mapping[int, int], open_size: int
) -> tuple[list[Change], list[int]]:
    """The signups whose status or position differs from the stored, and those that left the queue."""
    changed: list[Change] = []
    promoted: list[int] = []
    in_quota: defaultdict[int, int] = defaultdict(int)
    in_open = in_queue = 0
    for signup, quota, old_status, old_position in signups:
        if in_quota[quota] < sizes[quota]:
            in_quota[quota] = position = in_quota[quota] + 1
            status = "in quota"
        elif in_open < open_size:
            in_open = position = in_open + 1
            status = "in open quota"
        else:
            in_queue = position = in_queue + 1
            status = "in queue"
        if old_status != status or old_position != position:
            changed.append((signup, status, position))
            if old_status == "in queue" != status:
                promoted.append(signup)
    return changed, promoted


class Recomputing:
    """One event with one quota and an open quota, recomputed at every change."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = f"{LOCK_EVENT} {database.for_update}"

    async def prepare(self, queue_length: int) -> None:
        """Make the tables, with both quotas full and so many more, all confirmed, in the queue."""
        schema = SCHEMA.format(
            identity=self._database.identity,
            event=EVENT,
            open_quota_size=OPEN_QUOTA_SIZE,
            quota=QUOTA,
            quota_size=QUOTA_SIZE,
        )
        await self._database.script(schema)
        now = now_ms()
        people = QUOTA_SIZE + OPEN_QUOTA_SIZE + queue_length
        rows = [(EVENT, QUOTA, f"early-{number}", secrets.token_hex(16), now) for number in range(people)]
        async with self._database.transaction() as transaction:
            await transaction.many(INSERT_CONFIRMED, rows)
            await self._recompute(transaction, OPEN_QUOTA_SIZE, now)
        await self._database.script("ANALYZE")

    async def signup(self, name: str, key: str) -> int:
        async with self._database.transaction() as transaction:
            open_size = (await transaction.rows(self._lock, EVENT))[0][0]
            now = now_ms()
            token = secrets.token_hex(16)
            signup: int = (await transaction.rows(INSERT_SIGNUP, EVENT, QUOTA, name, token, now))[0][0]
            await self._recompute(transaction, open_size, now)
            await transaction.rows(INSERT_LOG, EVENT, signup, "signed up", now)
            await transaction.rows(INSERT_KEY, key, signup, now)
        return signup

    async def cancel(self, signup: int, key: str) -> None:
        async with self._database.transaction() as transaction:
            open_size = (await transaction.rows(self._lock, EVENT))[0][0]
            now = now_ms()
            await transaction.rows(DELETE_SIGNUP, signup)
            await self._recompute(transaction, open_size, now)
            await transaction.rows(INSERT_LOG, EVENT, signup, "cancelled", now)
            await transaction.rows(INSERT_KEY, key, signup, now)

    async def first(self) -> int:
        """The signup that came first of those still there."""
        return int((await self._database.read("SELECT min(id) FROM signups"))[0][0])

    async def _recompute(self, transaction: Transaction, open_size: int, now: int) -> None:
        """Read everything, apply the rule, store what changed; the event is locked already."""
        sizes = {row[0]: row[1] for row in await transaction.rows(QUOTAS, EVENT)}
        signups = await transaction.rows(SIGNUPS, EVENT, now - CONFIRM_WINDOW_MS)
        changed, promoted = changes(signups, sizes, open_size)
        await transaction.many(STORE, changed)
        if promoted:
            await transaction.many(INSERT_MESSAGE, [(signup, now) for signup in promoted])


def now_ms() -> int:
    return time.time_ns() // 1_000_000


async def measure_recomputing(
    database: Database, queue_length: int, *, callers: int = 64, cancels: int = 3
) -> dict[str, measure.Run]:
    """`signup` by one caller and by many, and `cancel` at the front, on a database that is still empty.

    Few enough sign up that the queue keeps about its length.
    """
    signups = max(50, queue_length // 50)
    event = Recomputing(database)
    await event.prepare(queue_length)
    numbers = count()

    async def signup(caller: int) -> None:
        number = next(numbers)
        await event.signup(f"late-{number}", f"key-{number}")

    async def cancel(caller: int) -> None:
        await event.cancel(await event.first(), f"key-{next(numbers)}")

    return {
        "signup, 1 caller": await measure.run_callers(signup, 1, operations=signups),
        f"signup, {callers} callers": await measure.run_callers(signup, callers, operations=signups),
        "cancel at the front": await measure.run_callers(cancel, 1, operations=cancels),
    }


async def main() -> None:
    runs: dict[str, measure.Run] = {}
    with TemporaryPostgres(durable=True) as server:
        for length in (100, 1_000, 10_000):
            async with open_postgres(server.url, "bench_recomputing") as postgres, open_sqlite() as sqlite:
                for database in (postgres, sqlite):
                    for what, run in (await measure_recomputing(database, length)).items():
                        runs[f"{database.name}, {what}, {length:,} in queue"] = run
    print(measure.runs_table(runs))


if __name__ == "__main__":
    asyncio.run(main())
