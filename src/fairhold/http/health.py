"""Is it alive, is it ready, and what does it lack: for whoever runs it. No key is needed."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

import msgspec

from fairhold import __version__
from fairhold.errors import FairholdError
from fairhold.http.endpoint import respond
from fairhold.http.visit import Send
from fairhold.outbox.readiness import warning_of

if TYPE_CHECKING:
    from fairhold.http.service import Service

_PATIENCE_S: Final = 3.0


class Health(msgspec.Struct):
    """How the service is. `warnings` name what is missing for its work, though it can serve."""

    status: str
    version: str
    detail: str
    warnings: tuple[str, ...] = ()


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
    except (FairholdError, TimeoutError, OSError):
        await _say(scope, send, 503, "unavailable", "The database cannot be reached.")
        return
    if missing:
        await _say(scope, send, 503, "unavailable", f"Migrations are missing: {', '.join(missing)}.")
    else:
        detail = "The database is there, and its schema is current."
        await _say(scope, send, 200, "ready", detail, _warnings(service))


def _warnings(service: Service) -> tuple[str, ...]:
    """Say what keeps letters from going out, if this process has to send them."""
    outbox = service.hf.outbox if service.hf is not None else None
    warning = warning_of(outbox) if outbox is not None else ""
    return (f"{warning[:1].upper()}{warning[1:]}.",) if warning else ()


async def _say(
    scope: Any, send: Send, status: int, word: str, detail: str, warnings: tuple[str, ...] = ()
) -> None:
    body = msgspec.json.encode(Health(word, __version__, detail, warnings))
    await respond(send, scope["fairhold"], status, body)
