"""Is it alive, is it ready: for whoever runs it. No key is needed."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

import msgspec

from holdfast import __version__
from holdfast.errors import HoldfastError
from holdfast.http.endpoint import respond
from holdfast.http.visit import Send

if TYPE_CHECKING:
    from holdfast.http.service import Service

_PATIENCE_S: Final = 3.0


class Health(msgspec.Struct):
    """How the service is."""

    status: str
    version: str
    detail: str


async def healthz(service: Service, scope: Any, send: Send) -> None:
    """This process runs."""
    await _say(scope, send, 200, "ok", "alive")


async def readyz(service: Service, scope: Any, send: Send) -> None:
    """This process can serve: the database can be reached, and its schema is the one this version knows."""
    if service.stopping:
        await _say(scope, send, 503, "stopping", "This process is being stopped.")
        return
    if service.hf is None:
        await _say(scope, send, 503, "starting", service.waiting_for)
        return
    try:
        async with asyncio.timeout(_PATIENCE_S):
            missing = await service.hf.store.pending()
    except (HoldfastError, TimeoutError, OSError):
        await _say(scope, send, 503, "unavailable", "The database cannot be reached.")
        return
    if missing:
        await _say(scope, send, 503, "unavailable", f"Migrations are missing: {', '.join(missing)}.")
    else:
        await _say(scope, send, 200, "ready", "The database is there, and its schema is current.")


async def _say(scope: Any, send: Send, status: int, word: str, detail: str) -> None:
    body = msgspec.json.encode(Health(word, __version__, detail))
    await respond(send, scope["holdfast"], status, body)
