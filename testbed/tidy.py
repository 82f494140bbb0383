"""What keeps the source tidy. Each check takes the root of a tree and answers its complaints, one per line.

The rules themselves are in STYLE.md; tests/test_tidy.py shows that the project keeps them, and that each
check would complain if it did not.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

Check = Callable[[Path], list[str]]

LINES_MAX = 400
CODE = ("src", "tests", "testbed", "bench", "docs", "drills", "examples", "sim", "dev.py")
CACHES = {"__pycache__", "build", "dist", "site", "screenshots"}

# The core decides from what it is given: it does not ask the world, and it does not throw dice. This is what
# it needs of the standard library; one file reads the tables of time zones, and says why.
PURE = {"__future__", "bisect", "collections", "dataclasses", "datetime", "functools", "hashlib", "heapq"}
PURE |= {"itertools", "json", "re", "typing"}
PURE_ENOUGH = {"src/fairhold/core/quiet.py": {"zoneinfo"}}

CLOCK = {"time.time", "time.time_ns", "time.monotonic", "time.monotonic_ns", "datetime.date.today"}
CLOCK |= {f"datetime.datetime.{name}" for name in ("now", "utcnow", "today")}

# In capitals a statement is SQL wherever it stands; in small letters only at the start of a text, because
# "select a unit from the list" is English too.
SQL = re.compile(
    r"""\b(SELECT|INSERT\s+INTO|UPDATE\s+\w+\s+SET|DELETE\s+FROM|MERGE\s+INTO
          |(CREATE|DROP|ALTER)\s+(UNIQUE\s+)?(TABLE|INDEX|VIEW|TRIGGER))\s
      |^\s*(?-x:select (\w+\(|\*|\d|.*\sfrom\s)|insert\s+into\s|update\s+\w+\s+set\s|delete\s+from\s)
      |^\s*(?-x:with(\s+recursive)?\s+\w+(\s*\([^)]*\))?\s+as\s*(materialized\s*)?\()
      |^\s*(?-x:(create|drop|alter)\s+(unique\s+)?(table|index|view|trigger)\s)""",
    re.VERBOSE | re.DOTALL,
)
QUERY_NAME = re.compile(r"^-- name: *(\w+)", re.MULTILINE)

# In pieces, so that this file does not hold what it looks for.
FORBIDDEN = [f"/{name}/" for name in ("work", "root")]
FORBIDDEN += [
    ".".join(host) for host in (("pypi", "org"), ("pythonhosted", "org"), ("npmjs", "org"), ("npmjs", "com"))
]


def core_is_pure(root: Path) -> list[str]:
    """The core imports itself, and of the standard library what cannot reach outside."""
    return [
        f"{_place(root, path, node)} imports {module}"
        for path in _python(root, "src/fairhold/core")
        for node, module in _imports(path, root / "src")
        if module.split(".")[0] not in PURE | PURE_ENOUGH.get(str(path.relative_to(root)), set())
        and not f"{module}.".startswith("fairhold.core.")
    ]


def auditor_stands_alone(root: Path) -> list[str]:
    """The simulator's auditor imports nothing of what it judges; nor does anything that it is made of."""
    complaints, seen = [], set[Path]()
    todo = [root / "sim" / f"{name}.py" for name in ("auditor", "ledger")]
    while todo:
        path = todo.pop()
        if path in seen or not path.exists():
            continue
        seen.add(path)
        for node, module in _imports(path, root):
            if module.split(".")[0] == "sim":
                todo.append(root / f"{module.replace('.', '/')}.py")
            elif module.split(".")[0] not in sys.stdlib_module_names:
                complaints.append(f"{_place(root, path, node)} imports {module}")
    return complaints


def clock_is_read_in_one_place(root: Path) -> list[str]:
    """Only clock.py asks what time it is. An event loop's own time() is no clock of ours."""
    return [
        f"{_place(root, path, node)} reads {name}"
        for path in _python(root, "src/fairhold")
        if path != root / "src/fairhold/clock.py"
        for node, name in _dotted_names(path)
        if name in CLOCK
    ]


def sql_is_in_sql_files(root: Path) -> list[str]:
    """No text in the code looks like a SQL statement, except where a docstring speaks of one."""
    return [
        f"{_place(root, path, node)} holds SQL: {' '.join(text.split())[:60]}"
        for path in _python(root, "src")
        for node, text in _texts(path)
        if SQL.search(text)
    ]


def files_are_short(root: Path) -> list[str]:
    files = [path for place in CODE for path in _files(root / place, {".py", ".sql"})]
    # A schema is one text.
    files = [path for path in files if path.parent.name != "migrations"]
    lengths = [(path, len(path.read_text().splitlines())) for path in files]
    return [f"{path.relative_to(root)} has {length} lines" for path, length in lengths if length > LINES_MAX]


def stores_have_the_same_queries(root: Path) -> list[str]:
    """Two stores, one behaviour: every query is there by the same name in both dialects, once."""
    store = root / "src/fairhold/store"
    if not store.exists():
        return []
    names = {}
    for dialect in ("sqlite", "postgres"):
        paths = sorted((store / dialect).glob("*.sql"))
        names[dialect] = [name for path in paths for name in QUERY_NAME.findall(path.read_text())]
    complaints = [f"{dialect} has no named queries" for dialect in names if not names[dialect]]
    for dialect, other in (("sqlite", "postgres"), ("postgres", "sqlite")):
        missing = sorted(set(names[other]) - set(names[dialect]))
        complaints += [f"{dialect} lacks the query {name}" for name in missing]
        twice = sorted({name for name in names[dialect] if names[dialect].count(name) > 1})
        complaints += [f"{dialect} has the query {name} twice" for name in twice]
    return complaints


def no_machine_shows(root: Path) -> list[str]:
    """No file names a directory of somebody's machine or the host of a package registry."""
    complaints = []
    for path in _tracked(root):
        if path.name == "uv.lock":
            complaints.append(f"{path.relative_to(root)} records where packages came from")
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), start=1):
            complaints += [
                f"{path.relative_to(root)}:{number} names {word}" for word in FORBIDDEN if word in line
            ]
    return complaints


def _tracked(root: Path) -> list[Path]:
    """What git has or would take; without git, everything that is not hidden or made by a tool."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    if (root / ".git").exists():
        listing = subprocess.run(command, cwd=root, capture_output=True, text=True)
        if listing.returncode == 0:
            paths = (root / name for name in listing.stdout.split("\0") if name)
            return [path for path in paths if path.is_file()]
    return list(_files(root))


def _files(place: Path, suffixes: set[str] | None = None) -> Iterator[Path]:
    for path in [place] if place.is_file() else sorted(place.rglob("*")):
        parts = path.relative_to(place).parts
        hidden = any(part in CACHES or part.startswith(".") for part in parts)
        if path.is_file() and not hidden and (suffixes is None or path.suffix in suffixes):
            yield path


def _python(root: Path, place: str) -> Iterator[Path]:
    return _files(root / place, {".py"})


def _place(root: Path, path: Path, node: ast.AST) -> str:
    return f"{path.relative_to(root)}:{getattr(node, 'lineno', 0)}"


def _imports(path: Path, source: Path) -> Iterator[tuple[ast.AST, str]]:
    """Every module a file imports, by its full name."""
    package = list(path.relative_to(source).parent.parts)
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from ((node, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*above, *([node.module] if node.module else [])])
            # `from fairhold import clock` imports fairhold.clock, and `from . import line` a neighbour.
            is_package = (source / module.replace(".", "/") / "__init__.py").exists()
            yield from ((node, f"{module}.{alias.name}" if is_package else module) for alias in node.names)


def _dotted_names(path: Path) -> Iterator[tuple[ast.AST, str]]:
    """Every name used in a file, spelled without aliases: `t.time` after `import time as t` is time.time."""
    tree = ast.parse(path.read_text())
    origin: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            origin |= {alias.asname or alias.name: alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            origin |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}

    def spelled(node: ast.AST) -> str:
        if isinstance(node, ast.Attribute):
            return f"{spelled(node.value)}.{node.attr}"
        return origin.get(node.id, node.id) if isinstance(node, ast.Name) else "?"

    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute | ast.Name):
            yield node, spelled(node)


def _texts(path: Path) -> Iterator[tuple[ast.AST, str]]:
    """Every string of a file that is not a docstring; what a format string fills in reads as one word."""
    skipped: set[ast.AST] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if node in skipped:
            continue
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            skipped.add(node.value)
        elif isinstance(node, ast.JoinedStr):
            skipped |= set(node.values)
            yield (
                node,
                "".join(str(part.value) if isinstance(part, ast.Constant) else "x" for part in node.values),
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node, node.value
