"""The commands that keep a database in order, as people use them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Cli, Command

CSV = "party_id,name,phone\nann,Ann,'+49 30\nbea,=1+1,\n,Nobody,\ncyd,Cyd,\n"


@pytest.fixture
def people(tmp_path: Path) -> str:
    path = tmp_path / "people.csv"
    path.write_text(CSV, encoding="utf-8")
    return str(path)


def test_people_are_brought_in_and_handed_out(cli: Cli, people: str, tmp_path: Path) -> None:
    cli("pool", "create", "yoga", "--preset", "class_waitlist", "--size", "2")
    wrong = "line 4  invalid: party.id must have 1 to 500 characters."
    said = cli("import", "yoga", people, "--dry-run", code=1)
    assert said == f"{wrong}\n4 rows would come in: 3 held; 1 refused."
    assert cli("bookings", "yoga") == "No bookings."
    said = cli("import", "yoga", people, "--staff", "Olga", "--idempotency-key", "k", code=1)
    assert said == f"{wrong}\n4 rows: 2 held, 1 waiting; 1 refused."
    again = cli.json("import", "yoga", people, "--staff", "Olga", "--idempotency-key", "k", code=1)
    assert [it["state"] for it in again["done"]] == ["held", "held", "waiting"]
    assert [it["row"] for it in again["errors"]] == [4]
    exported = cli("export", "yoga")
    assert len(exported.splitlines()) == 4
    assert "'=1+1" in exported
    out = tmp_path / "out.csv"
    assert cli("export", "yoga", "--line", "--file", str(out)) == f"Wrote {out}."
    assert len(out.read_text(encoding="utf-8-sig").splitlines()) == 2
    assert [it["name"] for it in cli.json("export", "yoga")] == ["Ann", "=1+1", "Cyd"]


def test_a_file_can_be_piped_in_and_a_wrong_one_gets_a_clear_line(cli: Cli, tmp_path: Path) -> None:
    cli("pool", "create", "yoga", "--size", "9")
    command = [sys.executable, "-m", "fairhold", "import", "yoga", "-", "--database", cli.url]
    piped = subprocess.run(command, input=CSV, capture_output=True, text=True, timeout=60)
    assert piped.stdout.endswith("4 rows: 3 held; 1 refused.\n")
    latin = tmp_path / "latin.csv"
    latin.write_bytes("party_id\nJ\u00f6rg\n".encode("latin-1"))
    assert "is not in UTF-8" in cli("import", "yoga", str(latin), code=2)
    assert "cannot be read" in cli("import", "yoga", str(tmp_path / "none.csv"), code=2)
    assert "cannot be written" in cli("export", "yoga", "--file", str(tmp_path / "no" / "x.csv"), code=2)
    headless = tmp_path / "headless.csv"
    headless.write_text("ann\nbea\n")
    assert "among them party_id" in cli("import", "yoga", str(headless), code=1)


def test_a_person_is_handed_out_and_forgotten(cli: Cli) -> None:
    cli("pool", "create", "yoga", "--preset", "class_waitlist", "--size", "1")
    cli("book", "yoga", "ann", "--name", "Ann", "--email", "ann@example.org")
    assert json.loads(cli("person", "export", "ann"))["bookings"][0]["booking"]["party"]["name"] == "Ann"
    assert "fairhold bookings POOL shows who has booked" in cli("person", "export", "zed", code=1)
    assert "say --yes" in cli("person", "erase", "ann", code=2)
    refused = cli("person", "erase", "ann", "--yes", code=1).splitlines()
    assert re.search(r"cancel them first: Ann \([A-Z0-9]{6}\)\.$", refused[0])
    assert refused[1] == "  fairhold person erase ann --cancel cancels them first."
    told = cli("person", "erase", "ann", "--cancel", "--dry-run")
    assert told.startswith("Would forget the person of 1 booking in 1 pool; 1 log entry redacted")
    done = cli("person", "erase", "ann", "--cancel", "--yes", "--staff", "Olga")
    assert done.startswith("Forgot the person of 1 booking in 1 pool; 1 log entry redacted")
    assert cli("verify").endswith("4 log entries, 1 of them redacted")
    assert cli.json("verify")["redacted"] == 1
    assert cli("log", "yoga").endswith("The person behind 1 booking is forgotten (1 entry redacted)")
    assert "ann" not in cli("export", "yoga")


def test_pruning_says_what_it_does(cli: Cli) -> None:
    cli("pool", "create", "yoga", "--size", "1")
    assert cli("prune", "--older-than", "30d") == "Pruned 0 bookings, 0 messages and 0 idempotency keys."
    assert cli("prune", "--older-than", "30d", "--dry-run").startswith("Would prune 0 bookings")
    assert cli("prune").startswith("No org has said for how long")
    assert "kept for ever" in cli("retention", "show")
    told = cli("retention", "set", "--people", "365d", "--messages", "1d", "--staff", "Olga")
    assert "365 days after a booking is over" in told
    assert "Said by                      staff:Olga" in told
    assert cli.json("retention", "set", "--messages", "never", "--org", "theirs")["people_days"] is None
    assert cli.json("retention", "set", "--messages", "90d")["people_days"] == 365
    assert cli("prune", "--dry-run") == "default: Would prune 0 bookings, 0 messages and 0 idempotency keys."
    assert cli.json("prune")["default"]["dry_run"] is False
    for wrong in ("36h", "soon", "0d"):
        cli("retention", "set", "--people", wrong, code=2)
    assert "older_than_s must be" in cli("prune", "--older-than", "1h", code=1)
    assert "'soon' is no length" in cli("prune", "--older-than", "soon", code=2)


def test_forgetting_asks_back_only_where_somebody_can_answer(fairhold: Command, sqlite_url: str) -> None:
    fairhold("pool", "create", "yoga", "--size", "1", database=sqlite_url)
    said = fairhold("person", "erase", "ann", database=sqlite_url)
    assert (said.returncode, said.stdout) == (2, "")
    assert "look first with --dry-run" in said.stderr
