"""Logs as JSON, a line each. No secret gets in: requests are named by operation, never by path."""

from __future__ import annotations

import logging
import sys
from typing import Final

import msgspec

from holdfast.clock import to_text
from holdfast.errors import SettingsWrong

LEVELS: Final = ("debug", "info", "warning", "error")
_OWN: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName", "color_message"}
_encoder = msgspec.json.Encoder(enc_hook=str)


class JsonLines(logging.Formatter):
    """One object a line: when, how grave, what, and the facts that came with it."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "at": to_text(int(record.created * 1000)),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **{name: value for name, value in vars(record).items() if name not in _OWN and value != ""},
        }
        if record.exc_info:
            line["trace"] = self.formatException(record.exc_info)
        return _encoder.encode(line).decode()


def set_up(level: str) -> None:
    """Everything goes to stderr, in lines of JSON. Raises SettingsWrong."""
    if level not in LEVELS:
        raise SettingsWrong(f"HOLDFAST_LOG_LEVEL must be one of {', '.join(LEVELS)}, not {level!r}")
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    root = logging.getLogger()
    root.handlers, root.level = [handler], logging.WARNING
    logging.getLogger("holdfast").setLevel(level.upper())
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)
