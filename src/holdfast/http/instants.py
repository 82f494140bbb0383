"""Instants inside plain data, as the API writes them: UTC in ISO 8601 with a Z."""

from __future__ import annotations

from typing import Any

from holdfast.clock import to_datetime


def text(instant: int) -> str:
    """An instant of the core, as msgspec would write its datetime."""
    return to_datetime(instant).isoformat().replace("+00:00", "Z")


def in_utc(value: Any) -> Any:
    """The same data with every `at` and `…_at` written in the one way."""
    if isinstance(value, dict):
        return {name: _moment(name, item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [in_utc(item) for item in value]
    return value


def _moment(name: str, value: Any) -> Any:
    if name == "at" or name.endswith("_at"):
        if isinstance(value, int) and not isinstance(value, bool):
            return text(value)
        if isinstance(value, str) and value.endswith("+00:00"):
            return value.removesuffix("+00:00") + "Z"
    # What people wrote themselves is theirs.
    return value if name in ("attributes", "answers", "eligible", "questions") else in_utc(value)
