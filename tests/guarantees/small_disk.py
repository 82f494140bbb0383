"""A disk that is really full, for one table of a PostgreSQL: a small file system of its own."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from secrets import token_hex

from testbed.postgres import NOBODY, URL_VARIABLE
from tests.database import ask

SIZE = 4 * 1024**2


def small_disk() -> AbstractContextManager[Path] | None:
    """A folder on a file system of a few megabytes; None where this account may mount none."""
    if os.geteuid() != 0 or os.environ.get(URL_VARIABLE):
        return None
    folder = Path(tempfile.mkdtemp(prefix="fairhold-disk-"))
    folder.chmod(0o755)
    options = f"size={SIZE},mode=0700,uid={NOBODY},gid={NOBODY}"
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", folder], capture_output=True)
    if mounted.returncode:
        folder.rmdir()
        return None
    return _unmounted_later(folder)


@contextmanager
def _unmounted_later(folder: Path) -> Iterator[Path]:
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)
        folder.rmdir()


@contextmanager
def log_on(url: str, disk: Path) -> Iterator[None]:
    """The entries of the log are on this disk, and all else is where it was."""
    place = disk / "postgres"
    place.mkdir(mode=0o700)
    os.chown(place, NOBODY, NOBODY)
    name = f"small_{token_hex(4)}"
    asyncio.run(ask(url, f"CREATE TABLESPACE {name} LOCATION '{place}'"))
    try:
        asyncio.run(ask(url, f"ALTER TABLE fairhold_log SET TABLESPACE {name}"))
        yield
    finally:
        asyncio.run(ask(url, "ALTER TABLE fairhold_log SET TABLESPACE pg_default"))
        asyncio.run(ask(url, f"DROP TABLESPACE {name}"))


@contextmanager
def filled(disk: Path) -> Iterator[None]:
    """Not a byte more fits on it."""
    file = disk / "full"
    with file.open("wb", buffering=0) as filling, suppress(OSError):
        while filling.write(bytes(4096)):
            pass
    assert shutil.disk_usage(disk).free == 0
    try:
        yield
    finally:
        file.unlink()
