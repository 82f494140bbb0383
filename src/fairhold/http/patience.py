"""How long a request may take to arrive.

uvicorn waits for ever for the rest of one: thousands that are begun and never ended could have all of our
connections. So who is too slow is left.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

# From the first byte of a request to its last, and from the connection to the first.
REQUEST_S: Final = 60.0
# Of a long body, so much must come in that time.
PIECE: Final = 256 * 1024


def patient(protocol: Any) -> Any:
    """A protocol of uvicorn's with an end to its patience."""

    class Patient(protocol):  # type: ignore[misc]
        _arriving = True
        _piece = 0
        _patience: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:
            super().connection_made(transport)
            self._patience = self.loop.call_later(REQUEST_S, self._leave)

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_waiting()
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            # Also what is no request, as an empty line, ends uvicorn's own wait for the next one.
            self._arriving = True
            super().data_received(data)
            if self._arriving and self._patience is None:
                self._patience = self.loop.call_later(REQUEST_S, self._leave)

        def on_body(self, body: bytes) -> None:
            self._piece += len(body)
            if self._piece >= PIECE:
                self._stop_waiting()
            super().on_body(body)

        def on_message_complete(self) -> None:
            self._arriving = False
            self._stop_waiting()
            super().on_message_complete()

        def _leave(self) -> None:
            self._patience = None
            if self.flow.read_paused:
                # It is we who do not listen.
                self._patience = self.loop.call_later(REQUEST_S, self._leave)
            else:
                self.transport.close()

        def _stop_waiting(self) -> None:
            self._piece = 0
            if self._patience is not None:
                self._patience.cancel()
                self._patience = None

    # The one in plain Python does not say when a message is complete.
    return Patient if hasattr(protocol, "on_message_complete") else protocol
