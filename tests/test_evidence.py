"""What the pages on security claim names tests that exist, or says that it is a gap."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from holdfast.verify.promises import PROMISES

TESTS = Path(__file__).parent
CONCEPTS = TESTS.parent / "docs" / "concepts"
PAGES = ["threats.md", "asvs.md"]
NAMED = re.compile(r"`([\w/]+\.py)::(\w+)`")


@cache
def functions(name: str) -> frozenset[str]:
    path = TESTS / name
    if not path.exists():
        return frozenset()
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return frozenset(node.name for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, kinds))


def missing(text: str) -> list[str]:
    return [f"{name}::{test}" for name, test in NAMED.findall(text) if test not in functions(name)]


def rows(text: str, heading: str) -> list[list[str]]:
    """The rows of those tables whose last column has this heading."""
    found, inside = [], False
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.removeprefix("|").removesuffix("|").split("|")]
        if not line.startswith("|"):
            inside = False
        elif cells[-1] == heading:
            inside = True
        elif inside and not line.startswith("|--"):
            found.append(cells)
    return found


@pytest.mark.parametrize("page", PAGES)
def test_every_test_that_is_named_is_there(page: str) -> None:
    text = (CONCEPTS / page).read_text(encoding="utf-8")
    assert missing(text) == []
    assert len(NAMED.findall(text)) > 40


@pytest.mark.parametrize("page", PAGES)
def test_every_claim_names_its_test_or_is_a_gap(page: str) -> None:
    claims = rows((CONCEPTS / page).read_text(encoding="utf-8"), "proved by")
    assert len(claims) > 30
    bare = [claim for claim in claims if not NAMED.search(claim[-1]) and not claim[-1].startswith("**")]
    assert bare == []


def test_a_claim_without_evidence_would_be_noticed() -> None:
    assert missing("`http/test_keys.py::test_nothing`, `nowhere.py::test_it`") == [
        "http/test_keys.py::test_nothing",
        "nowhere.py::test_it",
    ]
    assert rows("| a | proved by |\n|---|---|\n| b | nothing |\n", "proved by") == [["b", "nothing"]]


def test_every_promise_that_verify_names_is_on_its_page() -> None:
    page = (CONCEPTS / "promises.md").read_text(encoding="utf-8")
    sources = (TESTS.parent / "src" / "holdfast" / "verify").glob("*.py")
    code = "".join(path.read_text(encoding="utf-8") for path in sources)
    compared = ["nothing_lost", "log_tells_all", "told_once"]
    assert set(re.findall(r'add\(\s*"(\w+)"', code)) <= {*PROMISES, *compared}
    assert all(f'"{name}"' in code for name in compared)
    assert [name for name in [*PROMISES, *compared] if f"| `{name}` |" not in page] == []
