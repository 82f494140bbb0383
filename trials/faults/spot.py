"""A spot where a fault can be planted, and the planting of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Spot:
    """One small change of one file: the characters from `start` to `end`, which read `old`, become `new`."""

    path: str
    operator: str
    start: int
    end: int
    old: str
    new: str

    def applied_to(self, text: str) -> str:
        """Return the text of the file with this fault in it."""
        assert text[self.start : self.end] == self.old, f"{self.path} is not the file that was read"
        return text[: self.start] + self.new + text[self.end :]

    def line_of(self, text: str) -> int:
        """Return the number of the line on which the fault begins."""
        return text.count("\n", 0, self.start) + 1

    def overlaps(self, other: Spot) -> bool:
        """Return True if both change the same characters, so that they cannot be planted together."""
        return self.path == other.path and self.start <= other.end and other.start <= self.end


@dataclass(frozen=True, slots=True)
class Fault:
    """A spot that was drawn, with the name by which its result is kept, and its line before and after.

    `where` is the name of the function or the query that it is in; empty if it is in none.
    """

    id: str
    line: int
    where: str
    before: str
    after: str
    spot: Spot


@contextmanager
def planted(root: Path, spots: Sequence[Spot]) -> Iterator[None]:
    """Plant faults into the tree at `root`, and put the files back as they were afterwards."""
    originals: dict[Path, bytes] = {}
    try:
        # From the end of each file to its start, so that no change moves the place of the next.
        for spot in sorted(spots, key=lambda it: it.start, reverse=True):
            path = root / spot.path
            originals.setdefault(path, path.read_bytes())
            _write(path, spot.applied_to(path.read_bytes().decode()).encode())
        yield
    finally:
        for path, original in originals.items():
            _write(path, original)


def _write(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    # Python compares the time in whole seconds and the size: a fault of the same size could be overlooked.
    for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
        compiled.unlink(missing_ok=True)
