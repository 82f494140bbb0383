"""The rooms: where faults are planted, and which tests judge them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Room:
    """A part of the source with the tests that are to notice what is wrong in it.

    With `alone_s` a fault has the tests for itself for so many seconds only. Those that no test has noticed
    by then are planted together, and all tests are run on them once: see `judge.py`.
    """

    sources: tuple[str, ...]
    tests: tuple[str, ...]
    # Arguments of pytest: always, and while a fault is judged alone.
    arguments: tuple[str, ...] = ()
    alone: tuple[str, ...] = ()
    alone_s: float | None = None
    # Of the first of these that the path of a fault contains, the arguments take the place of `alone`.
    alone_in: tuple[tuple[str, tuple[str, ...]], ...] = ()
    workers: int = 1
    # The longest that all the tests may take, as a multiple of what they take without a fault. To find the
    # smallest of the histories that fail takes a property minutes.
    patience: float = 12.0
    without: tuple[str, ...] = ()


# A test that hangs fails while there is still time for that.
HANGING: Final = ("--timeout=30",)
SQLITE_FIRST: Final = ("-k", "not postgres", *HANGING)
POSTGRES_FIRST: Final = ("-k", "postgres", *HANGING)

ROOMS: Final = {
    "rules": Room(
        sources=("src/fairhold/core/*.py",),
        tests=("tests/core",),
        arguments=("--timeout=120",),
    ),
    "engine": Room(
        sources=(
            *(
                f"src/fairhold/{name}.py"
                for name in ("engine", "lane", "batch", "replies", "flight", "ticker")
            ),
            "src/fairhold/store/**/*.py",
            "src/fairhold/store/**/*.sql",
        ),
        tests=("tests/engine", "tests/store"),
        arguments=("--timeout=120",),
        alone=SQLITE_FIRST,
        alone_in=(("/postgres/", POSTGRES_FIRST),),
        alone_s=60,
        workers=2,
    ),
    "service": Room(
        sources=(
            *(f"src/fairhold/{name}/**/*.py" for name in ("http", "pages", "console")),
            *(f"src/fairhold/{name}/**/*.html" for name in ("pages", "console")),
        ),
        tests=("tests/http", "tests/pages", "tests/console"),
        arguments=("--timeout=120",),
        alone=SQLITE_FIRST,
        alone_s=90,
        workers=2,
    ),
}
