"""What is looked at while it lasts: the process, its database, and what it says of itself."""

from __future__ import annotations

import asyncio
import sqlite3
import time
import urllib.request
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import asyncpg

from drills.one_node import Node

_COUNTS = "select (select count(*) from bookings), (select count(*) from log), (select count(*) from outbox)"


@dataclass(frozen=True, slots=True)
class Sample:
    """One look, so many seconds after the beginning."""

    at_s: float
    memory: int
    files: int
    threads: int
    tasks: int
    streams: int
    database: int
    wal: int
    bookings: int
    entries: int
    messages: int
    outbox_lag_s: float


class Watch:
    """Looks at one node again and again."""

    def __init__(self, it: Node) -> None:
        self._node = it
        self._began = time.monotonic()
        self.samples: list[Sample] = []

    async def run(self, every_s: float) -> None:
        while True:
            self.samples.append(await asyncio.to_thread(self.look))
            await asyncio.sleep(every_s)

    def look(self) -> Sample:
        told = self._metrics()
        database, wal, counts = self._sizes()
        process = self._node.process
        return Sample(
            at_s=time.monotonic() - self._began,
            memory=self._node.rss(),
            files=process.num_fds(),
            threads=process.num_threads(),
            tasks=int(told.get("fairhold_tasks", 0)),
            streams=int(told.get("fairhold_streams", 0)),
            database=database,
            wal=wal,
            bookings=counts[0],
            entries=counts[1],
            messages=counts[2],
            outbox_lag_s=told.get("fairhold_outbox_lag_seconds", 0.0),
        )

    def _metrics(self) -> dict[str, float]:
        with urllib.request.urlopen(f"{self._node.base}/metrics", timeout=60) as answer:
            lines = answer.read().decode().splitlines()
        pairs = [line.rpartition(" ") for line in lines if not line.startswith("#") and "{" not in line]
        return {name: float(value) for name, _, value in pairs}

    def _sizes(self) -> tuple[int, int, tuple[int, int, int]]:
        """Bytes of the database and of its write-ahead log, and how many rows of what is kept."""
        url = self._node.url
        if url.startswith("sqlite:///"):
            path = url.removeprefix("sqlite:///")
            with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=60)) as connection:
                counts = connection.execute(_COUNTS).fetchone()
            wal = Path(f"{path}-wal")
            return Path(path).stat().st_size, wal.stat().st_size if wal.exists() else 0, counts
        return asyncio.run(_sizes_of(url))


async def _sizes_of(url: str) -> tuple[int, int, tuple[int, int, int]]:
    connection = await asyncpg.connect(url)
    try:
        size = await connection.fetchval("select pg_database_size(current_database())")
        wal = await connection.fetchval("select coalesce(sum(size), 0)::bigint from pg_ls_waldir()")
        row = await connection.fetchrow(_COUNTS)
        return size, wal, (row[0], row[1], row[2])
    finally:
        await connection.close()
