"""The OpenAPI document and a page to read and try it. All of it comes from here: no other host is asked."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

import msgspec

from fairhold.http.endpoint import respond
from fairhold.http.openapi import document
from fairhold.http.visit import Send

if TYPE_CHECKING:
    from fairhold.http.service import Service

_POLICY: Final = (
    (
        b"content-security-policy",
        (
            b"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; "
            b"form-action 'self'; frame-ancestors 'none'"
        ),
    ),
    (b"referrer-policy", b"no-referrer"),
)


async def openapi(service: Service, scope: Any, send: Send) -> None:
    # Made once: it takes as long as hundreds of other answers, and anybody may ask for it.
    if service.described is None:
        service.described = msgspec.json.encode(document(service.operations))
    await respond(send, scope["fairhold"], 200, service.described)


async def docs(service: Service, scope: Any, send: Send) -> None:
    await _file(scope, send, "docs.html", b"text/html; charset=utf-8")


async def docs_script(service: Service, scope: Any, send: Send) -> None:
    await _file(scope, send, "docs.js", b"text/javascript; charset=utf-8")


async def docs_style(service: Service, scope: Any, send: Send) -> None:
    await _file(scope, send, "docs.css", b"text/css; charset=utf-8")


async def _file(scope: Any, send: Send, name: str, media_type: bytes) -> None:
    await respond(send, scope["fairhold"], 200, _read(name), media_type, _POLICY)


@cache
def _read(name: str) -> bytes:
    return (files("fairhold.http") / "static" / name).read_bytes()
