"""What the pages on security claim names tests that exist, or says that it is a gap."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from fairhold.verify.promises import PROMISES

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
    sources = (TESTS.parent / "src" / "fairhold" / "verify").glob("*.py")
    code = "".join(path.read_text(encoding="utf-8") for path in sources)
    compared = ["nothing_lost", "log_tells_all", "told_once"]
    assert set(re.findall(r'add\(\s*"(\w+)"', code)) <= {*PROMISES, *compared}
    assert all(f'"{name}"' in code for name in compared)
    assert [name for name in [*PROMISES, *compared] if f"| `{name}` |" not in page] == []


# How many requirements of levels 1 and 2 each section of ASVS 5.0.0 has; they are the first of it, one after
# the other, and those of level 3 come behind them.
ASKED = {
    "1.1": 2, "1.2": 9, "1.3": 11, "1.4": 3, "1.5": 2, "2.1": 3, "2.2": 3, "2.3": 4, "2.4": 1, "3.2": 2,
    "3.3": 4, "3.4": 6, "3.5": 5, "3.7": 2, "4.1": 3, "4.2": 1, "4.3": 2, "4.4": 4, "5.1": 1, "5.2": 3,
    "5.3": 2, "5.4": 3, "6.1": 3, "6.2": 12, "6.3": 4, "6.4": 4, "6.5": 5, "6.6": 3, "6.8": 4, "7.1": 3,
    "7.2": 4, "7.3": 2, "7.4": 5, "7.5": 2, "7.6": 2, "8.1": 2, "8.2": 3, "8.3": 1, "8.4": 1, "9.1": 3,
    "9.2": 4, "10.1": 2, "10.2": 2, "10.3": 4, "10.4": 11, "10.5": 5, "10.6": 2, "10.7": 3, "11.1": 2,
    "11.2": 3, "11.3": 3, "11.4": 4, "11.5": 1, "11.6": 1, "12.1": 3, "12.2": 2, "12.3": 4, "13.1": 1,
    "13.2": 5, "13.3": 2, "13.4": 5, "14.1": 2, "14.2": 4, "14.3": 3, "15.1": 3, "15.2": 3, "15.3": 7,
    "16.1": 1, "16.2": 5, "16.3": 4, "16.4": 3, "16.5": 3, "17.1": 1, "17.2": 4, "17.3": 2,
}  # fmt: skip
REQUIRED = [f"{section}.{number}" for section, count in ASKED.items() for number in range(1, count + 1)]
LISTED = re.compile(r"(\d+(?:\.\d+)*)(?:–(?:\d+\.\d+\.)?(\d+))?")


def spoken_of(text: str) -> set[str]:
    """The requirements that numbers name: `1.2.3`, `1.2.3–1.2.5`, `1.2.3–5`, or all of `1.2` or `17`."""
    found = set()
    for first, last in LISTED.findall(text):
        section, _, number = first.rpartition(".")
        if last:
            found |= {f"{section}.{it}" for it in range(int(number), int(last) + 1)}
        else:
            # One that there is not is kept as it was named, so that it is noticed.
            found |= {it for it in REQUIRED if f"{it}.".startswith(f"{first}.")} or {first}
    return found


def test_every_requirement_is_listed_or_left_out() -> None:
    text = (CONCEPTS / "asvs.md").read_text(encoding="utf-8")
    (opening,) = re.findall(r"^Left out.*?(?=^## )", text, re.MULTILINE | re.DOTALL)
    left_out = spoken_of(" ".join(re.findall(r"\(([^)]*)\)", opening)))
    listed = spoken_of(" ".join(row[0] for row in rows(text, "proved by")))
    assert sorted(set(REQUIRED) - listed - left_out) == []
    assert sorted(listed & left_out) == []
    assert sorted((listed | left_out) - set(REQUIRED)) == []


def test_a_requirement_that_is_forgotten_would_be_noticed() -> None:
    assert spoken_of("1.2.6–8, 1.3.4") == {"1.2.6", "1.2.7", "1.2.8", "1.3.4"}
    assert spoken_of("7.2.1–7.2.3") == {"7.2.1", "7.2.2", "7.2.3"}
    assert spoken_of("4.3, 17.1") == {"4.3.1", "4.3.2", "17.1.1"}
    assert spoken_of("1.1") == {"1.1.1", "1.1.2"}
