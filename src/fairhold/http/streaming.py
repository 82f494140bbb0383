"""Answers without an end: part after part, for as long as somebody takes them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any, Final

from fairhold.http.light import CONNECTION
from fairhold.http.visit import Send, Visit

log = logging.getLogger("fairhold.http")

# When those may come again for whom there is no room. A stream that was let in says so, too: so many may have
# asked at once that all were let in before the first of them was counted.
LATER_S: Final = 30
COME_LATER: Final = f"retry: {LATER_S}000\n\n".encode()


async def stream_out(
    send: Send, receive: Any, scope: Any, parts: AsyncIterator[bytes], media_type: str, patience_s: float
) -> None:
    """Send part after part, until there are no more, or the client has gone or takes nothing."""
    visit: Visit = scope["fairhold"]
    visit.status = 200
    try:
        with _ended_with(scope, receive):
            await send(_begin(visit, media_type))
            async for part in parts:
                async with asyncio.timeout(patience_s):
                    # uvicorn waits while the client's buffers are full.
                    await send({"type": "http.response.body", "body": part, "more_body": True})
        await send({"type": "http.response.body", "body": b""})
    except Exception as error:  # noqa: BLE001  # there is nobody left to tell but the log
        log.info("a stream ended early", extra={"request_id": visit.request_id, "error": repr(error)})
    finally:
        await parts.aclose()  # type: ignore[attr-defined]


def _begin(visit: Visit, media_type: str) -> dict[str, Any]:
    """How it begins: in a place of its own, so that it does not stay for as long as somebody listens."""
    headers = [
        (b"content-type", media_type.encode()),
        (b"x-request-id", visit.request_id.encode()),
        (b"cache-control", b"no-store"),
        (b"x-content-type-options", b"nosniff"),
        (b"x-accel-buffering", b"no"),
    ]
    return {"type": "http.response.start", "status": 200, "headers": headers}


@contextmanager
def _ended_with(scope: Any, receive: Any) -> Iterator[None]:
    """End what is done in here when the client goes."""
    task, gone, inside = asyncio.current_task(), False, True
    assert task is not None

    def end(_: object = None) -> None:
        nonlocal gone
        if inside and not gone:
            gone = True
            task.cancel()

    connection, waiting = scope.get(CONNECTION), None
    if connection is not None:
        connection.listens(scope, end)
    else:
        waiting = asyncio.create_task(_gone(receive))
        waiting.add_done_callback(end)
    try:
        yield
    except asyncio.CancelledError:
        # Others may have cancelled it, too.
        if not gone or task.uncancel():
            raise
    finally:
        inside = False
        if connection is not None:
            connection.on_gone = None
        if waiting is not None:
            waiting.cancel()


async def _gone(receive: Any) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
