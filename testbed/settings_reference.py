"""The page docs/reference/settings.md, written from the settings and the sentences that stand below each."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Mapping
from dataclasses import fields
from itertools import pairwise
from types import ModuleType
from typing import Any, Final

import typer.main

from fairhold import config
from fairhold.cli.main import app
from fairhold.http import settings as http_settings
from fairhold.http.settings import Settings
from fairhold.outbox import settings as outbox_settings
from fairhold.outbox.settings import MessageSettings

OPENING: Final = """# Settings

Written from the source by `python3 dev.py docs`. Each is an environment variable; a flag of `fairhold serve`
goes before it. What is true or false is said as `true`, `yes` or `1`, and `false`, `no` or `0`. A setting
that cannot be used is named when the program starts.
"""
CLOSING: Final = """Where traces go is said by OpenTelemetry's own variables: see
[the service](../howto/http.md#running-it). What is set for one pool is its
[policy](../concepts/rules.md#the-policy).
"""
# The headings, and the names that belong there; `rate_` are all that begin so.
SECTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "The database": ("database", "schema", "secret"),
    "Where it listens": ("host", "port", "share_port", "base_url", "proxies", "origins"),
    "What it does": ("pages", "log_level", "graceful_stop_s", "test_clock"),
    "Limits": ("rate_", "burst_", "holds_", "commands_", "streams_", "page_streams_", "stream_"),
    "Signing in": ("session_", "oidc_"),
    "Messages": ("smtp_", "mail_", "sms_", "locale", "webhooks_", "apprise_"),
}
GUIDES: Final[Mapping[str, str]] = {
    "The database": "",
    "Where it listens": "How it is put behind a proxy: [in production](../howto/production.md).",
    "What it does": "",
    "Limits": "How they are counted behind several nodes: [the service](../howto/http.md#settings).",
    "Signing in": "How: [ways to sign in](../howto/sign-in.md).",
    "Messages": "How: [tell people](../howto/messages.md).",
}


def settings_reference() -> str:
    known = meanings()
    parts = [OPENING]
    for heading, beginnings in SECTIONS.items():
        parts.append(f"## {heading}\n")
        parts += [f"{GUIDES[heading]}\n"] if GUIDES[heading] else []
        parts.append("| variable | default | meaning |\n|---|---|---|")
        parts += [_row(name, known.pop(name)) for name in list(known) if _begins(name, beginnings)]
        parts.append("")
    assert not known, f"these settings belong to no section: {', '.join(known)}"
    return "\n".join([*parts, CLOSING])


def meanings() -> dict[str, str]:
    """What each setting means, by its name."""
    told = dict(_sentences(ast.parse(inspect.getsource(config)).body))
    found = {
        "database": told["DATABASE_VARIABLE"],
        "schema": told["SCHEMA_VARIABLE"],
        "secret": told["SECRET_VARIABLE"],
    }
    for module, kind in ((http_settings, Settings), (outbox_settings, MessageSettings)):
        told = dict(_sentences(_body(module, kind.__name__)))
        found |= {it.name: told[it.name] for it in fields(kind) if it.name not in found}
    return found


def variable(name: str) -> str:
    return config.DATABASE_VARIABLE if name == "database" else f"FAIRHOLD_{name.upper()}"


def _body(module: ModuleType, name: str) -> list[ast.stmt]:
    classes = [node for node in ast.parse(inspect.getsource(module)).body if isinstance(node, ast.ClassDef)]
    return next(node.body for node in classes if node.name == name)


def _sentences(body: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    """What is assigned, with the text that stands right below it."""
    for node, below in pairwise(body):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            is_text = isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
            if is_text and isinstance(below.value.value, str):  # type: ignore[attr-defined]
                yield node.target.id, " ".join(below.value.value.split())  # type: ignore[attr-defined]


def _begins(name: str, beginnings: tuple[str, ...]) -> bool:
    return any(name == it or (it.endswith("_") and name.startswith(it)) for it in beginnings)


def _row(name: str, meaning: str) -> str:
    flag = _flags().get(variable(name), "")
    return f"| `{variable(name)}` | {_default(name)} | {f'`{flag}`: ' if flag else ''}{meaning} |"


def _default(name: str) -> str:
    values = {it.name: it.default for kind in (MessageSettings, Settings) for it in fields(kind)}
    value = config.DEFAULT_DATABASE if name == "database" else values.get(name)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"`{value}`" if value else "–"


def _flags() -> dict[str, str]:
    """The flags of `fairhold serve` that say the same, by variable."""
    program: Any = typer.main.get_command(app)
    asked = [param for param in program.commands["serve"].params if param.envvar]
    return {param.envvar: param.opts[0] for param in asked} | {config.DATABASE_VARIABLE: "--database"}
