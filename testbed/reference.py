"""Writes the pages of the documentation that come from the code: `python3 dev.py docs`.

tests/test_reference.py fails while a page differs from what the code says.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import typer.main

ROOT = Path(__file__).parent.parent
WIDTH = 96


def main() -> None:
    for name, write in PAGES.items():
        path = ROOT / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(write())


def cli_reference() -> str:
    """Every command's own help text, in the order of the program's help."""
    program = typer.main.get_command(importlib.import_module("fairhold.cli.main").app)
    opening = "# The command line\n\nWritten from the program's own help texts by `python3 dev.py docs`.\n"
    return "\n".join([opening, *_sections(program, "fairhold", None)])


def _sections(command: Any, name: str, parent: Any) -> Iterator[str]:
    command.rich_markup_mode = None  # plain text, without the terminal's boxes
    context = command.make_context(
        name, [], parent=parent, resilient_parsing=True, terminal_width=WIDTH, max_content_width=WIDTH
    )
    yield f"## {context.command_path}\n\n```text\n{command.get_help(context)}\n```\n"
    for child_name, child in getattr(command, "commands", {}).items():
        if not child.hidden:
            yield from _sections(child, child_name, context)


def decisions() -> str:
    """Every record by its title, in order."""
    paths = sorted((ROOT / "docs/decisions").glob("[0-9]*.md"))
    titles = [(path.name, path.read_text(encoding="utf-8").partition("\n")[0]) for path in paths]
    opening = """# Decisions

What was decided, why, and what was not chosen: a short record of each. A record may be corrected;
what is decided anew has a record of its own. Numbers that are missing were never used.
"""
    return "\n".join([opening, *(f"- [{title.removeprefix('# ')}]({name})" for name, title in titles)]) + "\n"


PAGES: dict[str, Callable[[], str]] = {"docs/decisions/index.md": decisions}
if importlib.util.find_spec("fairhold.cli"):
    PAGES["docs/reference/cli.md"] = cli_reference
if importlib.util.find_spec("fairhold.http"):
    from testbed.api_reference import api_reference

    PAGES["docs/reference/api.md"] = api_reference
    from testbed.client_reference import client_reference
    from testbed.library_reference import library_reference
    from testbed.settings_reference import settings_reference

    PAGES["docs/reference/library.md"] = library_reference
    PAGES["docs/reference/client.md"] = client_reference
    PAGES["docs/reference/settings.md"] = settings_reference


if __name__ == "__main__":
    main()
