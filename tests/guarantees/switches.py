"""How one says what is broken in a running service: by files in a folder that both know."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PROGRAM = "tests.guarantees.broken"
PLACE = Path(os.environ.get("BROKEN", "/nowhere"))


@contextmanager
def broken(place: Path, *names: str, how: str = "") -> Iterator[None]:
    """For as long as this lasts, in the service whose folder this is."""
    for name in names:
        (place / name).write_text(how)
    try:
        yield
    finally:
        for name in names:
            (place / name).unlink()


def on(name: str) -> bool:
    return (PLACE / name).exists()


def instead(owner: Any, name: str, when: str, other: Any) -> None:
    """Have something done in another way while it is broken; the other way is told the usual one."""
    usual = getattr(owner, name)

    def way(*args: Any, **options: Any) -> Any:
        return other(usual, *args, **options) if on(when) else usual(*args, **options)

    setattr(owner, name, way)
