"""What callers say, made into what goes out. Law: what cannot be said as it was meant is refused."""

from __future__ import annotations

import math
import uuid
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from holdfast.http.operations import IDEMPOTENCY_KEY
from holdfast.inputs import Bad


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
