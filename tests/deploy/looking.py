"""What the files of `deploy/` say, and what is wrong with it: each check answers a list of complaints."""

from __future__ import annotations

import ipaddress
import os
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import typer
import yaml

from fairhold.cli.main import app
from fairhold.config import DATABASE_VARIABLE, SECRET_VARIABLE
from fairhold.errors import SettingsWrong
from fairhold.http.settings import Settings
from fairhold.outbox import MessageSettings

ROOT = Path(__file__).parents[2]
COMPOSE = ("deploy/compose.sqlite.yaml", "deploy/compose.postgres.yaml")
KNOWN = {
    DATABASE_VARIABLE,
    SECRET_VARIABLE,
    *(f"FAIRHOLD_{it.name.upper()}" for it in fields(Settings) if it.name != "database"),
    *(f"FAIRHOLD_{name.upper()}" for name in MessageSettings.__slots__),
}
# What people fill in where a file asks for it.
SAID = {
    "FAIRHOLD_BASE_URL": "https://seats.example.org",
    "FAIRHOLD_SECRET": "a secret of the tests",
    "POSTGRES_PASSWORD": "a-password",
}


class Step(NamedTuple):
    """An instruction of a Dockerfile."""

    word: str
    rest: str


def stages(root: Path) -> list[list[Step]]:
    """The instructions of the Dockerfile, by stage."""
    found: list[list[Step]] = []
    text = re.sub(r"^#.*\n", "", (root / "deploy/Dockerfile").read_text(), flags=re.MULTILINE)
    for line in re.sub(r"\\\n\s*", "", text).splitlines():
        if not line.strip():
            continue
        word, rest = line.split(maxsplit=1)
        if word == "FROM":
            found.append([])
        if found:
            found[-1].append(Step(word, rest))
    return found


def said(steps: list[Step], word: str) -> str:
    """What the last instruction of this kind says."""
    return [step.rest for step in steps if step.word == word][-1]


def environment(steps: list[Step]) -> dict[str, str]:
    pairs = [pair for step in steps if step.word == "ENV" for pair in shlex.split(step.rest)]
    return dict(pair.split("=", 1) for pair in pairs)


def command(steps: list[Step]) -> list[str]:
    """What the image starts."""
    return [*yaml.safe_load(said(steps, "ENTRYPOINT")), *yaml.safe_load(said(steps, "CMD"))]


def services(root: Path, name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """A compose file, filled in; and its services that are built from our image."""
    text = re.sub(r"\$\{(\w+):-\}", "", (root / name).read_text())
    text = re.sub(r"\$\{(\w+):\?[^}]*\}", lambda found: SAID[found[1]], text)
    whole = yaml.safe_load(text)
    return whole, {key: it for key, it in whole["services"].items() if "build" in it}


def unit(root: Path) -> dict[str, list[str]]:
    """The settings of systemd's unit."""
    found: dict[str, list[str]] = {}
    for line in (root / "deploy/fairhold.service").read_text().splitlines():
        if "=" in line and not line.startswith("#"):
            name, value = line.split("=", 1)
            found.setdefault(name, []).append(value)
    return found


# The checks.


def what_is_copied_is_there(root: Path) -> Iterator[str]:
    ignored = (root / "deploy/Dockerfile.dockerignore").read_text().splitlines()
    let_in = {line[1:] for line in ignored if line.startswith("!")}
    if "*" not in ignored:
        yield "the image is built from whatever lies about"
    for step in stages(root)[0]:
        for name in step.rest.split()[:-1] if step.word == "COPY" else ():
            if not (root / name).exists():
                yield f"there is no {name} to copy"
            if name not in let_in:
                yield f"{name} is not let in"


def the_image_is_nobodys(root: Path) -> Iterator[str]:
    last = stages(root)[-1]
    user = said(last, "USER").split(":")[0]
    if not user.isdigit() or int(user) == 0 or f"--uid {user} " not in said(last, "RUN"):
        yield "the image runs as somebody of importance"
    place = said(last, "VOLUME")
    database = environment(last)[DATABASE_VARIABLE]
    if {place, said(last, "WORKDIR"), str(Path(database.removeprefix("sqlite:///")).parent)} != {place}:
        yield "the database is not in the volume"
    if said(last, "STOPSIGNAL") != "SIGTERM" or "/readyz" not in said(last, "HEALTHCHECK"):
        yield "the image does not stop or is not looked at as it should be"
    for step in stages(root)[0]:
        if " install " in step.rest and "--require-hashes" not in step.rest and "--no-deps" not in step.rest:
            yield "packages are not held to their hashes"


def containers_can_change_nothing(root: Path) -> Iterator[str]:
    for name in COMPOSE:
        whole, ours = services(root, name)
        for key, it in whole["services"].items():
            if it.get("privileged") or "user" in it:
                yield f"{name}: {key} has more power than its image gives it"
        for key, it in ours.items():
            if not it.get("read_only") or it.get("cap_drop") != ["ALL"]:
                yield f"{name}: {key} can change itself"
            if it.get("security_opt") != ["no-new-privileges:true"]:
                yield f"{name}: {key} can gain privileges"
            if not int(it["stop_grace_period"].removesuffix("s")) > Settings(database="").graceful_stop_s:
                yield f"{name}: {key} is cut off while it stops"
            if not (root / "deploy" / it["build"]["context"] / it["build"]["dockerfile"]).exists():
                yield f"{name}: {key} is built from nothing"
            if _kept(it) != said(stages(root)[-1], "VOLUME"):
                yield f"{name}: {key} has its volume elsewhere"


def _kept(service: Mapping[str, Any]) -> str:
    """Where a service may write, beside /tmp."""
    mounted = [it.split(":")[1] for it in service.get("volumes", [])]
    [place] = mounted + [it.split(":")[0] for it in service["tmpfs"] if it != "/tmp"]
    return str(place)


def parts_fit_together(root: Path) -> Iterator[str]:
    for name in COMPOSE:
        whole, ours = services(root, name)
        for key, it in whole["services"].items():
            for mount in it.get("volumes", []):
                source = mount.split(":")[0]
                there = (root / "deploy" / source).exists() if "/" in source else source in whole["volumes"]
                if not there:
                    yield f"{name}: {key} mounts {source}, which is not there"
            yield from (
                f"{name}: {key} waits for {other}"
                for other in it.get("depends_on", [])
                if other not in whole["services"]
            )
        [net] = whole["networks"]["inner"]["ipam"]["config"]
        balancer = whole["services"].get("balancer")
        in_front = balancer["networks"]["inner"]["ipv4_address"] if balancer else net["gateway"]
        if ipaddress.ip_address(in_front) not in ipaddress.ip_network(net["subnet"]):
            yield f"{name}: {in_front} is not in the network"
        yield from (
            f"{name}: {key} believes another than {in_front}"
            for key, it in ours.items()
            if it["environment"]["FAIRHOLD_PROXIES"] != in_front
        )
    yield from _balanced(root, whole["services"], ours, net["gateway"])


def _balanced(
    root: Path, services: Mapping[str, Any], ours: Mapping[str, Any], gateway: str
) -> Iterator[str]:
    text = (root / "deploy/haproxy.cfg").read_text()
    port = environment(stages(root)[-1])["FAIRHOLD_PORT"]
    if re.findall(r"^ +server \S+ (\S+)$", text, re.MULTILINE) != [f"{key}:{port}" for key in ours]:
        yield "the balancer asks others than our nodes"
    [bound] = re.findall(r"^ +bind :(\d+)", text, re.MULTILINE)
    if services["balancer"]["ports"] != [f"127.0.0.1:{port}:{bound}"]:
        yield "the balancer's port is not the one that is published"
    for line in (
        "option httpchk GET /readyz",
        f"acl in_front src {gateway}",
        "http-request set-header X-Forwarded-For %[src] if !in_front",
        "http-request deny deny_status 404 if { path -m beg /metrics }",
    ):
        if f"    {line}\n" not in text:
            yield f"the balancer does not say: {line}"


def what_is_started_is_understood(root: Path) -> Iterator[str]:
    """Every command is taken as it stands, and every setting is one of ours with a value that can be used."""
    last = stages(root)[-1]
    started = [("the image", command(last), environment(last))]
    for name in COMPOSE:
        _, ours = services(root, name)
        for key, it in ours.items():
            own = {variable: str(value or "") for variable, value in it["environment"].items()}
            words = ["fairhold", *it["command"]] if "command" in it else command(last)
            started.append((f"{name}: {key}", words, environment(last) | own))
    settings = unit(root)
    own = dict(line.split("=", 1) for line in settings["Environment"])
    started.append(("the unit", settings["ExecStart"][0].split(), own))
    for who, words, variables in started:
        yield from (f"{who}: {it}" for it in _misunderstood(words, variables))


_commands = cache(lambda: typer.main.get_command(app))


def _misunderstood(words: list[str], variables: Mapping[str, str]) -> Iterator[str]:
    ours = {name: value for name, value in variables.items() if name.startswith("FAIRHOLD_")}
    yield from (f"there is no setting {name}" for name in ours.keys() - KNOWN)
    if Path(words[0]).name != "fairhold":
        yield f"{words[0]} is not ours"
    with mock.patch.dict(os.environ, ours, clear=True):
        try:
            group = _commands()
            with group.make_context("fairhold", words[1:], resilient_parsing=False) as context:
                name, found, rest = group.resolve_command(context, [*context._protected_args, *context.args])  # type: ignore[attr-defined]
                assert name == "serve"
                found.make_context(name, rest, parent=context)
            Settings.read()
            MessageSettings.from_environment()
        except SettingsWrong as error:
            yield str(error)
        except Exception as error:  # noqa: BLE001  # what a command says of words that it does not know
            yield f"{type(error).__name__}: {error}"


HARDENED = {
    "DynamicUser": "yes",
    "ProtectSystem": "strict",
    "ProtectHome": "yes",
    "PrivateTmp": "yes",
    "PrivateDevices": "yes",
    "NoNewPrivileges": "yes",
    "CapabilityBoundingSet": "",
    "RestrictSUIDSGID": "yes",
    "RestrictNamespaces": "yes",
    "SystemCallArchitectures": "native",
    "UMask": "0077",
    "KillSignal": "SIGTERM",
}


def the_unit_is_shut_in(root: Path) -> Iterator[str]:
    settings = unit(root)
    yield from (
        f"the unit does not say {name}={value}"
        for name, value in HARDENED.items()
        if settings.get(name) != [value]
    )
    state = f"/var/lib/{settings['StateDirectory'][0]}"
    own = dict(line.split("=", 1) for line in settings["Environment"])
    if own[DATABASE_VARIABLE] != f"sqlite:///{state}/fairhold.db" or settings["WorkingDirectory"] != [state]:
        yield "the unit's database is not in its directory"
    if not int(settings["TimeoutStopSec"][0]) > Settings(database="").graceful_stop_s:
        yield "the unit is cut off while it stops"


Check = Callable[[Path], Iterator[str]]
CHECKS: list[Check] = [
    what_is_copied_is_there,
    the_image_is_nobodys,
    containers_can_change_nothing,
    parts_fit_together,
    what_is_started_is_understood,
    the_unit_is_shut_in,
]
