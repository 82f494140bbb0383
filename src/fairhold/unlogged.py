"""Requests of ours that the HTTP library must not log, for their addresses hold secrets: tokens, webhooks.

It logs the address of each at INFO, and a program that turns its log up would write them down. What the
program itself asks is logged as before.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

_ours: Final[ContextVar[bool]] = ContextVar("fairhold_unlogged", default=False)


@contextmanager
def unlogged() -> Iterator[None]:
    """What is asked in here is not logged by httpx2."""
    before = _ours.set(True)
    try:
        yield
    finally:
        _ours.reset(before)


logging.getLogger("httpx2").addFilter(lambda record: not _ours.get())
