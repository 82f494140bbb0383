"""The `course_section` design: a position is a stored integer, and the application keeps it whole.

Who joins gets the position after the last; with a priority, the one after the last of no lower priority,
and everyone behind moves back by one. Who leaves keeps the old number, and everyone behind moves up by one.
All of it in one transaction under a lock on the section: positions are contiguous in every committed state.

What makes it fair: everyone behind is moved by one statement, over an index that holds only the waiting;
nobody is loaded into the application; reading one's position is one row by its key; the statistics are fresh.
"""

import asyncio
import time
from itertools import count

from bench import measure
from bench.baselines.database import Database, open_postgres, open_sqlite
from testbed.postgres import TemporaryPostgres

SECTION = 1

SCHEMA = """
CREATE TABLE sections (id int PRIMARY KEY);
CREATE TABLE waitlist (
    id {identity},
    section_id int NOT NULL, student_id text NOT NULL, priority int NOT NULL,
    position int NOT NULL, status text NOT NULL, joined_at bigint NOT NULL, UNIQUE (student_id, section_id)
);
CREATE INDEX waiting ON waitlist (section_id, position) WHERE status = 'waiting';
CREATE TABLE fairhold_log (
    id {identity}, section_id int NOT NULL, entry_id bigint NOT NULL, kind text NOT NULL, at bigint NOT NULL
);
CREATE TABLE idempotency (key text PRIMARY KEY, entry_id bigint NOT NULL, at bigint NOT NULL);
INSERT INTO sections VALUES (1);
"""

LOCK_SECTION = "SELECT id FROM sections WHERE id = $1"
LAST = """
SELECT position, priority FROM waitlist WHERE section_id = $1 AND status = 'waiting'
ORDER BY position DESC LIMIT 1"""
FIRST_OF_LOWER_PRIORITY = """
SELECT position FROM waitlist WHERE section_id = $1 AND status = 'waiting' AND priority < $2
ORDER BY position LIMIT 1"""
MOVE_BACK = """
UPDATE waitlist SET position = position + 1 WHERE section_id = $1 AND status = 'waiting' AND position >= $2"""
MOVE_UP = """
UPDATE waitlist SET position = position - 1 WHERE section_id = $1 AND status = 'waiting' AND position > $2"""
INSERT_ENTRY = """
INSERT INTO waitlist (section_id, student_id, priority, position, status, joined_at)
VALUES ($1, $2, $3, $4, 'waiting', $5) RETURNING id"""
WITHDRAW = "UPDATE waitlist SET status = 'withdrawn' WHERE id = $1 AND status = 'waiting' RETURNING position"
INSERT_LOG = "INSERT INTO fairhold_log (section_id, entry_id, kind, at) VALUES ($1, $2, $3, $4)"
INSERT_KEY = "INSERT INTO idempotency VALUES ($1, $2, $3)"
POSITION = "SELECT position FROM waitlist WHERE id = $1"
ENTRY_AT = "SELECT id FROM waitlist WHERE section_id = $1 AND status = 'waiting' AND position = $2"


class Renumbering:
    """One section's waitlist with stored positions."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = f"{LOCK_SECTION} {database.for_update}"

    async def prepare(self, length: int) -> None:
        """Make the tables, with `length` students already waiting: the first half of them with priority."""
        await self._database.script(SCHEMA.format(identity=self._database.identity))
        now = now_ms()
        ranked = length // 2
        students = [
            (SECTION, f"early-{place}", int(place <= ranked), place, now) for place in range(1, length + 1)
        ]
        async with self._database.transaction() as transaction:
            await transaction.many(INSERT_ENTRY.removesuffix(" RETURNING id"), students)
        await self._database.script("ANALYZE")

    async def join(self, student: str, key: str, priority: int = 0) -> int:
        now = now_ms()
        async with self._database.transaction() as transaction:
            await transaction.rows(self._lock, SECTION)
            last = await transaction.rows(LAST, SECTION)
            if not last or last[0][1] >= priority:
                position = last[0][0] + 1 if last else 1
            else:
                position = (await transaction.rows(FIRST_OF_LOWER_PRIORITY, SECTION, priority))[0][0]
                await transaction.rows(MOVE_BACK, SECTION, position)
            entry: int = (await transaction.rows(INSERT_ENTRY, SECTION, student, priority, position, now))[0][
                0
            ]
            await transaction.rows(INSERT_LOG, SECTION, entry, "joined", now)
            await transaction.rows(INSERT_KEY, key, entry, now)
        return entry

    async def leave(self, entry: int, key: str) -> None:
        now = now_ms()
        async with self._database.transaction() as transaction:
            await transaction.rows(self._lock, SECTION)
            left = await transaction.rows(WITHDRAW, entry)
            if left:
                await transaction.rows(MOVE_UP, SECTION, left[0][0])
            await transaction.rows(INSERT_LOG, SECTION, entry, "left", now)
            await transaction.rows(INSERT_KEY, key, entry, now)

    async def position(self, entry: int) -> int:
        return int((await self._database.read(POSITION, entry))[0][0])

    async def entry_at(self, position: int) -> int:
        return int((await self._database.read(ENTRY_AT, SECTION, position))[0][0])


def now_ms() -> int:
    return time.time_ns() // 1_000_000


async def measure_renumbering(
    database: Database, length: int, *, operations: int = 20
) -> dict[str, measure.Run]:
    """What one caller waits for each thing in a line of `length`, on a database that is still empty.

    The things are `join`, `join by priority` (into the middle), `leave front`, `leave middle` and `position`.
    """
    line = Renumbering(database)
    await line.prepare(length)
    numbers = count()
    runs: dict[str, list[float]] = {}

    async def timed(what: str, place: int = 0) -> None:
        number = next(numbers)
        entry = await line.entry_at(place) if place else 0
        began = time.perf_counter()
        if what == "position":
            await line.position(entry)
        elif what.startswith("leave"):
            await line.leave(entry, f"key-{number}")
        else:
            await line.join(f"late-{number}", f"key-{number}", priority=int(what == "join by priority"))
        runs.setdefault(what, []).append(time.perf_counter() - began)

    # As many leave as join, so the line keeps its length; each thing takes its turn.
    for _ in range(operations):
        await timed("join")
        await timed("leave front", 1)
        await timed("join by priority")
        await timed("leave middle", length // 2)
        await timed("position", length // 2)
    return {what: measure.summary(latencies) for what, latencies in runs.items()}


async def main() -> None:
    runs: dict[str, measure.Run] = {}
    with TemporaryPostgres(durable=True) as server:
        for length in (100, 10_000, 100_000):
            async with open_postgres(server.url, "bench_renumbering") as postgres, open_sqlite() as sqlite:
                for database in (postgres, sqlite):
                    for what, run in (await measure_renumbering(database, length)).items():
                        runs[f"{database.name}, {what}, {length:,} in line"] = run
    print(measure.runs_table(runs))


if __name__ == "__main__":
    asyncio.run(main())
