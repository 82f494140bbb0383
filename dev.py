#!/usr/bin/env python3
"""Everything a developer runs, on a machine that has only Python 3.11.

Each command sets up what it needs in `.venv` and then runs. Set-up is remembered by a digest of the
files it depends on, so the second run starts at once and needs no network.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, NoReturn

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
SCRIPTS = VENV / ("Scripts" if os.name == "nt" else "bin")
PYTHON = SCRIPTS / ("python.exe" if os.name == "nt" else "python")
PYTHON_MIN = (3, 11)


class Command(NamedTuple):
    run: Callable[[list[str]], int]
    needs: str
    summary: str


def main() -> int:
    if sys.version_info < PYTHON_MIN:
        fail(f"Fairhold needs Python {dotted(PYTHON_MIN)} or newer; this is {dotted(sys.version_info[:2])}")
    name, *arguments = sys.argv[1:] or ["help"]
    if name in ("help", "-h", "--help"):
        return menu()
    if name not in COMMANDS:
        menu()
        fail(f"there is no command {name!r}")
    command = COMMANDS[name]
    set_up(command.needs)
    return command.run(arguments)


# The commands.


def menu() -> int:
    print("python3 dev.py COMMAND [ARGUMENTS passed on]\n")
    for name, command in COMMANDS.items():
        print(f"  {name:<10} {command.summary}")
    return 0


def demo(arguments: list[str]) -> int:
    return call(SCRIPTS / "fairhold", "demo", *arguments)


def test(arguments: list[str]) -> int:
    # The order of the files is our own: tests/conftest.py says why. Tests wait as long as they work, for
    # processes that start and deadlines that pass: so three of them share two cores.
    return call(
        PYTHON, "-m", "pytest", "-q", "-n", "3", "--dist", "loadfile", "--no-loadscope-reorder", *arguments
    )


def lint(arguments: list[str]) -> int:
    """Runs all four, so that one look shows everything. `lint --fix [PATH ...]` mends what it can there."""
    formatting = [] if "--fix" in arguments else ["--check"]
    formatting += [word for word in arguments if not word.startswith("-")]
    return max(
        call(PYTHON, "-m", "ruff", "check", *arguments),
        call(PYTHON, "-m", "ruff", "format", *formatting),
        call(PYTHON, "-m", "mypy"),
        call(PYTHON, "-m", "testbed.audit"),
    )


def sim(arguments: list[str]) -> int:
    return call(PYTHON, "-m", "sim", *arguments)


def crash(arguments: list[str]) -> int:
    return call(PYTHON, "-m", "drills.crash", *arguments)


def guarantees(arguments: list[str]) -> int:
    """Runs what shows the guarantees, and writes their page. `guarantees --page` only writes it."""
    return call(PYTHON, "-m", "testbed.guarantees", *arguments)


def fuzz(arguments: list[str]) -> int:
    return call(PYTHON, "-m", "drills.fuzz", *arguments)


def soak(arguments: list[str]) -> int:
    return call(PYTHON, "-m", "drills.soak", *arguments)


def ha(arguments: list[str]) -> int:
    return call(PYTHON, "-m", "drills.ha", *arguments)


def bench(arguments: list[str]) -> int:
    return call(PYTHON, "-m", "bench", *arguments)


def docs(arguments: list[str]) -> int:
    return call(PYTHON, "-m", "testbed.reference") or call(PYTHON, "-m", "zensical", "build", *arguments)


def lock(arguments: list[str]) -> int:
    """Pins what pyproject.toml and the *.in files ask for. `lock --upgrade` moves to the newest versions."""
    uv = find_uv() or fail("lock needs uv, and it could not be installed")
    package = ["pyproject.toml", "requirements/run.in", "--extra"]
    # What is in several of them has the same version in all: see the constraints, -c.
    sources = {
        "uv": ["requirements/uv.in"],
        "run": [*package, "all"],
        "dev": [*package, "dev", "-c", "requirements/run.txt"],
        "docs": [*package, "all", "requirements/docs.in"],
        "ha": [*package, "all", "requirements/ha.in"],
    }
    for name, files in sources.items():
        output = f"requirements/{name}.txt"
        options = ["--universal", "--generate-hashes", "--python-version", "3.11", "--no-emit-index-url"]
        header = ["--custom-compile-command", "python3 dev.py lock"]
        if call(uv, "pip", "compile", "-q", *options, *header, "-o", output, *files, *arguments):
            return 1
    return 0


COMMANDS = {
    "demo": Command(demo, "run", "see Fairhold at work, in your browser (--stories: in the terminal)"),
    "test": Command(test, "dev", "run the tests, on SQLite and a real PostgreSQL"),
    "lint": Command(lint, "dev", "check style, format and types, and packages for known vulnerabilities"),
    "sim": Command(sim, "dev", "play random histories with faults, and have them audited: sim [SEED]"),
    "crash": Command(crash, "dev", "kill the service under load with -9, fifty times on each store"),
    "guarantees": Command(guarantees, "dev", "run what shows the guarantees, and write docs/guarantees.md"),
    "fuzz": Command(
        fuzz, "dev", "ask for what nobody should ask, 100,000 times: fuzz [--requests N] [--seed N]"
    ),
    "soak": Command(soak, "dev", "an hour of mixed work, and what grows meanwhile: soak [--minutes N]"),
    "ha": Command(ha, "ha", "fail over, freeze and cut off a PostgreSQL of three nodes under load"),
    "bench": Command(bench, "dev", "measure speed against the baselines"),
    "docs": Command(docs, "docs", "write the generated pages and build the site"),
    "lock": Command(lock, "uv", "pin the requirements again, with hashes"),
}


# Setting up, in the order it happens.


def set_up(needs: str) -> None:
    """Makes .venv and installs requirements/<needs>.txt and the package, unless that is done already."""
    requirements = ROOT / "requirements" / f"{needs}.txt"
    stamp = VENV / f"installed-{needs}"
    if PYTHON.exists() and read(stamp) == digest(requirements):
        return
    say(f"setting up .venv for {needs}")
    make_venv()
    if needs != "uv":
        install("--require-hashes", "-r", requirements)
        install("--no-deps", "--no-build-isolation", "-e", ROOT)
    stamp.write_text(digest(requirements))


def digest(requirements: Path) -> str:
    text = "\n".join([read(requirements), read(ROOT / "pyproject.toml"), sys.version, str(ROOT)])
    return hashlib.sha256(text.encode()).hexdigest()


def make_venv() -> None:
    """A .venv that was copied along from elsewhere still points there, so it is made anew."""
    home = VENV / "made-in"
    if PYTHON.exists() and read(home) == str(ROOT):
        return
    shutil.rmtree(VENV, ignore_errors=True)
    uv = shutil.which("uv")
    if uv:
        made = call(uv, "venv", "-q", "--python", sys.executable, VENV)
    else:
        made = call(sys.executable, "-m", "venv", VENV)
    if made != 0:
        fail("could not make .venv: install uv, or your system's package for Python's venv module")
    home.write_text(str(ROOT))
    if not uv and pip("--require-hashes", "-r", ROOT / "requirements" / "uv.txt") != 0:
        say("uv could not be installed; going on with pip")


def install(*what: str | Path) -> None:
    uv = find_uv()
    if uv and call(uv, "pip", "install", "-q", "--python", PYTHON, *what) == 0:
        return
    if pip(*what) != 0:
        fail("could not install the requirements; the lines above say why")


def find_uv() -> str | None:
    return shutil.which("uv") or shutil.which("uv", path=str(SCRIPTS))


def pip(*what: str | Path) -> int:
    return call(PYTHON, "-m", "pip", "install", "-qq", "--disable-pip-version-check", *what)


# Small words.


def call(*command: str | Path) -> int:
    """Runs a command at the root of the project and answers its exit code."""
    try:
        process = subprocess.Popen([str(word) for word in command], cwd=ROOT)
    except FileNotFoundError:
        fail(f"{Path(command[0]).name} is not there; remove .venv and try again")
    while True:
        try:
            return process.wait()
        except KeyboardInterrupt:
            continue  # Ctrl-C reaches the command too, which may have a server to stop before it ends.


def dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


def read(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def say(message: str) -> None:
    print(f"dev.py: {message}", file=sys.stderr, flush=True)


def fail(message: str) -> NoReturn:
    say(message)
    sys.exit(1)


if __name__ == "__main__":
    sys.exit(main())
