"""What the page on production says is so: its settings, its figures, and what PostgreSQL is told."""

from __future__ import annotations

import re

from fairhold.http.metrics import Metrics
from fairhold.http.settings import Settings
from fairhold.store.postgres import connections
from fairhold.store.postgres.readers import LONG_ANSWER_S
from fairhold.store.postgres.store import CONNECTIONS_MAX
from tests.deploy import looking

PAGE = (looking.ROOT / "docs/howto/production.md").read_text(encoding="utf-8")


def test_every_setting_that_is_named_is_there() -> None:
    named = set(re.findall(r"FAIRHOLD_[A-Z_]+", PAGE))
    assert len(named) > 10
    assert named <= looking.KNOWN


def test_every_figure_that_is_named_is_there() -> None:
    families = [family.name for family in Metrics().registry.collect()]
    there = {*families, *(f"{name}_total" for name in families)}
    named = set(re.findall(r"`(fairhold_\w+)`", PAGE))
    assert len(named) > 7
    assert named <= there


def test_what_postgres_is_told_is_what_the_page_says() -> None:
    told = connections._WRITER
    assert told["idle_in_transaction_session_timeout"] == "2000"
    assert "| `idle_in_transaction_session_timeout` | 2 s |" in PAGE
    assert f"| `default_transaction_isolation` | {told['default_transaction_isolation']} |" in PAGE
    deadlines = f"{connections.CONNECT_S:.0f} s to connect, {connections.ANSWER_S:.0f} s to answer"
    long = f"{LONG_ANSWER_S / 60:.0f} min for each answer to a check or an export"
    assert f"| deadlines | {deadlines}; {long} |" in PAGE
    assert f"Up to {CONNECTIONS_MAX} for each node" in PAGE
    assert all(f"`{name}`" in PAGE for name in connections.PLANS)
    assert f"(`FAIRHOLD_GRACEFUL_STOP_S`, {Settings(database='').graceful_stop_s})" in PAGE


def test_every_file_of_deploy_is_on_the_page() -> None:
    files = {path.name for path in (looking.ROOT / "deploy").iterdir()} - {"Dockerfile.dockerignore"}
    assert all(f"`{name}`" in PAGE for name in files)
