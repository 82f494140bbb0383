"""`python -m tests.store.upgrades.make`: writes a database of the present version, for those to come.

A version's files are made once, by its own program, in the commit that brings its migration.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

from fairhold.store.queries import load_migrations
from testbed.postgres import TemporaryPostgres, find_binaries, fresh_database

HERE = Path(__file__).parent
TOLD = "-- told: "


def main() -> int:
    version = load_migrations("sqlite")[-1][0]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "filled.db")
        told = filled(f"sqlite:///{path}")
        write("sqlite", version, told, of_file(path))
    with TemporaryPostgres() as server, fresh_database(server.url) as url:
        told = filled(url)
        write("postgres", version, told, of_server(url))
    return 0


def filled(url: str) -> dict[str, Any]:
    """In a process of its own: to fill is to count ids, and to be at another time."""
    command = [sys.executable, str(HERE / "fill.py"), url]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    said = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
    found: dict[str, Any] = json.loads(said.stdout)
    return found


def of_file(path: Path) -> str:
    with closing(sqlite3.connect(path)) as file:
        said = "\n".join(line for line in file.iterdump() if "sqlite_sequence" not in line)
    return "\n".join(line for line in said.splitlines() if line and not line.lstrip().startswith("--"))


def of_server(url: str) -> str:
    """Without what psql alone understands, and without settings of the server that made it."""
    command = [find_binaries() / "pg_dump", "--no-owner", "--no-privileges", "--rows-per-insert=1000", url]
    said = subprocess.run([*map(str, command)], stdout=subprocess.PIPE, check=True, text=True).stdout
    kept = [
        line
        for line in said.splitlines()
        if line and not re.match(r"--|\\|SET |SELECT pg_catalog.set_", line)
    ]
    return "\n".join(kept)


def write(dialect: str, version: int, told: dict[str, Any], text: str) -> None:
    path = HERE / dialect / f"{version:04}.dump"
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"{TOLD}{json.dumps(told)}\n{text}\n", encoding="utf-8")
    print(f"{path.name} for {dialect}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    sys.exit(main())
