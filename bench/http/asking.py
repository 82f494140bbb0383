"""A client that costs little: requests are a text that is filled in, answers are hardly looked at.

The machine is shared by client, service and database; every microsecond of the client is missing elsewhere.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count, cycle
from time import perf_counter
from typing import Any

_numbers = count()
_HEAD_END = b"\r\n\r\n"
_LENGTH = b"content-length: "


@dataclass(slots=True)
class Ask:
    """One kind of request: `{n}` is a number never used before, `{item}` the next of the items."""

    method: str
    path: str
    body: str = ""
    key: str = ""
    headers: dict[str, str] = field(default_factory=dict)

    def text(self) -> str:
        """The head of the request, with places to fill in."""
        lines = [f"{self.method} {self.path} HTTP/1.1", "host: fairhold"]
        lines += [f"{name}: {value}" for name, value in self.headers.items()]
        if self.key:
            lines.append(f"idempotency-key: {self.key}")
        if self.body:
            lines += ["content-type: application/json", "content-length: {length}"]
        return "\r\n".join(lines) + "\r\n\r\n"


@dataclass(slots=True)
class Order:
    """So many clients ask the same for so long, each again once it is answered (and after a pause)."""

    ask: Ask
    ports: Sequence[int]
    clients: int
    seconds: float
    items: Sequence[str] = ()
    again: bool = True
    """Whether the items are gone through again and again, or once."""
    pause_s: float = 0.0
    collect: bool = False


@dataclass(slots=True)
class Tally:
    """What came of an order."""

    seconds: float = 0.0
    latencies: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    ids: list[str] = field(default_factory=list)


class Desk:
    """One order being carried out."""

    def __init__(self, order: Order) -> None:
        self.order = order
        self.tally = Tally()
        self.ends = 0.0
        self._head, self._body = order.ask.text(), order.ask.body
        self._items: Iterator[str] = cycle(order.items) if order.again else iter(order.items)

    def request(self) -> bytes | None:
        """The next request; None when there is none."""
        if perf_counter() >= self.ends:
            return None
        number = str(next(_numbers))
        item = ""
        if self.order.items:
            found = next(self._items, None)
            if found is None:
                return None
            item = found
        head, body = self._head, self._body
        if body:
            body = body.replace("{n}", number).replace("{item}", item)
            head = head.replace("{length}", str(len(body)))
        return (head.replace("{n}", number).replace("{item}", item) + body).encode()

    def answered(self, status: int, body: bytes, took_s: float) -> None:
        self.tally.latencies.append(took_s)
        self.tally.statuses[status] += 1
        if self.order.collect and status < 300:
            self.tally.ids.append(json.loads(body)["id"])

    async def carry_out(self) -> Tally:
        loop = asyncio.get_running_loop()
        clients = [Client(self) for _ in range(self.order.clients)]
        ports = cycle(self.order.ports)
        for client in clients:
            await loop.create_connection(lambda client=client: client, "127.0.0.1", next(ports))  # type: ignore[misc]
        began = perf_counter()
        self.ends = began + self.order.seconds
        for client in clients:
            client.start()
        await asyncio.gather(*(client.done for client in clients))
        self.tally.seconds = perf_counter() - began
        for client in clients:
            client.close()
        return self.tally


class Client(asyncio.Protocol):
    """One connection, kept; one request at a time."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._loop = asyncio.get_running_loop()
        self.done: asyncio.Future[None] = self._loop.create_future()
        self._transport: Any = None
        self._buffer = b""
        self._needed = 0
        self._asked = 0.0

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def connection_lost(self, error: Exception | None) -> None:
        if not self.done.done():
            self.done.set_exception(error or ConnectionError("the service hung up"))

    def close(self) -> None:
        self._transport.close()

    def start(self) -> None:
        request = self._desk.request()
        if request is None:
            self.done.set_result(None)
            return
        self._asked = perf_counter()
        self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        if self._buffer:
            data = self._buffer + data
        if not self._needed:
            end = data.find(_HEAD_END)
            if end < 0:
                self._buffer = data
                return
            at = data.find(_LENGTH, 0, end)
            length = int(data[at + len(_LENGTH) : data.find(b"\r\n", at)]) if at >= 0 else 0
            self._needed = end + len(_HEAD_END) + length
        if len(data) < self._needed:
            self._buffer = data
            return
        self._buffer, self._needed = b"", 0
        body = data[data.find(_HEAD_END) + len(_HEAD_END) :] if self._desk.order.collect else b""
        self._desk.answered(int(data[9:12]), body, perf_counter() - self._asked)
        if pause := self._desk.order.pause_s:
            self._loop.call_later(pause, self.start)
        else:
            self.start()
