"""Draw faults by seed, spread over the files of a room in proportion to their lines of code."""

from __future__ import annotations

import fnmatch
import random
import re
from collections.abc import Sequence
from pathlib import Path

from trials.faults.in_python import count_python_lines, is_python, spots_in_python
from trials.faults.in_sql import count_sql_lines, spots_in_sql
from trials.faults.in_templates import count_template_lines, spots_in_template
from trials.faults.rooms import Room
from trials.faults.spot import Fault, Spot

FINDERS = {
    ".py": (spots_in_python, count_python_lines),
    ".sql": (spots_in_sql, count_sql_lines),
    ".html": (spots_in_template, count_template_lines),
}

# How the functions of Python and the queries of SQL begin.
NAME = re.compile(r"^\s*(?:async )?def (\w+)|^-- (?:name|part): (\w+)", re.MULTILINE)


def draw(root: Path, name: str, room: Room, count: int, seed: int) -> list[Fault]:
    """Return so many faults of a room; the same ones for the same source and seed.

    The lines of all files are laid end to end and cut into `count` equal stretches. A line of each is drawn,
    and in its file an operator, and a spot for that: so a rare operator comes as often as a common one.
    """
    dice = random.Random(f"{name} {seed}")
    files = [(path, count_lines(root, path)) for path in files_of(root, room)]
    total = sum(lines for _, lines in files)
    assert total, f"the room {name} has no source here"
    drawn: list[Fault] = []
    pots: dict[str, _Pot] = {}
    for index in range(count):
        path = _file_at(files, (index + dice.random()) * total / count)
        spot = None
        while spot is None:
            if path not in pots:
                pots[path] = _Pot(root, path)
            spot = pots[path].draw(dice)
            # A very small file may have no spot left: another one takes its place.
            path = dice.choice(files)[0]
        drawn.append(_named(f"{name}-{seed}-{index + 1:03}", spot, pots[spot.path].text))
    return drawn


class _Pot:
    """The spots of one file that were not drawn yet."""

    def __init__(self, root: Path, path: str) -> None:
        self.text = (root / path).read_bytes().decode()
        self._spots = find_spots(root, path)

    def draw(self, dice: random.Random) -> Spot | None:
        """Return one spot, and take away all that it touches; None if there is none left."""
        while self._spots:
            operator = dice.choice(sorted({spot.operator for spot in self._spots}))
            spot = dice.choice([it for it in self._spots if it.operator == operator])
            self._spots = [it for it in self._spots if not it.overlaps(spot)]
            if not spot.path.endswith(".py") or is_python(spot.applied_to(self.text)):
                return spot
        return None


def files_of(root: Path, room: Room) -> list[str]:
    """Return the source files of a room, in order."""
    paths = {path for pattern in room.sources for path in root.glob(pattern) if path.is_file()}
    names = sorted(path.relative_to(root).as_posix() for path in paths)
    return [name for name in names if not any(fnmatch.fnmatch(name, pattern) for pattern in room.without)]


def find_spots(root: Path, path: str) -> list[Spot]:
    """Return every spot of a file."""
    find, _ = FINDERS[Path(path).suffix]
    return find(path, (root / path).read_bytes().decode())


def count_lines(root: Path, path: str) -> int:
    """Return how many lines of code a file has."""
    _, count = FINDERS[Path(path).suffix]
    return count((root / path).read_bytes().decode())


def _file_at(files: Sequence[tuple[str, int]], line: float) -> str:
    for path, lines in files:
        if line < lines:
            return path
        line -= lines
    return files[-1][0]


def _named(name: str, spot: Spot, text: str) -> Fault:
    number = spot.line_of(text)
    # A change may span several lines: all of them are shown.
    last = number + spot.old.count("\n")
    changed = spot.applied_to(text)
    last_changed = number + spot.new.count("\n")
    before = "\n".join(text.splitlines()[number - 1 : last])
    after = "\n".join(changed.splitlines()[number - 1 : last_changed])
    names = [found[1] or found[2] for found in NAME.finditer(text, 0, spot.start)]
    return Fault(name, number, names[-1].strip("_") if names else "", before, after, spot)
