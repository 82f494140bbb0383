"""The reference: the tree as it was before the house was rebuilt, taken out of git."""

from __future__ import annotations

import io
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Final

REFERENCE: Final = "b9d5723"
ROOT: Final = Path(__file__).resolve().parent.parent
_CACHE: Final = ROOT / ".cache" / "net"


class NoReference(Exception):
    """The commit of the reference is not in this clone."""


def bring() -> Path:
    """Unpack the reference, once, and let `holdfast` be imported from it. Raises NoReference."""
    place = _CACHE / REFERENCE
    if not place.exists():
        _unpack(place)
    source = str(place / "src")
    if source not in sys.path:
        sys.path.append(source)
    return place


def _unpack(place: Path) -> None:
    command = ["git", "archive", REFERENCE, "src/holdfast"]
    packed = subprocess.run(command, cwd=ROOT, capture_output=True)
    if packed.returncode:
        said = packed.stderr.decode(errors="replace").strip()
        raise NoReference(
            f"the commit {REFERENCE} is not in this clone ({said}); "
            "fetch the whole history: git fetch --unshallow"
        )
    draft = place.with_name(f"{place.name}.draft")
    draft.mkdir(parents=True, exist_ok=True)
    with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as archive:
        archive.extractall(draft, filter="data")
    draft.rename(place)
