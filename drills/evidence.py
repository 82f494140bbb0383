"""What a drill has shown, kept beside the docs: a page of guarantees is made of it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

PLACE = Path(__file__).parent.parent / "docs" / "evidence"


def record(
    drill: str,
    command: str,
    *,
    passed: bool,
    rows: Sequence[str],
    shown: Sequence[str],
    figures: Mapping[str, int | float | str],
) -> Path:
    """Write what a full run came to; the last one counts."""
    told = {
        "drill": drill,
        "command": command,
        "date": datetime.now(UTC).date().isoformat(),
        "outcome": "passed" if passed else "failed",
        "rows": list(rows),
        "shown": list(shown),
        "figures": dict(figures),
    }
    PLACE.mkdir(parents=True, exist_ok=True)
    path = PLACE / f"{drill}.json"
    path.write_text(json.dumps(told, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return path
