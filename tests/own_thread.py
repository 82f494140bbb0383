"""Run a coroutine from a test that may have a browser's event loop in its own thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")


def run_in_own_thread(function: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run it in a thread of its own, to its end; return what it returns."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, function()).result()
