"""Where the database is and what the secret is, from arguments and the environment."""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path
from typing import Final

from fairhold.addresses import scheme_of
from fairhold.errors import SettingsWrong
from fairhold.extras import needs
from fairhold.store.base import Store
from fairhold.store.sqlite.store import SqliteStore, path_of
from fairhold.tokens import new_secret

DATABASE_VARIABLE: Final = "FAIRHOLD_DATABASE_URL"
"""The database: `sqlite:///file.db` or `postgresql://…`."""
SCHEMA_VARIABLE: Final = "FAIRHOLD_SCHEMA"
"""The schema of PostgreSQL that the tables stand in, made if it is missing; unset, the connection's own."""
SECRET_VARIABLE: Final = "FAIRHOLD_SECRET"  # noqa: S105  # the name of a setting, not a secret
"""What links, webhook secrets and CSRF tokens are made from, of 16 characters at least, the same on every
node; changing it ends them all. Unless it is set, Fairhold makes one and keeps it: beside a SQLite file, or
in PostgreSQL."""
DEFAULT_DATABASE: Final = "sqlite:///fairhold.db"
_ADDRESSES: Final = "sqlite:///file.db or postgresql://…"
_YES: Final = ("1", "true", "yes")
_NO: Final = ("0", "false", "no")
_SCHEMA: Final = re.compile(r"[a-z_][a-z0-9_]{0,49}")
_SECRET_NAME: Final = "links"  # noqa: S105
_SECRET_MIN: Final = 16


def yes_or_no(text: str) -> bool | None:
    """What a setting says that is one or the other; None if it is neither."""
    said = text.lower()
    return None if said not in (*_YES, *_NO) else said in _YES


def database_url(given: object = None) -> str:
    """The address that was given, a path for one of SQLite, else that of the environment.

    Raises SettingsWrong.
    """
    if given is None:
        return os.environ.get(DATABASE_VARIABLE) or DEFAULT_DATABASE
    if isinstance(given, Path):
        given = f"sqlite:///{given}"
    if not isinstance(given, str) or not given or "\x00" in given:
        raise SettingsWrong(f"not an address of a database ({_ADDRESSES})")
    return given


def database_schema(given: object = None) -> str | None:
    """Return the schema that was given, else that of the environment, if any. Raise SettingsWrong."""
    schema = given if given is not None else os.environ.get(SCHEMA_VARIABLE) or None
    if schema is None:
        return None
    if not isinstance(schema, str) or _SCHEMA.fullmatch(schema) is None or schema.startswith("pg_"):
        raise SettingsWrong(
            "the name of a schema has up to 50 small letters, digits and underscores, begins with no digit "
            "and not with pg_"
        )
    return schema


def make_store(url: str, schema: str | None = None, *, beside_others: bool = False) -> Store:
    """Return the store for an address, not yet open.

    With `beside_others` it may be set up in a database that has other people's tables. Raise SettingsWrong,
    or ExtraMissing if the driver is missing.
    """
    if url.startswith("sqlite:///"):
        if schema is not None:
            raise SettingsWrong(
                "SQLite has no schemas: a database is a file, and its tables begin with fairhold_"
            )
        return SqliteStore(path_of(url), beside_others=beside_others)
    if url.startswith(("postgresql://", "postgres://")):
        # Programs on SQLite neither need its driver nor wait for it.
        with needs("postgres", "PostgreSQL"):
            from fairhold.store.postgres.store import PostgresStore

        return PostgresStore(url, schema, beside_others=beside_others)
    said = f": {scheme}" if (scheme := scheme_of(url)) else ""
    raise SettingsWrong(f"not an address of a database{said} ({_ADDRESSES})")


def given_secret(given: object = None) -> str | None:
    """The secret for links that was given, else that of the environment, if any. Raises SettingsWrong."""
    secret = given if given is not None else os.environ.get(SECRET_VARIABLE) or None
    if secret is None:
        return None
    if not isinstance(secret, str):
        raise SettingsWrong("the secret must be text")
    if len(secret) < _SECRET_MIN:
        raise SettingsWrong(
            f"{SECRET_VARIABLE} must have at least {_SECRET_MIN} characters, for who guesses it can make "
            "every link: openssl rand -hex 32 makes a good one"
        )
    return secret


async def find_secret(store: Store, url: str, given: str | None) -> str:
    """The secret for links: the one that was given, or one that Fairhold makes and keeps.

    It is kept in a file beside a SQLite database, readable by its owner alone, and in the database of
    PostgreSQL, where all nodes must share it. Set FAIRHOLD_SECRET to keep it out of database dumps.
    """
    if given is not None:
        return given
    if store.dialect == "sqlite":
        return _secret_beside(Path(path_of(url)))
    reader = store.reader()
    found = await reader.rows("get_secret", _SECRET_NAME)
    if not found:
        tx = await store.begin()
        await tx.run("put_secret", _SECRET_NAME, new_secret())
        await tx.commit()
        found = await reader.rows("get_secret", _SECRET_NAME)
    return str(found[0][0])


async def keeps_secret(store: Store, secret: str) -> bool:
    """Whether the secret for links stands in the database, and so in every dump of it."""
    return (secret,) in [tuple(row) for row in await store.reader().rows("get_secret", _SECRET_NAME)]


def _secret_beside(database: Path) -> str:
    path = database.with_name(database.name + ".secret")
    if not path.exists():
        # Written whole under another name first: another process that starts now must not read half of it.
        draft = path.with_name(f"{path.name}.{new_secret()[:8]}")
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(new_secret() + "\n")
        with contextlib.suppress(FileExistsError):
            os.link(draft, path)
        draft.unlink()
    return path.read_text(encoding="utf-8").strip()
