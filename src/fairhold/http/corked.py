"""What is sent in one turn of the event loop goes out in one piece.

uvicorn writes the head of an answer and its body one after the other, and each is a call to the system that
wakes the client: together the dearest part of a short answer.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

# A stream that is written without a pause is not gathered for long.
_MOST: Final = 64 * 1024


class Corked:
    """A transport that gathers what is written until the turn is over."""

    __slots__ = ("_loop", "_size", "_transport", "_waiting")

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._waiting: list[bytes] = []
        self._size = 0

    def write(self, data: bytes) -> None:
        if not self._waiting:
            self._loop.call_soon(self._flush)
        self._waiting.append(data)
        self._size += len(data)
        if self._size > _MOST:
            self._flush()

    def close(self) -> None:
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        if self._waiting:
            waiting, self._waiting, self._size = self._waiting, [], 0
            if self._transport.is_closing():
                return  # The client has hung up meanwhile.
            self._transport.write(waiting[0] if len(waiting) == 1 else b"".join(waiting))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


def corked(protocol: Any) -> Any:
    """A protocol of uvicorn's, over such a transport."""

    class CorkedProtocol(protocol):  # type: ignore[misc]
        def connection_made(self, transport: asyncio.Transport) -> None:
            super().connection_made(transport)
            self.transport = Corked(transport, self.loop)

    return CorkedProtocol
