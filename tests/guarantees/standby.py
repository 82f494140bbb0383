"""A standby of a PostgreSQL, and parts of a server that can be made to stand still."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path

import asyncpg
import psutil

from testbed.postgres import (
    NOBODY,
    PostgresError,
    TemporaryPostgres,
    as_server_user,
    find_binaries,
    reachable,
)
from tests.database import Rows, ask
from tests.patience import until, wait_until


class Standby(TemporaryPostgres):
    """Copies a server and follows it."""

    def __init__(self, primary: TemporaryPostgres, name: str) -> None:
        super().__init__(durable=True)
        self._primary = primary
        self.name = name

    def _make_cluster(self) -> Path:
        self.directory = directory = Path(tempfile.mkdtemp(prefix="fairhold-standby-"))
        if os.geteuid() == 0:
            os.chown(directory, NOBODY, NOBODY)
        self._bin = reachable(find_binaries(), directory)
        source = f"host=127.0.0.1 port={self._primary.port} user=postgres application_name={self.name}"
        command = [str(self._bin / "pg_basebackup"), "-d", source, "-D", str(directory / "data"), "-R"]
        made = subprocess.run(
            [*command, "--checkpoint=fast", "--no-sync"], capture_output=True, text=True, **as_server_user()
        )
        if made.returncode:
            raise PostgresError(f"pg_basebackup failed:\n{made.stderr}")
        return directory

    def _wait_until_ready(self, directory: Path) -> None:
        def ready() -> bool:
            assert self._process
            assert self._process.poll() is None, (directory / "log").read_text()[-3000:]
            with suppress(FileNotFoundError, IndexError):
                lines = (directory / "data" / "postmaster.pid").read_text().splitlines()
                return lines[7].strip() in ("standby", "ready")
            return False

        wait_until(ready)


def freeze_who_flushes(server: TemporaryPostgres) -> None:
    """Nobody but the committing process itself writes anything to the disk from now on."""
    frozen = 0
    for pid in server.children():
        words = " ".join(psutil.Process(pid).cmdline())
        if any(part in words for part in ("walwriter", "background writer", "checkpointer")):
            os.kill(pid, signal.SIGSTOP)
            frozen += 1
    assert frozen == 3


async def commits_wait_for(url: str, name: str) -> None:
    """For this standby; for none, if it has no name."""
    await ask(url, f"ALTER SYSTEM SET synchronous_standby_names = '{name}'")
    await ask(url, "SELECT pg_reload_conf()")


async def who_waits(url: str, name: str) -> Rows:
    waiting = f"wait_event = 'SyncRep' AND application_name = '{name}'"
    return await ask(url, f"SELECT pid FROM pg_stat_activity WHERE {waiting}")


async def commits_wait_for_nobody_here(url: str) -> None:
    """The server takes it up in its own time: one commit is seen to wait."""
    await commits_wait_for(url, "nobody_here")

    async def one_waits() -> bool:
        settings = {"application_name": "probe", "synchronous_commit": "on"}
        probe = await asyncpg.connect(url, server_settings=settings)
        wrote = asyncio.create_task(probe.execute("CREATE TABLE probe (); DROP TABLE probe"))

        async def seen() -> str:
            return "waits" if await who_waits(url, "probe") else "done" if wrote.done() else ""

        found = await until(seen)
        probe.terminate()
        with suppress(asyncpg.PostgresError, asyncpg.InterfaceError, OSError):
            await wrote
        return found == "waits"

    await until(one_waits)


def wait_until_following(url: str, *names: str) -> None:
    """Until just these standbys hear of what is committed."""
    asked = "SELECT application_name FROM pg_stat_replication WHERE state = 'streaming'"
    wait_until(lambda: asyncio.run(ask(url, asked)) == [(name,) for name in names])
