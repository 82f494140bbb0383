"""The rows: what may go wrong, and what must happen then, part by part."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
BOTH = ["sqlite", "postgres"]
ROWS = ROOT / "docs" / "evidence" / "rows.toml"


@dataclass(frozen=True, slots=True)
class Row:
    id: str
    kind: str
    title: str
    must: dict[str, str]
    protection: str
    databases: list[str]

    @property
    def parts(self) -> list[str]:
        return [f"{self.id}.{part}" for part in self.must]

    def is_meant_by(self, name: str) -> bool:
        """Whether this names the row or a part of it."""
        return name == self.id or name in self.parts


def read_rows(path: Path = ROWS) -> list[Row]:
    found = tomllib.loads(path.read_text(encoding="utf-8"))
    return [
        Row(row["id"], kind, row["title"], row["must"], row["protection"], row.get("databases", BOTH))
        for kind in ("fault", "attack")
        for row in found[kind]
    ]
