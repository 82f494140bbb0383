"""Extras: what Fairhold can do with packages that `pip install fairhold` does not bring along.

A package that belongs to an extra is imported only when it is needed. Where Fairhold enters such a part, the
import says which extra it is in and what it is for:

    with needs("postgres", "PostgreSQL"):
        from fairhold.store.postgres.store import PostgresStore
"""

from __future__ import annotations

import sys
from types import TracebackType

from fairhold.errors import ExtraMissing


class _Needs:
    """The block of `needs`. It swallows no error: that `__exit__` returns None says so to type checkers."""

    def __init__(self, extra: str, purpose: str) -> None:
        self._extra = extra
        self._purpose = purpose

    def __enter__(self) -> None:
        """Begin to import."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if not isinstance(error, ModuleNotFoundError) or error.name is None:
            return
        package = error.name.partition(".")[0]
        # A module of ours or of Python's own that is missing is another fault, and no extra mends it.
        if package != "fairhold" and package not in sys.stdlib_module_names:
            raise ExtraMissing(self._extra, self._purpose) from error


def needs(extra: str, purpose: str) -> _Needs:
    """Raise ExtraMissing if an import in this block fails because a package is not installed."""
    return _Needs(extra, purpose)
