"""The steps from an empty database to today's schema, and which of them a database still needs.

Each step is a numbered file, the same numbers in both dialects. A database keeps the digest of
each step that made
it, so that one which other steps have made is refused and not guessed at.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from typing import Any, Final, NamedTuple

from fairhold.errors import SchemaUnknown
from fairhold.store.queries import in_schema, migration_texts

_PREFIX: Final = "fairhold_"
_TABLE: Final = "fairhold_schema"


class Migration(NamedTuple):
    """One step: its number, the name of its file, its statements, and the digest of the file."""

    number: int
    name: str
    text: str
    digest: str


def load_migrations(dialect: str, schema: str | None = None) -> list[Migration]:
    """Return the dialect's migrations in order."""
    return [
        Migration(
            int(name[:4]), name, in_schema(text, dialect, schema), hashlib.sha256(text.encode()).hexdigest()
        )
        for name, text in migration_texts(dialect).items()
    ]


def is_set_up(tables: Collection[str]) -> bool:
    """True if these tables of a database are, or contain, those of a Fairhold."""
    return _TABLE in tables


def must_be_empty(tables: Collection[str]) -> None:
    """Raise SchemaUnknown if a database without our tables has somebody else's."""
    if others := sorted(name for name in tables if not name.startswith(_PREFIX)):
        shown = ", ".join(others[:3]) + (", …" if len(others) > 3 else "")
        raise SchemaUnknown(
            f"the database has other tables ({shown}) and none of Fairhold's: fairhold migrate adds them"
        )


def missing(applied: Sequence[Sequence[Any]], known: Sequence[Migration]) -> list[Migration]:
    """Return the migrations that a database still needs. Raise SchemaUnknown if others have made it."""
    newest = known[-1].number
    digests = {migration.number: migration for migration in known}
    for number, digest in applied:
        if number > newest:
            raise SchemaUnknown(f"the database has schema {number}; this Fairhold knows up to {newest}")
        if digests[number].digest != digest:
            raise SchemaUnknown(
                f"the database was made by another edition of {digests[number].name} than this Fairhold has. "
                "Before the first release there is no way from one to the other: export what you "
                "need with the "
                "version that made it, and begin with a new database"
            )
    done = {number for number, _ in applied}
    return [migration for migration in known if migration.number not in done]
