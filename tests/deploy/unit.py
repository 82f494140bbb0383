"""systemd's unit as systemd reads it, for where there is none: sections, their keys, and what they may say.

The keys are those of systemd.unit(5), systemd.service(5), systemd.exec(5) and systemd.kill(5) that we use.
One that is not here is misspelt, in the wrong section, or new: then it is looked up there, and added.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_YES: Final = "yes|no"
_PATH: Final = r"/[\w./-]*"
_UNITS: Final = r"[\w@-]+\.(service|target|socket)( [\w@-]+\.(service|target|socket))*"
_NUMBER: Final = r"\d+"
_CALLS: Final = r"~?@[a-z-]+( @[a-z-]+)*"
_FAMILIES: Final = r"AF_[A-Z0-9]+( AF_[A-Z0-9]+)*"

KNOWN: Final[dict[str, dict[str, str]]] = {
    "Unit": {"Description": ".+", "After": _UNITS, "Wants": _UNITS},
    "Service": {
        "Type": "exec", "ExecStart": rf"{_PATH} \w[\w -]*", "Environment": r"[A-Z_]+=\S+",
        "EnvironmentFile": rf"-?{_PATH}", "Restart": "always", "RestartSec": _NUMBER,
        "KillSignal": "SIG[A-Z]+",
        "KillMode": "mixed|control-group", "TimeoutStopSec": _NUMBER, "User": r"[a-z][\w-]*",
        "DynamicUser": _YES, "StateDirectory": r"[\w-]+", "StateDirectoryMode": "0[0-7]{3}",
        "WorkingDirectory": _PATH, "UMask": "0[0-7]{3}", "ProtectSystem": "strict|full|yes|no",
        "ProtectHome": "yes|no|read-only|tmpfs", "PrivateTmp": _YES, "PrivateDevices": _YES,
        "ProtectProc": "invisible|noaccess|ptraceable|default", "ProcSubset": "pid|all", "ProtectClock": _YES,
        "ProtectHostname": _YES, "ProtectKernelLogs": _YES, "ProtectKernelModules": _YES,
        "ProtectKernelTunables": _YES, "ProtectControlGroups": _YES, "RemoveIPC": _YES,
        "NoNewPrivileges": _YES, "CapabilityBoundingSet": r"(CAP_\w+( CAP_\w+)*)?",
        "AmbientCapabilities": r"(CAP_\w+( CAP_\w+)*)?", "RestrictSUIDSGID": _YES,
        "RestrictNamespaces": _YES, "RestrictRealtime": _YES, "LockPersonality": _YES,
        "RestrictAddressFamilies": _FAMILIES, "SystemCallArchitectures": "native",
        "SystemCallFilter": _CALLS, "SystemCallErrorNumber": "E[A-Z]+", "LimitNOFILE": _NUMBER,
    },
    "Install": {"WantedBy": _UNITS},
}  # fmt: skip
# These add up when they are said again; of all others only the last would count.
LISTS: Final = frozenset({"Environment", "EnvironmentFile", "SystemCallFilter", "After", "Wants"})
# What leaves nothing open that the service does not need; by systemd's own measure this is what counts most.
SHUT: Final = {
    "DynamicUser": "yes", "ProtectSystem": "strict", "ProtectHome": "yes", "PrivateTmp": "yes",
    "PrivateDevices": "yes", "ProtectProc": "invisible", "ProcSubset": "pid", "ProtectClock": "yes",
    "ProtectHostname": "yes", "ProtectKernelLogs": "yes", "ProtectKernelModules": "yes",
    "ProtectKernelTunables": "yes", "ProtectControlGroups": "yes", "NoNewPrivileges": "yes",
    "CapabilityBoundingSet": "", "AmbientCapabilities": "", "RestrictSUIDSGID": "yes",
    "RestrictNamespaces": "yes", "RestrictRealtime": "yes", "LockPersonality": "yes",
    "RestrictAddressFamilies": "AF_INET AF_INET6 AF_UNIX", "SystemCallArchitectures": "native",
    "UMask": "0077",
}  # fmt: skip


def complaints(text: str) -> Iterator[str]:
    """What systemd would not understand, or would take for less than was meant."""
    section, said = "", dict[str, dict[str, str]]()
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith(("#", ";")):
            continue
        if found := re.fullmatch(r"\[(\w+)\]", line):
            section = found[1]
            if section not in KNOWN or section in said:
                yield f"line {number}: there is no section [{section}], or it is there already"
            said[section] = {}
            continue
        name, equals, value = line.partition("=")
        form = KNOWN.get(section, {}).get(name)
        if not equals or form is None:
            yield f"line {number}: [{section}] has no {name!r}"
        elif not re.fullmatch(form, value):
            yield f"line {number}: {name} cannot be {value!r}"
        elif name in said[section] and name not in LISTS:
            yield f"line {number}: {name} is said twice"
        else:
            said[section][name] = value
    yield from (f"there is no section [{name}]" for name in KNOWN.keys() - said.keys())
    service = said.get("Service", {})
    yield from (
        f"{name} leaves more open than {value!r}"
        for name, value in SHUT.items()
        if service.get(name) != value
    )
    if "~@privileged @resources" not in text or "SystemCallFilter=@system-service" not in text:
        yield "the calls of the system are not kept to those of a service"
