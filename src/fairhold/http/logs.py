"""Logs as JSON, a line each. No secret gets in: requests are named by operation, never by path."""

from __future__ import annotations

import asyncio
import logging
import sys
from typing import BinaryIO, Final

import msgspec

from fairhold.clock import SystemClock, to_text
from fairhold.errors import SettingsWrong
from fairhold.http.visit import Visit

LEVELS: Final = ("debug", "info", "warning", "error")
_OWN: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName", "color_message"}
_HEAD: Final = b'{"level":"info","logger":"fairhold.http","message":"request",'
_clock = SystemClock()
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


class _Request(msgspec.Struct, omit_defaults=True):
    """The line of a request: in the same form, but every request has one, so it is made with less ado."""

    at: str
    request_id: str
    method: str
    operation: str
    status: int
    ms: float
    code: str = ""
    key: str = ""
    org: str = ""
    address: str = ""


class RequestLog:
    """Writes a line for each request; those of one turn of the event loop together."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._lines: list[bytes] = []

    def note(self, visit: Visit, took_s: float) -> None:
        line = _Request(
            to_text(_clock.now()),
            visit.request_id,
            visit.method,
            visit.operation,
            visit.status,
            round(took_s * 1000, 2),
            visit.code,
            visit.key,
            visit.org,
            visit.address,
        )
        if not self._lines:
            asyncio.get_running_loop().call_soon(self._write)
        self._lines.append(_HEAD + _encoder.encode(line)[1:])

    def _write(self) -> None:
        lines, self._lines = self._lines, []
        self._stream.write(b"\n".join(lines) + b"\n")
        self._stream.flush()


def request_log() -> RequestLog | None:
    """Where requests are logged; None if they are not."""
    return (
        RequestLog(sys.stderr.buffer)
        if logging.getLogger("fairhold.http").isEnabledFor(logging.INFO)
        else None
    )


def set_up(level: str) -> None:
    """Everything goes to stderr, in lines of JSON. Raises SettingsWrong."""
    if level not in LEVELS:
        raise SettingsWrong(f"FAIRHOLD_LOG_LEVEL must be one of {', '.join(LEVELS)}, not {level!r}")
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    root = logging.getLogger()
    root.handlers, root.level = [handler], logging.WARNING
    logging.getLogger("fairhold").setLevel(level.upper())
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)
