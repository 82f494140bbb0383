"""What `pip install fairhold` brings is enough for the library on SQLite; all else names its extra."""

from __future__ import annotations

import ast
import importlib
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path
from types import ModuleType

import msgspec
import pytest

import fairhold
from fairhold import Fairhold
from fairhold.errors import ExtraMissing, FairholdError
from fairhold.extras import needs

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
ASKED = {
    "a database of PostgreSQL": "postgres",
    "a webhook": "messages",
    "own words": "messages",
    "the outbox": "messages",
    "the client": "client",
    "a password": "server",
    "traces": "otel",
}


# The core.


def links_to(folder: Path, *packages: ModuleType) -> Path:
    """Make a folder from which these packages can be imported, and no others."""
    folder.mkdir()
    for package in packages:
        assert package.__file__ is not None
        path = Path(package.__file__)
        path = path.parent if path.name == "__init__.py" else path
        (folder / path.name).symlink_to(path)
    return folder


def alone(tmp_path: Path, *folders: Path | str) -> subprocess.CompletedProcess[str]:
    """Run `msgspec_alone.py` with nothing but the standard library and what is in these folders."""
    database = f"sqlite:///{tmp_path}/alone.db"
    words = [sys.executable, "-I", "-S", ROOT / "tests/msgspec_alone.py", database, *folders]
    return subprocess.run([str(word) for word in words], capture_output=True, text=True)


def test_verbs_and_reads_on_sqlite_need_msgspec_alone(tmp_path: Path) -> None:
    done = alone(tmp_path, links_to(tmp_path / "packages", msgspec, fairhold))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"outside": ["fairhold", "msgspec"], "missing": ASKED}


def test_control_a_package_beside_msgspec_is_noticed(tmp_path: Path) -> None:
    """Where typing_extensions can be imported, msgspec itself does so."""
    import typing_extensions

    done = alone(tmp_path, links_to(tmp_path / "packages", msgspec, fairhold, typing_extensions))
    assert json.loads(done.stdout)["outside"] == ["fairhold", "msgspec", "typing_extensions"]


def test_control_without_msgspec_or_with_everything_it_is_another_result(tmp_path: Path) -> None:
    done = alone(tmp_path, links_to(tmp_path / "packages", fairhold))
    assert "No module named 'msgspec'" in done.stderr
    assert msgspec.__file__ is not None
    done = alone(tmp_path, links_to(tmp_path / "fairhold", fairhold), Path(msgspec.__file__).parent.parent)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["missing"] == dict.fromkeys(ASKED, "")


def test_what_is_installed_by_default_is_msgspec() -> None:
    """On Windows Python has no time zones of its own."""
    assert [_name(it) for it in PROJECT["dependencies"]] == ["msgspec", "tzdata"]
    assert "sys_platform == 'win32'" in PROJECT["dependencies"][1]


# The extras.


def _name(requirement: str) -> str:
    found = re.match(r"[A-Za-z0-9-]+", requirement)
    assert found
    return found[0]


def packages_of(*extras: str) -> set[str]:
    """Return the packages that extras name, those of the extras that they contain among them."""
    found: set[str] = set()
    for requirement in [it for extra in extras for it in EXTRAS[extra]]:
        contained = re.findall(r"[a-z]+", requirement.partition("[")[2])
        found |= packages_of(*contained) if _name(requirement) == "fairhold" else {_name(requirement)}
    return found


def modules_of(packages: set[str]) -> list[str]:
    """Return the names by which packages are imported."""
    return [module for module, names in packages_distributions().items() if packages & {*map(_plain, names)}]


def _plain(name: str) -> str:
    """Return the name of a package as it is spelled in pyproject.toml."""
    return re.sub("[-_.]+", "-", name).lower()


USES = {
    "postgres": """
from fairhold.config import make_store
make_store("postgresql://localhost/x")
""",
    "messages": """
import asyncio
from fairhold import Fairhold, granted
from fairhold.outbox import Outbox
async def main():
    async with Fairhold.open(DATABASE) as hf:
        granted(await hf.create_pool("yoga", preset="class_waitlist", quotas={"main": 1}))
        ann = granted(await hf.book("yoga", {"id": "ann", "contacts": {"email": "ann@example.org"}}))
        granted(await hf.confirm(ann.id))
        granted(await hf.set_template("offer", "fi", "subject", "Nyt"))
        granted(await hf.preview("offer", "fi"))
        sending = Outbox(hf)
        assert await sending.send_due() > 0
        await sending.close()
asyncio.run(main())
""",
    "server": """
from fairhold.accounts import oidc, passkeys
from fairhold.accounts.passwords import Passwords
Passwords()
from fairhold.http import serve
from fairhold.http.openapi import document
from fairhold.http.service import operations_of
from fairhold.http.settings import Settings
document(operations_of(Settings(database="")))
""",
    "cli": """
import sys
from fairhold.__main__ import main
for words in ("pool create yoga --size 1", "book yoga ann", "line yoga", "pool list"):
    sys.argv = ["fairhold", *words.split(), "--database", DATABASE]
    try:
        main()
    except SystemExit as ended:
        assert ended.code == 0, words
""",
    "client": """
from fairhold.client import Client
with Client("http://127.0.0.1:1", "fh_x"):
    pass
""",
    "otel": """
from fairhold.tracing import Tracing
Tracing()
""",
}


def run_with(tmp_path: Path, missing: list[str], program: str) -> subprocess.CompletedProcess[str]:
    """Run a program for which these modules are not installed."""
    opening = f"import sys\nsys.modules.update(dict.fromkeys({missing}))\n"
    opening += f"DATABASE = 'sqlite:///{tmp_path}/extra.db'\n"
    return subprocess.run(
        [sys.executable, "-c", opening + program],
        capture_output=True,
        text=True,
        input="correct horse battery\n",
    )


@pytest.mark.parametrize("extra", USES)
def test_an_extra_is_enough_for_what_it_is_for(tmp_path: Path, extra: str) -> None:
    others = packages_of(*EXTRAS) - packages_of(extra)
    done = run_with(tmp_path, modules_of(others), USES[extra])
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("extra", USES)
def test_control_without_the_extra_its_use_fails_and_names_it(tmp_path: Path, extra: str) -> None:
    done = run_with(tmp_path, modules_of(packages_of(extra)), USES[extra])
    assert done.returncode != 0
    assert f"pip install 'fairhold[{extra}]'" in done.stderr


@pytest.mark.parametrize(
    ("words", "module", "extra"),
    [
        ("pool list", "typer", "cli"),
        ("serve", "starlette", "server"),
        ("serve --database postgresql://localhost/x", "asyncpg", "postgres"),
        ("demo --no-open", "uvicorn", "server"),
        ("migrate --database postgresql://localhost/x", "asyncpg", "postgres"),
        ("outbox --once", "babel", "messages"),
        ("staff add a@example.org --name Ann --role admin --password", "argon2", "server"),
    ],
)
def test_a_command_without_its_extra_says_so_in_one_line(
    tmp_path: Path, words: str, module: str, extra: str
) -> None:
    with Fairhold.open_sync(tmp_path / "extra.db"):
        program = f"""
import os, runpy
os.environ["FAIRHOLD_DATABASE_URL"] = DATABASE
sys.argv[1:] = {words.split()}
runpy.run_module("fairhold", run_name="__main__")
"""
    done = run_with(tmp_path, [module], program)
    # The log of the service is in lines of JSON.
    said = [line for line in done.stderr.splitlines() if not line.startswith("{")]
    assert (done.returncode, len(said)) == (2, 1), done.stderr
    assert said[0].startswith("fairhold: To use ")
    assert said[0].endswith(f", run: pip install 'fairhold[{extra}]'")


def test_every_package_that_is_imported_stands_in_pyproject() -> None:
    named = {_name(it) for it in PROJECT["dependencies"]} | packages_of("all", "apprise", "otel")
    known = {*sys.stdlib_module_names, "fairhold", *modules_of(named)}
    imported = {
        module.partition(".")[0]
        for path in (ROOT / "src").rglob("*.py")
        for module in imports(ast.parse(path.read_text(encoding="utf-8")))
    }
    assert {"asyncpg", "starlette", "typer", "babel"} <= imported
    assert imported - known == set()


def imports(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module


def test_an_error_that_no_extra_mends_stays_as_it_is() -> None:
    for name in ("fairhold.gone", "xml.gone"):
        with pytest.raises(ModuleNotFoundError, match=name), needs("server", "the service"):
            importlib.import_module(name)
    # The innermost of several says it best.
    with pytest.raises(ExtraMissing) as raised, needs("server", "the service"), needs("messages", "letters"):
        importlib.import_module("of_nobody")
    assert str(raised.value) == "To use letters, run: pip install 'fairhold[messages]'"
    assert isinstance(raised.value, FairholdError)
    assert isinstance(raised.value, ImportError)
