"""The project keeps its own rules, and every check of them would notice if it did not."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed import tidy

ROOT = Path(__file__).parent.parent
CHECKS = [
    tidy.core_is_pure,
    tidy.auditor_stands_alone,
    tidy.clock_is_read_in_one_place,
    tidy.sql_is_in_sql_files,
    tidy.files_are_short,
    tidy.stores_have_the_same_queries,
    tidy.no_machine_shows,
]


@pytest.mark.parametrize("check", CHECKS)
def test_the_project_is_tidy(check: tidy.Check) -> None:
    assert check(ROOT) == []


def complaints(check: tidy.Check, tree: Path, files: dict[str, str]) -> list[str]:
    """What the check says of a tree of just these files."""
    for name, text in files.items():
        path = tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return check(tree)


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("import asyncpg", "asyncpg"),
        ("import os.path", "os.path"),
        ("from random import choice", "random"),
        ("import secrets", "secrets"),
        ("import uuid", "uuid"),
        ("import io", "io"),
        ("import logging", "logging"),
        ("from tempfile import TemporaryFile", "tempfile"),
        ("import urllib.request", "urllib.request"),
        ("from zoneinfo import ZoneInfo", "zoneinfo"),
        ("from fairhold import clock", "fairhold.clock"),
        ("from fairhold.engine.engine import Engine", "fairhold.engine"),
        ("from ..store import base", "fairhold.store.base"),
        ("import fairhold.corelike", "fairhold.corelike"),
        ("def f():\n    import msgspec", "msgspec"),
    ],
)
def test_an_impure_core_is_noticed(tmp_path: Path, line: str, complaint: str) -> None:
    files = {
        "src/fairhold/__init__.py": "",
        "src/fairhold/store/__init__.py": "",
        "src/fairhold/core/__init__.py": "",
        "src/fairhold/core/line.py": line,
    }
    number = len(line.splitlines())
    expected = [f"src/fairhold/core/line.py:{number} imports {complaint}"]
    assert complaints(tidy.core_is_pure, tmp_path, files) == expected


@pytest.mark.parametrize("by_way_of", ["auditor", "ledger", "books"])
@pytest.mark.parametrize(
    ("line", "module"),
    [
        ("from fairhold.core.reference import number_of", "fairhold.core.reference"),
        ("def f():\n    import fairhold.core.room", "fairhold.core.room"),
        ("import msgspec", "msgspec"),
    ],
)
def test_an_auditor_who_looks_at_the_answers_of_others_is_noticed(
    tmp_path: Path, by_way_of: str, line: str, module: str
) -> None:
    files = {
        "sim/__init__.py": "",
        "sim/auditor.py": "from sim.ledger import Ledger",
        "sim/ledger.py": "import json\nfrom sim import books",
        "sim/books.py": "from __future__ import annotations",
        # This one is none of the auditor's.
        "sim/cast.py": "from fairhold.library import Fairhold",
    }
    files[f"sim/{by_way_of}.py"] += f"\n{line}"
    number = len(files[f"sim/{by_way_of}.py"].splitlines())
    expected = [f"sim/{by_way_of}.py:{number} imports {module}"]
    assert complaints(tidy.auditor_stands_alone, tmp_path, files) == expected


@pytest.mark.parametrize(
    "line",
    [
        "from __future__ import annotations",
        "from collections.abc import Mapping",
        "import json",
        "import fairhold.core.room",
        "from fairhold.core import room",
        "from fairhold.core.room import Room",
        "from . import room",
        "from .room import Room",
    ],
)
def test_a_pure_core_is_left_alone(tmp_path: Path, line: str) -> None:
    files = {
        "src/fairhold/__init__.py": "",
        "src/fairhold/core/__init__.py": "",
        "src/fairhold/core/line.py": line,
        "src/fairhold/engine.py": "import asyncpg",
    }
    assert complaints(tidy.core_is_pure, tmp_path, files) == []


@pytest.mark.parametrize(
    "code",
    [
        "import time\ntime.time()",
        "import time as t\nt.time_ns()",
        "from time import monotonic\nmonotonic()",
        "import datetime\ndatetime.datetime.now(datetime.UTC)",
        "from datetime import UTC, datetime\ndatetime.now(UTC)",
        "from datetime import datetime as dt\nread = dt.utcnow",
        "from datetime import date\ndate.today()",
    ],
)
def test_a_second_clock_is_noticed(tmp_path: Path, code: str) -> None:
    [complaint] = complaints(tidy.clock_is_read_in_one_place, tmp_path, {"src/fairhold/ticker.py": code})
    assert complaint.startswith("src/fairhold/ticker.py:2 reads ")


def test_the_one_clock_and_the_loop_are_left_alone(tmp_path: Path) -> None:
    files = {
        "src/fairhold/clock.py": "import time\ntime.time()",
        "src/fairhold/ticker.py": "import asyncio\nasyncio.get_running_loop().time()\nloop.time()",
    }
    assert complaints(tidy.clock_is_read_in_one_place, tmp_path, files) == []


@pytest.mark.parametrize(
    "text",
    [
        "'SELECT id FROM fairhold_pools'",
        "'''\n    select id\n    from pools\n'''",
        "'select pg_notify($1, $2)'",
        "'select 1'",
        "f'INSERT INTO {table} VALUES (1)'",
        "f'update {table} set size = 1'",
        "'x; DELETE FROM fairhold_pools'",
        "'create unique index one on pools (key)'",
        "'CREATE TABLE fairhold_pools (id int)'",
        "'with due as (select 1) select * from due'",
    ],
)
def test_sql_in_the_code_is_noticed(tmp_path: Path, text: str) -> None:
    [complaint] = complaints(tidy.sql_is_in_sql_files, tmp_path, {"src/fairhold/reads.py": f"query = {text}"})
    assert complaint.startswith("src/fairhold/reads.py:1 holds SQL: ")


@pytest.mark.parametrize(
    "code",
    [
        "say('BEGIN IMMEDIATE'), say('COMMIT'), say('ROLLBACK'), say('PRAGMA foreign_keys = on')",
        "say('LISTEN fairhold'), say('NOTIFY fairhold')",
        'def lock():\n    """SELECT the pools FOR UPDATE, in one order."""',
        "say('Please select a unit from the list'), say('Update the pool and set its size')",
        "say('select the first unit that fits')",
        "say('Selected'), say('UPDATED')",
    ],
)
def test_what_is_no_statement_is_left_alone(tmp_path: Path, code: str) -> None:
    assert complaints(tidy.sql_is_in_sql_files, tmp_path, {"src/fairhold/reads.py": code}) == []


@pytest.mark.parametrize(
    "name",
    [
        "src/fairhold/engine.py",
        "src/a.sql",
        "tests/test_a.py",
        "bench/a.py",
        "drills/a.py",
        "sim/a.py",
        "dev.py",
    ],
)
def test_a_long_file_is_noticed(tmp_path: Path, name: str) -> None:
    assert complaints(tidy.files_are_short, tmp_path, {name: "\n" * 400}) == []
    assert complaints(tidy.files_are_short, tmp_path, {name: "\n" * 401}) == [f"{name} has 401 lines"]


def test_stores_that_differ_are_noticed(tmp_path: Path) -> None:
    sqlite, postgres = (f"src/fairhold/store/{dialect}/queries.sql" for dialect in ("sqlite", "postgres"))
    check = tidy.stores_have_the_same_queries
    query = "-- name: {}\n-- What it is for.\nselect 1;\n".format

    assert complaints(check, tmp_path, {}) == []
    assert complaints(check, tmp_path, {sqlite: query("lock_pools")}) == [
        "postgres has no named queries",
        "postgres lacks the query lock_pools",
    ]
    assert complaints(check, tmp_path, {postgres: query("lock_pools") + query("due")}) == [
        "sqlite lacks the query due"
    ]
    assert complaints(check, tmp_path, {sqlite: query("due") + query("lock_pools")}) == []
    assert complaints(check, tmp_path, {sqlite: query("due") * 2 + query("lock_pools")}) == [
        "sqlite has the query due twice"
    ]


@pytest.mark.parametrize("word", tidy.FORBIDDEN)
def test_a_machine_that_shows_is_noticed(tmp_path: Path, word: str) -> None:
    files = {"docs/start.md": f"Fine.\nLook at {word}there.\n", ".venv/ignored.txt": word}
    assert complaints(tidy.no_machine_shows, tmp_path, files) == [f"docs/start.md:2 names {word}"]


def test_a_recorded_source_of_packages_is_noticed(tmp_path: Path) -> None:
    assert complaints(tidy.no_machine_shows, tmp_path, {"uv.lock": ""}) == [
        "uv.lock records where packages came from"
    ]
