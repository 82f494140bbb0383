"""Recorded histories, with what the reference answered: they need no reference any more."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

from net.histories import History, Json

FOLDER: Final = Path(__file__).resolve().parent / "recorded"
IN_FILE: Final = 25


class Recorded(NamedTuple):
    """A history, and what each of its steps was answered."""

    history: History
    expected: list[Json]


def files() -> list[Path]:
    """Return the files, in order."""
    return sorted(FOLDER.glob("*.jsonl.gz"))


def read(path: Path) -> list[Recorded]:
    """Return the histories of a file."""
    lines = gzip.decompress(path.read_bytes()).decode().splitlines()
    return [Recorded(**json.loads(line)) for line in lines]


def write(number: int, recorded: Iterable[Recorded]) -> Path:
    """Write a file of histories; the same ones make the same bytes."""
    FOLDER.mkdir(exist_ok=True)
    lines = [json.dumps(it._asdict(), ensure_ascii=False, separators=(",", ":")) for it in recorded]
    path = FOLDER / f"{number:02}.jsonl.gz"
    path.write_bytes(gzip.compress("\n".join(lines).encode(), 9, mtime=0))
    return path
