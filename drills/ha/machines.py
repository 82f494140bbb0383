"""A machine of the cluster: etcd, and PostgreSQL under Patroni. It can be killed, frozen and cut off."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

from drills.ha.programs import Programs, as_user, give
from drills.ha.wires import Wire
from testbed.ports import free_port

# Patroni takes no ttl under 20; a lease that is not renewed for so long is another's.
TTL_S, LOOP_S, RETRY_S = 20, 3, 6
_PARAMETERS = {
    "wal_level": "replica",
    "hot_standby": "on",
    "wal_log_hints": "on",
    "max_connections": 100,
    "max_wal_senders": 8,
    "shared_buffers": "64MB",
    "max_wal_size": "256MB",
    # A standby that says nothing for so long is gone; by default a commit waits for it for a minute.
    "wal_sender_timeout": "5s",
    "wal_receiver_timeout": "5s",
}
_RULES = ["local all all trust", "host all all 127.0.0.1/32 trust", "host replication all 127.0.0.1/32 trust"]


class Machine:
    def __init__(self, number: int, programs: Programs, directory: Path, *, synchronous: bool) -> None:
        self.number = number
        self.name = f"n{number}"
        self._programs = programs
        self._directory = directory
        self._synchronous = synchronous
        self.etcd_port, self.peer_port = free_port(), free_port()
        self.postgres_port, self.api_port = free_port(), free_port()
        # What others say to this machine: clients to its database, other machines to it, and to its Patroni.
        self.to_clients, self.to_machines = Wire(self.postgres_port), Wire(self.postgres_port)
        self.to_patroni = Wire(self.api_port)
        # What its Patroni says to each etcd.
        self.to_etcd: list[Wire] = []
        self._etcd: subprocess.Popen[bytes] | None = None
        self._patroni: subprocess.Popen[bytes] | None = None
        self._frozen: list[int] = []

    @property
    def wires(self) -> list[Wire]:
        return [self.to_clients, self.to_machines, self.to_patroni, *self.to_etcd]

    @property
    def _data(self) -> Path:
        return self._directory / f"postgres-{self.number}"

    async def lay_wires(self, machines: Sequence[Machine]) -> None:
        self.to_etcd = [Wire(machine.etcd_port) for machine in machines]
        for wire in self.wires:
            await wire.open()

    # Starting.

    def start_etcd(self, machines: Sequence[Machine]) -> None:
        client, peer = (f"http://127.0.0.1:{port}" for port in (self.etcd_port, self.peer_port))
        members = ",".join(f"{it.name}=http://127.0.0.1:{it.peer_port}" for it in machines)
        options = {
            "name": self.name,
            "data-dir": self._directory / f"etcd-{self.number}",
            "listen-client-urls": client,
            "advertise-client-urls": client,
            "listen-peer-urls": peer,
            "initial-advertise-peer-urls": peer,
            "initial-cluster": members,
            "initial-cluster-state": "new",
            "heartbeat-interval": 250,
            "election-timeout": 2500,
            "log-level": "warn",
            "logger": "zap",
        }
        words = [f"--{name}={value}" for name, value in options.items()]
        self._etcd = self._start(f"etcd-{self.number}", [str(self._programs.etcd), *words])

    def start_patroni(self) -> None:
        config = self._directory / f"{self.name}.yml"
        config.write_text(json.dumps(self._config(), indent=1))
        give(config)
        self._patroni = self._start(
            f"patroni-{self.number}", [*self._programs.python, "-m", "patroni", str(config)]
        )

    def _start(self, name: str, command: list[str]) -> subprocess.Popen[bytes]:
        with (self._directory / f"{name}.log").open("ab") as log:
            return subprocess.Popen(
                command, stdout=log, stderr=log, start_new_session=True, **as_user(self._programs.environment)
            )

    def _config(self) -> dict[str, Any]:
        dynamic = {
            "ttl": TTL_S,
            "loop_wait": LOOP_S,
            "retry_timeout": RETRY_S,
            "maximum_lag_on_failover": 64 * 1024 * 1024,
            "synchronous_mode": self._synchronous,
            "postgresql": {"use_pg_rewind": True, "parameters": _PARAMETERS},
        }
        who = {"username": "postgres"}
        return {
            "scope": "drill",
            "name": self.name,
            "restapi": {
                "listen": f"127.0.0.1:{self.api_port}",
                "connect_address": f"127.0.0.1:{self.to_patroni.port}",
            },
            # Otherwise it would find out where each etcd is, and go past the wires.
            "etcd3": {"hosts": [f"127.0.0.1:{wire.port}" for wire in self.to_etcd], "use_proxies": True},
            "bootstrap": {
                "dcs": dynamic,
                "initdb": [{"encoding": "UTF8"}, {"locale": "C"}, "data-checksums"],
            },
            "postgresql": {
                "listen": f"127.0.0.1:{self.postgres_port}",
                "connect_address": f"127.0.0.1:{self.to_machines.port}",
                "data_dir": str(self._data),
                "bin_dir": str(self._programs.postgres),
                "pgpass": str(self._directory / f"pgpass-{self.number}"),
                "pg_hba": _RULES,
                "authentication": {"superuser": who, "replication": who, "rewind": who},
                "parameters": {"unix_socket_directories": str(self._directory)},
                # Nobody stands by who could do it by hand.
                "remove_data_directory_on_rewind_failure": True,
                "remove_data_directory_on_diverged_timelines": True,
            },
        }

    # What happens to it.

    async def kill(self) -> None:
        """The whole machine, as a power cut would."""
        await _kill([*_pids(self._patroni), *self._postgres(), *_pids(self._etcd)])
        for process in (self._patroni, self._etcd):
            if process is not None:
                process.wait()

    async def kill_postgres(self) -> None:
        await _kill(self._postgres())

    def freeze(self) -> None:
        self._frozen = [*_pids(self._patroni), *self._postgres(), *_pids(self._etcd)]
        _signal(self._frozen, signal.SIGSTOP)

    def thaw(self) -> None:
        _signal(reversed(self._frozen), signal.SIGCONT)
        self._frozen = []

    def cut(self, *wires: Wire) -> None:
        for wire in wires or self.wires:
            wire.cut()

    def mend(self) -> None:
        for wire in self.wires:
            wire.mend()

    async def end(self) -> None:
        self.mend()
        await self.kill()
        for wire in self.wires:
            await wire.close()

    def _postgres(self) -> list[int]:
        """Its processes, the first before its children, so that it can start no more of them."""
        try:
            first = int((self._data / "postmaster.pid").read_text().split()[0])
        except (OSError, ValueError, IndexError):
            return []
        return _pids(first)


def _pids(process: subprocess.Popen[bytes] | int | None) -> list[int]:
    if process is None or (isinstance(process, subprocess.Popen) and process.poll() is not None):
        return []
    first = process if isinstance(process, int) else process.pid
    with suppress(psutil.NoSuchProcess):
        _signal([first], signal.SIGSTOP)
        children = [child.pid for child in psutil.Process(first).children(recursive=True)]
        _signal([first], signal.SIGCONT)
        return [first, *children]
    return []


async def _kill(pids: list[int]) -> None:
    _signal(pids, signal.SIGSTOP)
    _signal(pids, signal.SIGKILL)
    while any(_runs(pid) for pid in pids):
        await asyncio.sleep(0.01)


def _signal(pids: Iterable[int], which: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, which)


def _runs(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
