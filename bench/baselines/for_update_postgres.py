"""The `checkout` design on PostgreSQL: one transaction per command, under `SELECT … FOR UPDATE`.

A hold locks the fare class, checks what is free, writes the booking with its price, a log row and an
idempotency row, and commits durably; the next one waits for that commit. What makes it fair:

- A pool of 16 connections, prepared statements, no reset query between callers, READ COMMITTED.
- What is free is a number in the locked row, not a count over bookings or a lock on every seat's row,
  and that row has space on its page to be rewritten without touching an index.
- No look-up before a write: "already holding" and "already answered" are unique indexes.
- A confirmation locks only its booking, so confirmations share their flushes to the disk.

`ForUpdate` writes with one statement per step, as service code does. `ForUpdateFused` sends all writes of a
command as one statement: the least time under the lock that this design allows. Both are measured.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import asyncpg

from bench import measure, workload
from bench.baselines.database import CONNECTIONS, keep_session
from testbed.postgres import TemporaryPostgres

FLIGHT = 1
ALPHABET = "23456789ABCDEFGHJKMNPQRSTUVWXYZ"

SCHEMA = """
DROP SCHEMA IF EXISTS {schema} CASCADE;
CREATE SCHEMA {schema};
SET search_path = {schema};
CREATE TABLE fare_classes (
    id int PRIMARY KEY, seats_free int NOT NULL CHECK (seats_free >= 0), price int NOT NULL
) WITH (fillfactor = 10);
CREATE TABLE fairhold_bookings (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    booking_reference text NOT NULL, user_id text NOT NULL, fare_class_id int NOT NULL, status text NOT NULL,
    locked_price int NOT NULL, total_price int NOT NULL, seat_count int NOT NULL,
    held_at timestamptz NOT NULL, hold_expires_at timestamptz NOT NULL,
    confirmed_at timestamptz, cancelled_at timestamptz
);
CREATE UNIQUE INDEX one_hold_each ON fairhold_bookings (fare_class_id, user_id) WHERE status = 'held';
CREATE INDEX bookings_due ON fairhold_bookings (hold_expires_at) WHERE status = 'held';
CREATE TABLE fairhold_log (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    fare_class_id int NOT NULL, booking_id bigint NOT NULL, kind text NOT NULL, at timestamptz NOT NULL
);
CREATE TABLE idempotency (key text PRIMARY KEY, booking_id bigint NOT NULL, at timestamptz NOT NULL);
INSERT INTO fare_classes VALUES (1, 2000000000, 15000);
"""

LOCK_FARE_CLASS = "SELECT seats_free, price FROM fare_classes WHERE id = $1 FOR UPDATE"
LOCK_BOOKING = (
    "SELECT status, hold_expires_at, fare_class_id, seat_count FROM fairhold_bookings WHERE id = "
    "$1 FOR UPDATE"
)
TAKE_SEATS = "UPDATE fare_classes SET seats_free = seats_free - $2 WHERE id = $1"
INSERT_BOOKING = """
INSERT INTO fairhold_bookings (booking_reference, user_id, fare_class_id, status, locked_price, total_price,
                      seat_count, held_at, hold_expires_at)
VALUES ($1, $2, $3, 'held', $4, $5, $6, now(), now() + interval '15 minutes') RETURNING id"""
CONFIRM_BOOKING = "UPDATE fairhold_bookings SET status = 'confirmed', confirmed_at = now() WHERE id = $1"
CANCEL_BOOKING = "UPDATE fairhold_bookings SET status = 'cancelled', cancelled_at = now() WHERE id = $1"
INSERT_LOG = "INSERT INTO fairhold_log (fare_class_id, booking_id, kind, at) VALUES ($1, $2, $3, now())"
INSERT_KEY = "INSERT INTO idempotency VALUES ($1, $2, now())"
READ_KEY = "SELECT booking_id FROM idempotency WHERE key = $1"

FUSED_HOLD = f"""
WITH taken AS (UPDATE fare_classes SET seats_free = seats_free - $6 WHERE id = $3),
     made AS ({INSERT_BOOKING}),
     logged AS (INSERT INTO fairhold_log (fare_class_id, booking_id, kind, at) SELECT $3, id,
     'held', now() FROM made),
     keyed AS (INSERT INTO idempotency SELECT $7, id, now() FROM made)
SELECT id FROM made"""
FUSED_CONFIRM = f"""
WITH changed AS ({CONFIRM_BOOKING}),
     logged AS (INSERT INTO fairhold_log (fare_class_id, booking_id, kind, at) VALUES ($2, $1,
     'confirmed', now()))
INSERT INTO idempotency VALUES ($3, $1, now())"""
FUSED_CANCEL = f"""
WITH changed AS ({CANCEL_BOOKING}),
     returned AS (UPDATE fare_classes SET seats_free = seats_free + $4 WHERE id = $2),
     logged AS (INSERT INTO fairhold_log (fare_class_id, booking_id, kind, at) VALUES ($2, $1,
     'cancelled', now()))
INSERT INTO idempotency VALUES ($3, $1, now())"""


class RefusedError(Exception):
    """The command is well formed, and the answer is no."""


class ForUpdate:
    """Hold, confirm and cancel, each in its own transaction, one statement per step."""

    def __init__(self, pool: Any) -> None:
        self._pool = pool

    async def hold(self, party: str, key: str, seats: int = 1) -> int:
        async def obey(connection: Any) -> int:
            free, price = await connection.fetchrow(LOCK_FARE_CLASS, FLIGHT)
            if free < seats:
                raise RefusedError(f"Not enough seats available. Requested: {seats}, Available: {free}")
            return await self._write_hold(connection, party, key, seats, price)

        return await self._transaction(key, obey)

    async def confirm(self, booking: int, key: str) -> int:
        async def obey(connection: Any) -> int:
            status, expires_at, fare_class, _ = await connection.fetchrow(LOCK_BOOKING, booking)
            if status != "held" or expires_at <= datetime.now(UTC):
                raise RefusedError("Booking hold has expired")
            await self._write_confirm(connection, booking, key, fare_class)
            return booking

        return await self._transaction(key, obey)

    async def cancel(self, booking: int, key: str) -> int:
        async def obey(connection: Any) -> int:
            status, _, fare_class, seats = await connection.fetchrow(LOCK_BOOKING, booking)
            if status not in ("held", "confirmed"):
                raise RefusedError(f"Booking is {status}")
            await self._write_cancel(connection, booking, key, fare_class, seats)
            return booking

        return await self._transaction(key, obey)

    async def _transaction(self, key: str, obey: Callable[[Any], Awaitable[int]]) -> int:
        """Obey and commit. A command that was answered before finds its key, and gets the same answer."""
        try:
            async with self._pool.acquire() as connection, connection.transaction():
                return await obey(connection)
        except (RefusedError, asyncpg.UniqueViolationError) as error:
            answered: int | None = await self._pool.fetchval(READ_KEY, key)
            if answered is not None:
                return answered
            if isinstance(error, RefusedError):
                raise
            raise RefusedError("You already have an active booking for this flight") from error

    async def _write_hold(self, connection: Any, party: str, key: str, seats: int, price: int) -> int:
        await connection.execute(TAKE_SEATS, FLIGHT, seats)
        total = price * seats
        booking: int = await connection.fetchval(
            INSERT_BOOKING, reference(), party, FLIGHT, price, total, seats
        )
        await connection.execute(INSERT_LOG, FLIGHT, booking, "held")
        await connection.execute(INSERT_KEY, key, booking)
        return booking

    async def _write_confirm(self, connection: Any, booking: int, key: str, fare_class: int) -> None:
        await connection.execute(CONFIRM_BOOKING, booking)
        await connection.execute(INSERT_LOG, fare_class, booking, "confirmed")
        await connection.execute(INSERT_KEY, key, booking)

    async def _write_cancel(
        self, connection: Any, booking: int, key: str, fare_class: int, seats: int
    ) -> None:
        await connection.execute(CANCEL_BOOKING, booking)
        await connection.execute(INSERT_LOG, fare_class, booking, "cancelled")
        await connection.execute(INSERT_KEY, key, booking)
        # The row everybody wants comes last, so that it is locked for as short as can be.
        await connection.execute(TAKE_SEATS, fare_class, -seats)


class ForUpdateFused(ForUpdate):
    """The same with all the writes of a command in one statement."""

    async def _write_hold(self, connection: Any, party: str, key: str, seats: int, price: int) -> int:
        booking: int = await connection.fetchval(
            FUSED_HOLD, reference(), party, FLIGHT, price, price * seats, seats, key
        )
        return booking

    async def _write_confirm(self, connection: Any, booking: int, key: str, fare_class: int) -> None:
        await connection.execute(FUSED_CONFIRM, booking, fare_class, key)

    async def _write_cancel(
        self, connection: Any, booking: int, key: str, fare_class: int, seats: int
    ) -> None:
        await connection.execute(FUSED_CANCEL, booking, fare_class, key, seats)


def reference() -> str:
    """Six letters and digits to tell over the telephone."""
    return "".join(random.choices(ALPHABET, k=6))


@asynccontextmanager
async def open_for_update(url: str, *, fused: bool = False) -> AsyncIterator[ForUpdate]:
    """A desk with an empty schema of its own on that database; an earlier one is dropped."""
    schema = "bench_for_update_fused" if fused else "bench_for_update"
    connection = await asyncpg.connect(url)
    await connection.execute(SCHEMA.format(schema=schema))
    await connection.close()
    # Plans made while the tables are still empty must not scan them later.
    settings = {"search_path": schema, "enable_seqscan": "off"}
    async with asyncpg.create_pool(
        url, min_size=CONNECTIONS, max_size=CONNECTIONS, reset=keep_session, server_settings=settings
    ) as pool:
        yield (ForUpdateFused if fused else ForUpdate)(pool)


async def main() -> None:
    with TemporaryPostgres(durable=True) as server:
        async with open_for_update(server.url) as steps, open_for_update(server.url, fused=True) as fused:
            desks = {"one statement per step": steps, "writes fused": fused}
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
