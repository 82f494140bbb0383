"""The guide is a promise: every command in it is run, and says what the page says."""

from __future__ import annotations

import json
import os
import re
import subprocess
from inspect import signature
from pathlib import Path

from fairhold.client.asking import Asking
from fairhold.http.bodies import BODY_MAX, DEPTH_MAX
from fairhold.http.pools import LARGE
from fairhold.keeping.imports import ROWS_MAX, TEXT_MAX
from tests.http.server import Client, Server

GUIDE = (Path(__file__).parents[2] / "docs/howto/http.md").read_text(encoding="utf-8")
PRESETS = ("class_waitlist", "course_section", "checkout", "event_signup", "last_minute")


def script(guide: str) -> str:
    """All commands of the guide; where a line says what comes, it is compared."""
    lines = ["set -euo pipefail", "trap 'echo at: $BASH_COMMAND >&2' ERR"]
    for block in re.findall(r"```sh\n(.*?)```", guide, re.DOTALL):
        for line in block.splitlines():
            command, arrow, expected = line.partition("  # → ")
            if not arrow:
                lines.append(command)
                continue
            lines.append(f"found=$({command})")
            wanted = expected.replace("'", "'\\''")
            lines.append(
                f'[ "$found" = \'{wanted}\' ] || {{ echo "$found instead of {wanted}" >&2; exit 9; }}'
            )
    return "\n".join(lines) + "\n"


def run(server: Server, admin: Client, guide: str) -> subprocess.CompletedProcess[str]:
    key = admin.headers["authorization"].removeprefix("Bearer ")
    environment = {**os.environ, "HF": server.base, "KEY": key}
    return subprocess.run(["bash"], input=script(guide), env=environment, capture_output=True, text=True)


def test_the_walks_through_all_presets_are_as_the_guide_says(server: Server, admin: Client) -> None:
    walked = run(server, admin, GUIDE)
    assert walked.returncode == 0, walked.stderr
    assert all(f'"preset": "{preset}"' in GUIDE for preset in PRESETS)


def test_the_readme_leads_to_a_claimed_offer(server: Server, admin: Client) -> None:
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    walked = run(server, admin, readme)
    assert walked.returncode == 0, walked.stderr
    last = json.loads(walked.stdout.splitlines()[-1])
    assert (last["party"]["id"], last["state"]) == ("bea", "confirmed")


def test_a_guide_that_is_wrong_would_be_noticed(server: Server, admin: Client) -> None:
    wrong = GUIDE.replace('"key": "', '"key": "again-').replace("# → again-", "# → ")
    assert run(server, admin, wrong).returncode == 9


def test_the_service_is_started_as_the_walks_need_it() -> None:
    assert "/v1/clock" in GUIDE
    assert "$ fairhold serve --test-clock --database sqlite:///seats.db" in GUIDE


def test_how_much_may_be_sent_is_as_the_guide_says() -> None:
    assert (BODY_MAX, LARGE, TEXT_MAX, ROWS_MAX) == (64 * 1024, 1024 * 1024, 20_000_000, 100_000)
    assert "up to 64 KiB, up to 1 MiB where pools" in GUIDE
    assert "a CSV up to 20 million bytes" in GUIDE
    assert f"at most {ROWS_MAX:,} rows, JSON at most {DEPTH_MAX} levels" in GUIDE


def test_how_long_the_client_tries_is_as_the_guide_says() -> None:
    defaults = signature(Asking).parameters
    assert (defaults["tries_max"].default, defaults["timeout_s"].default) == (6, 15.0)
    assert "six tries in all (`tries_max`), each of up to 15 s (`timeout_s`)" in GUIDE


def test_every_setting_is_in_the_guide() -> None:
    from dataclasses import fields

    from fairhold.http.settings import Settings

    for field in fields(Settings):
        name = "DATABASE_URL" if field.name == "database" else field.name.upper()
        assert f"FAIRHOLD_{name}" in GUIDE
