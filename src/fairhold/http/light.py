"""A connection that weighs little, for thousands of them may only listen.

What uvicorn keeps ready for each (a queue for requests that come too early, an event for a client that reads
too slowly) is made when it is needed. And a connection says when it is lost, so that a stream needs no second
task to find out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final

from uvicorn.protocols.http.flow_control import FlowControl

CONNECTION: Final = "fairhold.connection"
"""Where the scope of a request has its connection."""


class _Early(list[Any]):
    """Requests that came before the one before them was answered: hardly ever any."""

    __slots__ = ()

    def appendleft(self, item: Any) -> None:
        self.insert(0, item)


class _Flow(FlowControl):
    """When to write on."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self.read_paused = False
        self.write_paused = False
        self._writable: asyncio.Event | None = None

    async def drain(self) -> None:
        if self.write_paused:
            self._writable = self._writable or asyncio.Event()
            await self._writable.wait()

    def pause_writing(self) -> None:
        self.write_paused = True

    def resume_writing(self) -> None:
        self.write_paused = False
        if self._writable is not None:
            self._writable.set()
            self._writable = None


class _NoMore:
    """In place of the event that tells of more of a request: there is none."""

    def set(self) -> None: ...

    def clear(self) -> None: ...


_NO_MORE: Final = _NoMore()


def light(protocol: Any) -> Any:
    """A protocol of uvicorn's that weighs less."""
    if not hasattr(protocol, "on_headers_complete"):
        return protocol  # The one in plain Python is built in another way.

    class Light(protocol):  # type: ignore[misc]
        on_gone: Callable[[], object] | None = None
        gone = False

        def connection_made(self, transport: asyncio.Transport) -> None:
            super().connection_made(transport)
            self.pipeline = _Early()
            self.flow = _Flow(transport)

        def on_headers_complete(self) -> None:
            super().on_headers_complete()
            self.scope[CONNECTION] = self

        def listens(self, scope: Any, on_gone: Callable[[], object]) -> None:
            """From now on this request is only answered: what it said, and may say, is let go."""
            self.on_gone = on_gone
            # With a request that came too early we are at that one already.
            if self.cycle.scope is scope:
                self.headers: list[tuple[bytes, bytes]] = []
                scope["headers"] = self.headers
                self.cycle.message_event = _NO_MORE
            if self.gone:
                on_gone()

        def connection_lost(self, exc: Exception | None) -> None:
            super().connection_lost(exc)
            self.gone = True
            if self.scope is not None:
                # Or they would keep each other until garbage is looked for.
                self.scope.pop(CONNECTION, None)
            if self.on_gone is not None:
                self.on_gone()

    return Light
