"""The files of `deploy/` fit the project and each other, and a careless change of one is noticed."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.deploy import looking, unit

ROOT = looking.ROOT


@pytest.mark.parametrize("check", looking.CHECKS)
def test_the_files_are_in_order(check: looking.Check) -> None:
    assert list(check(ROOT)) == []


CARELESS = [
    ("Dockerfile", "COPY src src", "COPY source src", "there is no source to copy"),
    ("Dockerfile", "USER 10001:10001", "USER root", "the image runs as somebody of importance"),
    ("Dockerfile", "USER 10001:10001", "USER 0:0", "the image runs as somebody of importance"),
    ("Dockerfile", "--require-hashes ", "", "packages are not held to their hashes"),
    ("Dockerfile", "VOLUME /var/lib/fairhold", "VOLUME /data", "the database is not in the volume"),
    ("Dockerfile", '["serve"]', '["serve", "--workers", "2"]', "No such option: --workers"),
    ("Dockerfile", "FAIRHOLD_PORT=8000", "FAIRHOLD_PORT=http", "the image: BadParameter: "),
    ("Dockerfile.dockerignore", "*\n", "", "the image is built from whatever lies about"),
    ("Dockerfile.dockerignore", "!src\n", "", "src is not let in"),
    ("compose.sqlite.yaml", "read_only: true", "read_only: false", "fairhold can change itself"),
    ("compose.sqlite.yaml", "seats:/var", "chairs:/var", "fairhold mounts chairs"),
    ("compose.sqlite.yaml", "FAIRHOLD_PROXIES:", "FAIRHOLD_PROXY:", "no setting FAIRHOLD_PROXY"),
    ("compose.postgres.yaml", "no-new-privileges:true", "seccomp:unconfined", "node-a can gain privileges"),
    ("compose.postgres.yaml", "period: 20s", "period: 10s", "node-a is cut off"),
    ("compose.postgres.yaml", "address: 10.213.8.2", "address: 10.213.8.3", "node-a believes another"),
    ("haproxy.cfg", "node-b:8000", "node-c:8000", "the balancer asks others than our nodes"),
    ("compose.postgres.yaml", "127.0.0.1:8000", "8000", "the balancer's port is not the one"),
    ("haproxy.cfg", "src 10.213.8.1", "src 0.0.0.0/0", "the balancer does not say: acl in_front"),
    ("haproxy.cfg", "For %[src]", "For %[hdr(x-real-ip)]", "the balancer does not say: http-request set"),
    ("fairhold.service", "fairhold serve", "fairhold server", "No such command 'server'"),
    ("fairhold.service", "NoNewPrivileges=yes", "NoNewPrivileges=no", "does not say NoNewPrivileges=yes"),
    ("fairhold.service", "Directory=fairhold", "Directory=seats", "database is not in its directory"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "before", "after", "complaint"), CARELESS)
def test_a_careless_change_is_noticed(
    tmp_path: Path, name: str, before: str, after: str, complaint: str
) -> None:
    for entry in ("pyproject.toml", "README.md", "LICENSE", "requirements", "src"):
        (tmp_path / entry).symlink_to(ROOT / entry)
    shutil.copytree(ROOT / "deploy", tmp_path / "deploy")
    path = tmp_path / "deploy" / name
    changed = path.read_text().replace(before, after)
    assert changed != path.read_text()
    path.write_text(changed)
    found = []
    for check in looking.CHECKS:
        try:
            found += list(check(tmp_path))
        except (KeyError, ValueError) as error:
            found.append(f"{type(error).__name__}: {error}")
    assert any(complaint in it for it in found), found


UNIT = (ROOT / "deploy/fairhold.service").read_text()


def test_the_unit_is_as_systemd_reads_it() -> None:
    """Read by ourselves, so that it is looked at where there is no systemd, too."""
    assert list(unit.complaints(UNIT)) == []


MISTAKEN = [
    ("Restart=always", "Restarts=always", "[Service] has no 'Restarts'"),
    ("WantedBy=multi-user.target", "WantedBy=multi-user", "WantedBy cannot be 'multi-user'"),
    ("Description=", "PrivateTmp=yes\nDescription=", "[Unit] has no 'PrivateTmp'"),
    ("PrivateTmp=yes", "PrivateTmp=maybe", "PrivateTmp cannot be 'maybe'"),
    ("PrivateTmp=yes", "PrivateTmp=yes\nPrivateTmp=no", "PrivateTmp is said twice"),
    ("[Install]", "[Installs]", "there is no section [Installs]"),
    ("ProtectProc=invisible\n", "", "ProtectProc leaves more open"),
    ("SystemCallFilter=~@privileged @resources\n", "", "the calls of the system are not kept"),
    ("/opt/fairhold/bin/fairhold serve", "fairhold serve", "ExecStart cannot be"),
]


@pytest.mark.parametrize(("before", "after", "complaint"), MISTAKEN)
def test_a_mistake_in_the_unit_is_noticed(before: str, after: str, complaint: str) -> None:
    assert before in UNIT
    assert any(complaint in it for it in unit.complaints(UNIT.replace(before, after)))


def test_no_secret_comes_with_the_files() -> None:
    """Who starts them says passwords and secrets; without one it does not start."""
    found = 0
    for name in looking.COMPOSE:
        for line in (ROOT / name).read_text().splitlines():
            if re.search("PASSWORD|SECRET|://[^/]*:[^/]*@", line) and not line.strip().startswith("#"):
                assert re.search(r"\$\{(POSTGRES_PASSWORD|FAIRHOLD_SECRET):\?", line), line
                found += 1
    assert found >= 3


SYSTEMD_MIN = 252


def test_systemd_understands_the_unit(tmp_path: Path) -> None:
    """Where it is, and new enough to judge: it agrees with us on every word, and finds little left open."""
    text = UNIT
    path = tmp_path / "fairhold.service"
    path.write_text(text.replace("/opt/fairhold/bin/fairhold", sys.executable))
    assert sys.executable in path.read_text()
    if systemd_version() < SYSTEMD_MIN:
        return
    verified = systemd("verify", "--man=no", str(path))
    assert [line for line in verified.stderr.splitlines() if "fairhold.service" in line] == []
    secured = systemd("security", "--offline=true", "--threshold=25", "--no-pager", str(path))
    assert secured.returncode == 0, secured.stdout + secured.stderr
    path.write_text("[Service]\nExecStart=/bin/true\nProtectEverything=yes\n")
    assert "ProtectEverything" in systemd("verify", "--man=no", str(path)).stderr
    assert systemd("security", "--offline=true", "--threshold=25", "--no-pager", str(path)).returncode != 0


def systemd(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["systemd-analyze", *words], capture_output=True, text=True)


def systemd_version() -> int:
    if shutil.which("systemd-analyze") is None:
        return 0
    found = re.match(r"systemd (\d+)", systemd("--version").stdout)
    return int(found[1]) if found else 0


def test_what_the_commands_of_a_developer_need_is_in_the_source_distribution() -> None:
    said = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    packed = {name.strip("/") for name in said["hatch"]["build"]["targets"]["sdist"]["include"]}
    assert {*said["mypy"]["files"], *said["pytest"]["ini_options"]["testpaths"]} <= packed
    assert {"bench", "docs", "deploy", "requirements", "zensical.toml"} <= packed
