"""Named queries in `.sql` files: `-- name: NAME`, a sentence if need be, the statement, a semicolon.

What is no statement by itself, but a part of one, is called so: `-- part: NAME`.
"""

from __future__ import annotations

import re
from importlib.resources import files

_PART = re.compile(r"^-- (name|columns|part): (\w+)\n(.*?);\n", re.MULTILINE | re.DOTALL)
_COMMENT = re.compile(r"^--.*\n", re.MULTILINE)


def load_queries(dialect: str) -> dict[str, str]:
    """The dialect's queries by name, with `{columns}` put in."""
    parts = _read(dialect)
    columns = {f"{{{name}}}": body for kind, name, body in parts if kind == "columns"}
    queries = {}
    for kind, name, body in parts:
        if kind == "name":
            for placeholder, listed in columns.items():
                body = body.replace(placeholder, listed)
            queries[name] = body
    return queries


def load_parts(dialect: str) -> dict[str, str]:
    """The dialect's parts of statements, by name."""
    return {name: body for kind, name, body in _read(dialect) if kind == "part"}


def _read(dialect: str) -> list[tuple[str, str, str]]:
    found = [file for file in (files("fairhold.store") / dialect).iterdir() if file.name.endswith(".sql")]
    text = "".join(file.read_text(encoding="utf-8") for file in sorted(found, key=lambda file: file.name))
    return [(kind, name, _COMMENT.sub("", body).strip()) for kind, name, body in _PART.findall(text)]


def load_migrations(dialect: str) -> list[tuple[int, str, str]]:
    """The dialect's migrations in order: number, name and text."""
    folder = files("fairhold.store") / dialect / "migrations"
    found = sorted(file.name for file in folder.iterdir() if file.name.endswith(".sql"))
    return [(int(name[:4]), name, (folder / name).read_text(encoding="utf-8")) for name in found]
