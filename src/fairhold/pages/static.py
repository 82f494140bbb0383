"""Style and script, as files of our own. Their address names what is in them: they may be kept for ever."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Final

from fairhold.http.problems import not_found
from fairhold.pages.answers import Answer

if TYPE_CHECKING:
    from fairhold.pages.calls import Call

# Where each file is, and what it is.
_FILES: Final = {
    "palette.css": "fairhold.pages",
    "pages.css": "fairhold.pages",
    "pages.js": "fairhold.pages",
    "icon.svg": "fairhold.pages",
    "console.css": "fairhold.console",
    "records.css": "fairhold.console",
    "console.js": "fairhold.console",
    "passkeys.js": "fairhold.console",
}
_TYPES: Final = {
    "css": b"text/css; charset=utf-8",
    "js": b"text/javascript; charset=utf-8",
    "svg": b"image/svg+xml",
}
KEPT: Final = (
    (b"cache-control", b"public, max-age=31536000, immutable"),
    (b"x-content-type-options", b"nosniff"),
)


@cache
def read(name: str) -> bytes:
    return (files(_FILES[name]) / "static" / name).read_bytes()


@cache
def address(name: str) -> str:
    return f"/static/{hashlib.sha256(read(name)).hexdigest()[:12]}/{name}"


async def file(call: Call) -> Answer:
    name = call.path["name"]
    if name not in _FILES:
        raise not_found()
    return Answer(200, read(name), _TYPES[name.rpartition(".")[2]], KEPT)
