"""Two migrations made for the tests, behind those that there are, as if a later version had brought them."""

from __future__ import annotations

from typing import Final

import pytest

from fairhold.store import migrations
from fairhold.store.queries import migration_texts

_NUMBER: Final = {"sqlite": "INTEGER", "postgres": "BIGINT"}

MADE: Final = ("0002_remarks.sql", "0003_remarks_for_all.sql")


def made_texts(dialect: str) -> dict[str, str]:
    """Return all migrations of a dialect, with the two made ones behind them.

    The first changes a table that people use, the second one that it has made, for every booking.
    """
    number = _NUMBER[dialect]
    made = (
        f"""
        ALTER TABLE fairhold_bookings ADD COLUMN remark TEXT;
        CREATE TABLE fairhold_remarks (pool_id {number} NOT NULL, number {number} NOT NULL, text
        TEXT NOT NULL);
        """,
        "INSERT INTO fairhold_remarks SELECT pool_id, number, '' FROM fairhold_bookings;\n",
    )
    return {**migration_texts(dialect), **dict(zip(MADE, made, strict=True))}


def made_migrations(patch: pytest.MonkeyPatch) -> None:
    """Let this Fairhold know the made migrations."""
    patch.setattr(migrations, "migration_texts", made_texts)
