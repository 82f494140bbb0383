"""How long a request may take to arrive.

uvicorn waits for ever for the rest of one: thousands that are begun and never ended could have all of our
connections. So who is too slow is left.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

# From the first byte of a request to its last, and from the connection to the first.
REQUEST_S: Final = 60.0


def patient(protocol: Any) -> Any:
    """A protocol of uvicorn's with an end to its patience."""

    class Patient(protocol):  # type: ignore[misc]
        _arriving = True
        _patience: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:
            super().connection_made(transport)
            self._patience = self.loop.call_later(REQUEST_S, self._leave)

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_waiting()
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if not self._arriving:
                self._stop_waiting()
            elif self._patience is None:
                self._patience = self.loop.call_later(REQUEST_S, self._leave)

        def on_message_begin(self) -> None:
            self._arriving = True
            super().on_message_begin()

        def on_message_complete(self) -> None:
            self._arriving = False
            super().on_message_complete()

        def _leave(self) -> None:
            self.transport.close()

        def _stop_waiting(self) -> None:
            if self._patience is not None:
                self._patience.cancel()
                self._patience = None

    # The one in plain Python does not say when a message begins.
    return Patient if hasattr(protocol, "on_message_begin") else protocol
