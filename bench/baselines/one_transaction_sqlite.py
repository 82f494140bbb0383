"""The `checkout` design on SQLite: one transaction per command, one writer, durable commits.

SQLite has no row locks; `BEGIN IMMEDIATE` takes the one there is. What makes it fair:

- WAL with synchronous=FULL, so a commit is one flush; statements prepared once and kept.
- One connection writes, so nobody ever meets a busy database or waits in a back-off.
- What is free is a number in one row; "already holding" and "already answered" are unique indexes.

Two arrangements are measured. With `thread=True` callers hand their commands to one writer thread, which
leaves the event loop free while the disk is waited for. With `thread=False` a command runs where it is
called: faster by the two switches of threads that it saves, but all other tasks stand still at each flush.
"""

import asyncio
import random
import sqlite3
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from queue import SimpleQueue
from threading import Thread

from bench import measure, workload

FLIGHT = 1
HOLD_WINDOW_MS = 15 * 60 * 1000
ALPHABET = "23456789ABCDEFGHJKMNPQRSTUVWXYZ"

SCHEMA = """
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
CREATE TABLE fare_classes (
    id INTEGER PRIMARY KEY, seats_free INTEGER NOT NULL CHECK (seats_free >= 0), price INTEGER NOT NULL
) STRICT;
CREATE TABLE fairhold_bookings (
    id INTEGER PRIMARY KEY,
    booking_reference TEXT NOT NULL, user_id TEXT NOT NULL, fare_class_id INTEGER NOT NULL,
    status TEXT NOT NULL,
    locked_price INTEGER NOT NULL, total_price INTEGER NOT NULL, seat_count INTEGER NOT NULL,
    held_at INTEGER NOT NULL, hold_expires_at INTEGER NOT NULL, confirmed_at INTEGER, cancelled_at INTEGER
) STRICT;
CREATE UNIQUE INDEX one_hold_each ON fairhold_bookings (fare_class_id, user_id) WHERE status = 'held';
CREATE INDEX bookings_due ON fairhold_bookings (hold_expires_at) WHERE status = 'held';
CREATE TABLE fairhold_log (
    id INTEGER PRIMARY KEY,
    fare_class_id INTEGER NOT NULL, booking_id INTEGER NOT NULL, kind TEXT NOT NULL, at INTEGER NOT NULL
) STRICT;
CREATE TABLE idempotency (
    key TEXT PRIMARY KEY, booking_id INTEGER NOT NULL, at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO fare_classes VALUES (1, 2000000000, 15000);
"""

READ_FARE_CLASS = "SELECT seats_free, price FROM fare_classes WHERE id = ?"
READ_BOOKING = "SELECT status, hold_expires_at, fare_class_id, seat_count FROM fairhold_bookings WHERE id = ?"
TAKE_SEATS = "UPDATE fare_classes SET seats_free = seats_free - ? WHERE id = ?"
INSERT_BOOKING = """
INSERT INTO fairhold_bookings (booking_reference, user_id, fare_class_id, status, locked_price, total_price,
                      seat_count, held_at, hold_expires_at)
VALUES (?, ?, ?, 'held', ?, ?, ?, ?, ?)"""
CONFIRM_BOOKING = "UPDATE fairhold_bookings SET status = 'confirmed', confirmed_at = ? WHERE id = ?"
CANCEL_BOOKING = "UPDATE fairhold_bookings SET status = 'cancelled', cancelled_at = ? WHERE id = ?"
INSERT_LOG = "INSERT INTO fairhold_log (fare_class_id, booking_id, kind, at) VALUES (?, ?, ?, ?)"
INSERT_KEY = "INSERT INTO idempotency VALUES (?, ?, ?)"
READ_KEY = "SELECT booking_id FROM idempotency WHERE key = ?"

Job = Callable[[], int]


class RefusedError(Exception):
    """The command is well formed, and the answer is no."""


class Ledger:
    """The commands themselves, each one transaction; to be used by one thread at a time."""

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._connection.executescript(SCHEMA)
        self._execute = self._connection.execute

    def close(self) -> None:
        self._connection.close()

    def hold(self, party: str, key: str, seats: int = 1) -> int:
        return self._transaction(key, lambda now: self._hold(party, seats, now))

    def confirm(self, booking: int, key: str) -> int:
        return self._transaction(key, lambda now: self._confirm(booking, now))

    def cancel(self, booking: int, key: str) -> int:
        return self._transaction(key, lambda now: self._cancel(booking, now))

    def _transaction(self, key: str, obey: Callable[[int], int]) -> int:
        """Obey and commit. A command that was answered before finds its key, and gets the same answer."""
        now = time.time_ns() // 1_000_000
        self._execute("BEGIN IMMEDIATE")
        try:
            booking = obey(now)
            self._execute(INSERT_KEY, (key, booking, now))
            self._execute("COMMIT")
        except (RefusedError, sqlite3.IntegrityError) as error:
            self._execute("ROLLBACK")
            answered = self._execute(READ_KEY, (key,)).fetchone()
            if answered:
                return int(answered[0])
            if isinstance(error, RefusedError):
                raise
            raise RefusedError("You already have an active booking for this flight") from error
        return booking

    def _hold(self, party: str, seats: int, now: int) -> int:
        free, price = self._execute(READ_FARE_CLASS, (FLIGHT,)).fetchone()
        if free < seats:
            raise RefusedError(f"Not enough seats available. Requested: {seats}, Available: {free}")
        self._execute(TAKE_SEATS, (seats, FLIGHT))
        reference = "".join(random.choices(ALPHABET, k=6))
        row = (reference, party, FLIGHT, price, price * seats, seats, now, now + HOLD_WINDOW_MS)
        booking = self._execute(INSERT_BOOKING, row).lastrowid
        assert booking is not None
        self._execute(INSERT_LOG, (FLIGHT, booking, "held", now))
        return booking

    def _confirm(self, booking: int, now: int) -> int:
        status, expires_at, fare_class, _ = self._execute(READ_BOOKING, (booking,)).fetchone()
        if status != "held" or expires_at <= now:
            raise RefusedError("Booking hold has expired")
        self._execute(CONFIRM_BOOKING, (now, booking))
        self._execute(INSERT_LOG, (fare_class, booking, "confirmed", now))
        return booking

    def _cancel(self, booking: int, now: int) -> int:
        status, _, fare_class, seats = self._execute(READ_BOOKING, (booking,)).fetchone()
        if status not in ("held", "confirmed"):
            raise RefusedError(f"Booking is {status}")
        self._execute(CANCEL_BOOKING, (now, booking))
        self._execute(TAKE_SEATS, (-seats, fare_class))
        self._execute(INSERT_LOG, (fare_class, booking, "cancelled", now))
        return booking


class OneTransaction:
    """The ledger for asyncio callers, who wait their turn while a command runs where it is called."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    async def hold(self, party: str, key: str) -> int:
        return await self._run(lambda: self._ledger.hold(party, key))

    async def confirm(self, booking: int, key: str) -> int:
        return await self._run(lambda: self._ledger.confirm(booking, key))

    async def cancel(self, booking: int, key: str) -> int:
        return await self._run(lambda: self._ledger.cancel(booking, key))

    async def _run(self, job: Job) -> int:
        answer = job()
        await asyncio.sleep(0)  # else one caller would go on for ever and the others never begin
        return answer


class OneTransactionInThread(OneTransaction):
    """The same with the ledger in a thread of its own, which takes one command after the other."""

    def __init__(self, ledger: Ledger) -> None:
        super().__init__(ledger)
        self._loop = asyncio.get_running_loop()
        self._jobs: SimpleQueue[tuple[Job, asyncio.Future[int]] | None] = SimpleQueue()
        self._thread = Thread(target=self._work)
        self._thread.start()

    def stop(self) -> None:
        self._jobs.put(None)
        self._thread.join()

    async def _run(self, job: Job) -> int:
        answer: asyncio.Future[int] = self._loop.create_future()
        self._jobs.put((job, answer))
        return await answer

    def _work(self) -> None:
        while (task := self._jobs.get()) is not None:
            job, answer = task
            try:
                self._loop.call_soon_threadsafe(answer.set_result, job())
            except Exception as error:  # noqa: BLE001 - whatever it is, it belongs to the caller
                self._loop.call_soon_threadsafe(answer.set_exception, error)


@asynccontextmanager
async def open_one_transaction(*, thread: bool = True) -> AsyncIterator[OneTransaction]:
    """A desk on a new SQLite file, gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="fairhold-bench-") as directory:
        ledger = Ledger(Path(directory, "bench.db"))
        try:
            if thread:
                desk = OneTransactionInThread(ledger)
                try:
                    yield desk
                finally:
                    desk.stop()
            else:
                yield OneTransaction(ledger)
        finally:
            ledger.close()


async def main() -> None:
    async with open_one_transaction() as in_thread, open_one_transaction(thread=False) as where_called:
        desks = {"in a writer thread": in_thread, "where called": where_called}
        medians = await measure.interleaved(
            {
                f"{name}, {what.__name__}, {callers} callers": measure.for_seconds(what(desk), callers, 3)
                for what in (workload.holds, workload.mix)
                for callers in (1, 64, 512)
                for name, desk in desks.items()
            },
            repeats=3,
        )
    print(measure.runs_table(medians))


if __name__ == "__main__":
    asyncio.run(main())
