"""Named queries in `.sql` files: `-- name: NAME`, a sentence if need be, the statement, a semicolon.

A piece of a statement is a `-- part: NAME`, a list of columns that several statements share a `--
columns: NAME`.
On PostgreSQL the tables may stand in a schema of their own: its name is written into each statement when the
files are loaded, and no search path is ever set.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import Final

_PART: Final = re.compile(r"^-- (name|columns|part): (\w+)\n(.*?);\n", re.MULTILINE | re.DOTALL)
_COMMENT: Final = re.compile(r"^--.*\n", re.MULTILINE)
_OURS: Final = re.compile(r"\bfairhold_\w+")
_OBJECT: Final = re.compile(r"CREATE (?:TABLE|FUNCTION) (fairhold_\w+)")


def load_queries(dialect: str, schema: str | None = None) -> dict[str, str]:
    """Return the dialect's queries by name, with `{columns}` put in."""
    parts = _read(dialect)
    columns = {f"{{{name}}}": body for kind, name, body in parts if kind == "columns"}
    queries = {}
    for kind, name, body in parts:
        if kind == "name":
            for placeholder, listed in columns.items():
                body = body.replace(placeholder, listed)
            queries[name] = in_schema(body, dialect, schema)
    return queries


def load_parts(dialect: str, schema: str | None = None) -> dict[str, str]:
    """Return the dialect's parts of statements by name."""
    return {name: in_schema(body, dialect, schema) for kind, name, body in _read(dialect) if kind == "part"}


def in_schema(text: str, dialect: str, schema: str | None) -> str:
    """Write the schema before each of our tables and functions; without one, leave it to the connection."""
    if schema is None:
        return text.replace("{schema}", "current_schema()")
    objects = _objects(dialect)

    def placed(name: re.Match[str]) -> str:
        return f'"{schema}".{name[0]}' if name[0] in objects else name[0]

    return _OURS.sub(placed, text.replace("{schema}", f"'{schema}'"))


@cache
def _objects(dialect: str) -> frozenset[str]:
    """Return the names of our tables and functions, which the migrations create."""
    return frozenset(name for text in migration_texts(dialect).values() for name in _OBJECT.findall(text))


def _read(dialect: str) -> list[tuple[str, str, str]]:
    folder = files("fairhold.store") / dialect
    sources = sorted(
        (file for file in folder.iterdir() if file.name.endswith(".sql")), key=lambda it: it.name
    )
    text = "".join(file.read_text(encoding="utf-8") for file in sources)
    return [(kind, name, _COMMENT.sub("", body).strip()) for kind, name, body in _PART.findall(text)]


def migration_texts(dialect: str) -> dict[str, str]:
    """Return the dialect's migrations in order: their texts by the names of their files."""
    folder = files("fairhold.store") / dialect / "migrations"
    names = sorted(file.name for file in folder.iterdir() if file.name.endswith(".sql"))
    return {name: (folder / name).read_text(encoding="utf-8") for name in names}
