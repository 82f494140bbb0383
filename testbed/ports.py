"""Ports for servers that are told beforehand where to listen.

They are below the range from which systems pick ports for outgoing connections: a client could otherwise be
given a server's port just before the server takes it, and one that keeps trying could connect to itself.
"""

from __future__ import annotations

import os
import random
import socket
from contextlib import suppress

PORTS = range(15_000, 32_000)

_given: set[int] = set()


def free_port() -> int:
    """A port that nobody listens at, and that nobody else is given: not here, nor in a worker beside us."""
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    mine = PORTS[worker::workers]
    for port in random.sample(mine, len(mine)):
        with socket.socket() as probe, suppress(OSError):
            if port not in _given:
                probe.bind(("127.0.0.1", port))
                _given.add(port)
                return port
    raise OSError("no free port was found")
