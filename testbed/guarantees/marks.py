"""Which tests say that they show a guarantee. Read from the source: nothing is imported or run.

@pytest.mark.guarantee("two-taps.one-person", "Fifty taps at two nodes get the same yes, and one seat.")
@pytest.mark.guarantee("two-taps", "Without the lock …, two have the seat.", control=True)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from testbed.guarantees.rows import ROOT

NAME = "guarantee"


@dataclass(frozen=True, slots=True)
class Mark:
    """A test that shows something, or what becomes of it without the protection."""

    part: str
    shows: str
    test: str
    control: bool = False


def read_marks(root: Path = ROOT) -> list[Mark]:
    """All there are, in the order of the files."""
    paths = sorted((root / "tests").rglob("test_*.py"))
    texts = ((path, path.read_text(encoding="utf-8")) for path in paths)
    return [
        mark
        for path, text in texts
        if f"mark.{NAME}" in text
        for mark in _marks(ast.parse(text), path.relative_to(root).as_posix())
    ]


def _marks(tree: ast.Module, path: str) -> Iterator[Mark]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            # A decorator stands above the ones that were put on before it: read from the top.
            for call in node.decorator_list:
                if isinstance(call, ast.Call) and ast.unparse(call.func) == f"pytest.mark.{NAME}":
                    part, shows = (ast.literal_eval(word) for word in call.args)
                    control = any(ast.literal_eval(it.value) for it in call.keywords if it.arg == "control")
                    yield Mark(part, shows, f"{path}::{node.name}", control)
