"""What callers say, made into what goes out. Law: what cannot be said as it was meant is refused."""

from __future__ import annotations

import math
import re
import uuid
from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import quote, urlencode

import httpx2 as httpx
import msgspec

from fairhold import inputs
from fairhold.errors import SettingsWrong
from fairhold.http.operations import IDEMPOTENCY_KEY
from fairhold.inputs import Bad

_VISIBLE: Final = re.compile(r"[\x21-\x7e]*")


def must_be_settings(url: object, key: object) -> None:
    """Raise SettingsWrong unless this is where one can ask, and a key that can be shown there."""
    try:
        found = httpx.URL(url) if isinstance(url, str) else None
    except httpx.InvalidURL:
        found = None
    if found is None or found.scheme not in ("http", "https") or not found.host:
        # What is said instead is not repeated: it may be a key, or have a password in it.
        raise SettingsWrong("an address such as http://127.0.0.1:8000 is needed")
    if not isinstance(key, str) or not _VISIBLE.fullmatch(key):
        raise SettingsWrong("a key has visible ASCII characters alone")


def address_of(path: str, named: Mapping[str, Any], query: Mapping[str, Any]) -> str:
    """The path with what it names, each as one part of it; and what the query says, if anything."""
    parts = {field: _part(inputs.text(name, field, empty=False)) for field, name in named.items()}
    said = {field: _asked(value, field) for field, value in query.items() if value not in (None, "")}
    return path.format_map(parts) + (f"?{urlencode(said)}" if said else "")


def _part(name: str) -> str:
    # These two would be taken for steps up and down the path.
    return name.replace(".", "%2E") if name in (".", "..") else quote(name, safe="")


def _asked(value: object, field: str) -> str:
    return str(value) if isinstance(value, int | float) else inputs.text(value, field, inputs.TEXT_MAX)


def csv_of(text: object) -> bytes:
    try:
        return text.encode()  # type: ignore[attr-defined, no-any-return]
    except (AttributeError, UnicodeEncodeError):
        raise Bad("text", "The file must be text.") from None


def idempotency_key_of(said: object) -> str:
    """The key that every try of a change has; one of its own, if none is said."""
    if said is None:
        return str(uuid.uuid4())
    if not isinstance(said, str) or not IDEMPOTENCY_KEY.fullmatch(said):
        raise Bad("idempotency_key", "idempotency_key must have 1 to 200 visible ASCII characters.")
    return said


def body_of(said: Mapping[str, Any]) -> bytes:
    """The body as JSON."""
    return msgspec.json.encode({field: msgspec.Raw(_json(value, field)) for field, value in said.items()})


def _json(value: object, field: str) -> bytes:
    try:
        plain = msgspec.to_builtins(value, str_keys=True, builtin_types=(bytes, bytearray, memoryview))
        # It would go out as null, which means no limit in many a place.
        for where in _endless(plain, field):
            raise Bad(where, f"{where} must be a finite number.")
        return msgspec.json.encode(plain)
    except (TypeError, ValueError, RecursionError):
        raise Bad(field, f"{field} must be plain data.") from None


def _endless(plain: object, where: str) -> Iterator[str]:
    """Where there is a number that JSON has not."""
    if isinstance(plain, float):
        if not math.isfinite(plain):
            yield where
    elif isinstance(plain, bytes | bytearray | memoryview):
        raise TypeError("JSON has no bytes")
    elif isinstance(plain, Mapping):
        for name, item in plain.items():
            yield from _endless(item, f"{where}.{name}")
    elif isinstance(plain, list | tuple):
        for index, item in enumerate(plain):
            yield from _endless(item, f"{where}[{index}]")
