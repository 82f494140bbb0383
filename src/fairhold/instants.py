"""Instants inside plain data, as programs outside see them."""

from __future__ import annotations

from typing import Any

from fairhold.clock import to_text


def in_utc(value: Any) -> Any:
    """The same data with every `at` and `…_at` written in the one way."""
    if isinstance(value, dict):
        return {name: _moment(name, item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [in_utc(item) for item in value]
    return value


def _moment(name: str, value: Any) -> Any:
    if (name == "at" or name.endswith("_at")) and isinstance(value, int) and not isinstance(value, bool):
        return to_text(value)
    # What people wrote themselves is theirs.
    return value if name in ("attributes", "answers", "eligible", "questions") else in_utc(value)
