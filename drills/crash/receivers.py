"""Where messages arrive: a mail server and a receiver of webhooks, on loopback."""

from __future__ import annotations

import asyncio
import re
from contextlib import suppress
from dataclasses import dataclass, field
from email import message_from_bytes
from email.policy import default
from typing import Any, Self

from aiosmtpd.smtp import SMTP

_LINK = re.compile(r"/o/([\w.-]+)")


@dataclass(frozen=True, slots=True)
class Arrival:
    """One message as it came in: by mail or as a webhook, under the id that its sender gave it."""

    way: str
    id: str
    kind: str
    to: str


@dataclass(slots=True)
class Receivers:
    """Both of them; what came, in the order it came, and the links to offers that people got."""

    arrivals: list[Arrival] = field(default_factory=list)
    # Each with the pool that it is of.
    links: list[tuple[str, str]] = field(default_factory=list)
    smtp_url: str = ""
    webhook_url: str = ""
    _servers: list[asyncio.Server] = field(default_factory=list)
    # Who is on the line just now.
    lines: set[asyncio.BaseTransport] = field(default_factory=set)

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        mail = await loop.create_server(lambda: _Listener(self), "127.0.0.1", 0)
        hooks = await asyncio.start_server(self._take, "127.0.0.1", 0)
        self._servers = [mail, hooks]
        self.smtp_url = f"smtp://127.0.0.1:{_port(mail)}?tls=none"
        self.webhook_url = f"http://127.0.0.1:{_port(hooks)}/"
        return self

    async def __aexit__(self, *exc: object) -> None:
        for server in self._servers:
            server.close()
        for line in list(self.lines):
            line.close()
        for server in self._servers:
            await server.wait_closed()

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:  # noqa: N802
        letter = message_from_bytes(envelope.content, policy=default)
        name = str(letter["Message-ID"]).strip("<>").partition("@")[0]
        kind = str(letter["X-Fairhold-Kind"])
        self.arrivals.append(Arrival("mail", name, kind, envelope.rcpt_tos[0]))
        body = letter.get_body(("plain",))
        if kind == "offer" and body is not None and (link := _LINK.search(body.get_content())):
            self.links.append((name.rsplit("-", 2)[0], link[1]))
        return "250 OK"

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One webhook for each connection. Half of one, from a sender who died, never came."""
        self.lines.add(writer.transport)
        with suppress(OSError, asyncio.IncompleteReadError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            lines = [line.partition(":") for line in head.split("\r\n")[1:]]
            headers = {name.lower(): value.strip() for name, _, value in lines}
            body = await reader.readexactly(int(headers["content-length"]))
            found = re.search(rb'"type":"([a-z_.]+)"', body)
            kind = found[1].decode().rpartition(".")[2] if found else ""
            self.arrivals.append(Arrival("webhook", headers["webhook-id"], kind, ""))
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            await writer.drain()
        writer.close()
        self.lines.discard(writer.transport)


class _Listener(SMTP):
    """One connection of the mail server."""

    def __init__(self, post: Receivers) -> None:
        super().__init__(post, hostname="localhost", loop=asyncio.get_running_loop())
        self._lines = post.lines

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._lines.add(transport)
        super().connection_made(transport)

    def connection_lost(self, error: Exception | None) -> None:
        if self.transport is not None:
            self._lines.discard(self.transport)
        super().connection_lost(error)


def _port(server: asyncio.Server) -> int:
    return int(server.sockets[0].getsockname()[1])
