"""Several processes behind one port: each listens at it, and the system deals out the connections.

A process listens only once it can serve, so that nobody is dealt to it before. One that leaves first takes in
who was dealt to it: who is in its queue when it closes is cut off, for the system deals nobody twice (unless
`net.ipv4.tcp_migrate_req` is on).
"""

from __future__ import annotations

import asyncio
import select
import socket
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from fairhold.errors import SettingsWrong, Unavailable

if TYPE_CHECKING:
    from fairhold.http.settings import Settings

# Turns of the event loop, in each of which one of those who wait is taken in, or more.
_LAST_MAX: Final = 4_096
_LISTEN_S: Final = 0.25


def must_be_shareable(settings: Settings) -> None:
    """Raises SettingsWrong where a port cannot be shared, or to share it makes no sense."""
    if sys.platform != "linux":
        # Elsewhere all connections go to one of them.
        raise SettingsWrong("FAIRHOLD_SHARE_PORT: only Linux deals connections out to several processes.")
    if not settings.database.startswith(("postgresql://", "postgres://")):
        raise SettingsWrong(
            "FAIRHOLD_SHARE_PORT is for PostgreSQL: on SQLite only one process can write at a time, "
            "and no gain of more is promised."
        )
    if not settings.port:
        raise SettingsWrong("FAIRHOLD_SHARE_PORT: to share a port, say which (FAIRHOLD_PORT).")


def listening_at(host: str, port: int) -> list[socket.socket]:
    """Sockets at every address of a host, which others may listen at, too. Raises Unavailable."""
    found: list[socket.socket] = []
    try:
        for family, kind, proto, _, address in socket.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        ):
            one = socket.socket(family, kind, proto)
            found.append(one)
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            if family == socket.AF_INET6:
                one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            one.setblocking(False)
            one.bind(address)
    except OSError as error:
        for one in found:
            one.close()
        raise Unavailable(f"cannot listen at {host}:{port} with others: {error.strerror}") from error
    return found


async def leave(servers: Sequence[asyncio.AbstractServer], sockets: Sequence[socket.socket]) -> None:
    """Take in who was dealt to us, listen no more, and hear what they have come for."""
    for one in sockets:
        # A full queue takes nobody: who knocks then knocks again a moment later, at another's door.
        one.listen(0)
    waiting = select.poll()
    for one in sockets:
        waiting.register(one, select.POLLIN)
    for _ in range(_LAST_MAX):
        if not waiting.poll(0):
            break
        await asyncio.sleep(0)
    for server in servers:
        server.close()
    for one in sockets:
        one.close()
    # Who has come in and said nothing yet would be shown the door.
    await asyncio.sleep(_LISTEN_S)
