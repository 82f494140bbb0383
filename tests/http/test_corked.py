"""What is sent in one turn goes out in one piece, in order, and whole."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from fairhold.http.corked import Corked
from fairhold.http.serve import run_fast


class Wire:
    """Where a transport would write."""

    def __init__(self) -> None:
        self.written: list[bytes] = []
        self.closed = False

    def write(self, data: bytes) -> None:
        assert not self.closed
        self.written.append(data)

    def close(self) -> None:
        self.closed = True

    def is_closing(self) -> bool:
        return self.closed


def corked() -> tuple[Wire, Corked]:
    wire = Wire()
    return wire, Corked(cast(Any, wire), asyncio.get_running_loop())


async def test_head_and_body_are_one_piece() -> None:
    wire, transport = corked()
    transport.write(b"head ")
    transport.write(b"body")
    assert wire.written == []
    await asyncio.sleep(0)
    assert wire.written == [b"head body"]
    transport.write(b"next")
    await asyncio.sleep(0)
    assert wire.written == [b"head body", b"next"]


async def test_what_was_written_goes_out_before_the_end() -> None:
    wire, transport = corked()
    transport.write(b"bye")
    transport.close()
    assert (wire.written, wire.closed) == ([b"bye"], True)
    assert transport.is_closing()
    await asyncio.sleep(0)
    assert wire.written == [b"bye"]


async def test_a_long_stream_is_not_gathered_until_its_end() -> None:
    wire, transport = corked()
    for _ in range(10):
        transport.write(b"x" * 10_000)
    assert wire.written == [b"x" * 70_000]
    await asyncio.sleep(0)
    assert b"".join(wire.written) == b"x" * 100_000


def test_who_hangs_up_before_the_turn_is_over_makes_no_error() -> None:
    """Anybody could fill our log with them."""
    assert run_fast(_hung_up()) == []


async def _hung_up() -> list[Any]:
    """What goes wrong when the connection is lost between a write and the end of the turn."""
    loop, wrong, over = asyncio.get_running_loop(), list[Any](), asyncio.Event()
    loop.set_exception_handler(lambda _, context: wrong.append(context))

    class Answering(asyncio.Protocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            wire = cast(asyncio.Transport, transport)
            wire.abort()
            Corked(wire, loop).write(b"too late")

        def connection_lost(self, exc: Exception | None) -> None:
            loop.call_soon(loop.call_soon, over.set)

    async with await loop.create_server(Answering, "127.0.0.1", 0) as server:
        _, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        await over.wait()
        writer.close()
    return wrong
