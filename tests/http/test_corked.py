"""What is sent in one turn goes out in one piece, in order, and whole."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from holdfast.http.corked import Corked


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
