"""The command line of both trees: the same lines on equal databases; JSON and exit codes must agree."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from net import reference
from net.command_list import LINES
from net.comparing import Difference, differences
from net.histories import SECRET, Json
from net.outside import Renaming, mapped, plain_json
from net.reference import ROOT

PACKAGES = {"reference": "holdfast", "tree": "fairhold"}


def environment(package: str, place: Path, **settings: str) -> dict[str, str]:
    """Return the environment in which a tree's program runs: its settings have its own prefix."""
    prefix = package.upper()
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(tuple(_PREFIXES))}
    path = os.pathsep.join((str(ROOT), str(ROOT / "src"), str(reference.bring() / "src")))
    said = {f"{prefix}_{name}": value for name, value in {"SECRET": SECRET, **settings}.items()}
    return {**inherited, **said, "PYTHONPATH": path, "HOME": str(place), "COLUMNS": "100"}


_PREFIXES = ("HOLDFAST_", "FAIRHOLD_")


def told(package: str, place: Path, lines: list[Json], **settings: str) -> list[dict[str, Any]]:
    """Return what each line came to. Names in angle brackets stand for what an earlier line has said."""
    place.mkdir()
    _write_files(place)
    done = subprocess.run(
        [sys.executable, "-m", "net.seeded", package, "--"],
        input=json.dumps(lines),
        cwd=place,
        env=environment(package, place, DATABASE_URL=f"sqlite:///{place}/seats.db", **settings),
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise RuntimeError(f"{package}: {done.stderr[-3000:]}")
    found: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    return found


def _write_files(place: Path) -> None:
    (place / "people.csv").write_text(
        "party_id,name,email\nfay,Fay,fay@example.org\ngus,Gus,gus@example.org\n"
    )
    (place / "pool.json").write_text(json.dumps({"key": "choir", "quotas": [{"key": "main", "size": 3}]}))
    (place / "broken.json").write_text("{")


def compare(lines: list[Json] = LINES) -> int:
    """Run the lines in both trees; how many there were. Raises Difference, with all that differ."""
    with tempfile.TemporaryDirectory(prefix="fairhold-net-") as folder:
        found = {who: told(package, Path(folder) / who, lines) for who, package in PACKAGES.items()}
    renaming = {who: Renaming() for who in PACKAGES}
    wrong: list[str] = []
    for number, line in enumerate(lines):
        expected = _outcome(found["reference"][number], renaming["reference"], is_reference=True)
        actual = _outcome(found["tree"][number], renaming["tree"], is_reference=False)
        if expected != actual:
            wrong += [f"line {number}: {' '.join(line['words'])}", *differences(expected, actual)]
            wrong += [f"    {who} said {found[who][number]['err'][-600:]!r}" for who in PACKAGES]
    if wrong:
        raise Difference("\n".join(wrong))
    return len(lines)


def _outcome(said: dict[str, Any], renaming: Renaming, *, is_reference: bool) -> Json:
    out, err = ((mapped(said[name]) if is_reference else said[name]) for name in ("out", "err"))
    # A refusal of a command with --json stands on its last line.
    outcome = {"code": said["code"], "out": plain_json(out), "err": plain_json(err)}
    if "Traceback" in err:
        outcome["traceback"] = True
    return renaming.all_in(outcome)
