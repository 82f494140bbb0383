"""How much a request may say besides its body: its line, its headers, and what stands between its chunks.

What reads HTTP for uvicorn takes in a head of any length, and is the slower the longer it gets: one
connection could have all of our memory and time. So what arrives is counted, and what is read sets it back.
"""

from __future__ import annotations

from typing import Any, Final

from uvicorn.protocols.http.auto import AutoHTTPProtocol

HEAD_MAX: Final = 64 * 1024


def bounded(protocol: Any) -> Any:
    """A protocol of uvicorn's with an end to what it takes in unread."""
    if not hasattr(protocol, "on_headers_complete"):
        return protocol  # The one in plain Python has a limit of its own.

    class Bounded(protocol):  # type: ignore[misc]
        """Counts pieces, not bytes: a body may have come in one piece with its head."""

        _unread = 0

        def data_received(self, data: bytes) -> None:
            if self._unread > HEAD_MAX:
                self.logger.warning("A request had a head of more than %s bytes.", HEAD_MAX)
                self.send_400_response("Invalid HTTP request received.")
                return
            self._unread += len(data)
            super().data_received(data)

        def on_headers_complete(self) -> None:
            self._unread = 0
            super().on_headers_complete()

        def on_body(self, body: bytes) -> None:
            self._unread = 0
            super().on_body(body)

        def on_chunk_header(self) -> None:
            self._unread = 0

        def on_message_complete(self) -> None:
            self._unread = 0
            super().on_message_complete()

    return Bounded


Protocol: Final = bounded(AutoHTTPProtocol)
