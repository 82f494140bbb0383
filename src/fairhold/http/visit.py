"""One request as the service sees it from outside: for its log line and its figures."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

Send = Callable[[dict[str, Any]], Awaitable[None]]


@dataclass(slots=True)
class Visit:
    """One request. Its path is not here, for paths may hold tokens; the operation's name is."""

    request_id: str
    method: str
    address: str
    operation: str = "none"
    key: str = ""
    org: str = ""
    status: int = 0
    code: str = ""
