"""Whether a pinned package is known to be unsafe: asked of OSV, the open database of vulnerabilities.

What ships with the service fails the check; what only develops it is told. Where the database cannot be
reached, a line says that nothing was checked, and nothing fails, unless FAIRHOLD_AUDIT=required. A
vulnerability that does not touch us is listed in requirements/accepted.txt, by its id and why.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import sys
import threading
import urllib.request
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parent.parent
SERVICE: Final = "https://api.osv.dev/v1/querybatch"
SHIPPED: Final = "run"
_PIN: Final = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)==([^\s;\\]+)", re.MULTILINE)
# From the first look at a name to the last byte: who has no network must not wait for lint.
PATIENCE_S: Final = 10.0

Pin = tuple[str, str]


class Unreachable(Exception):
    """The database of vulnerabilities cannot be asked."""


def main() -> int:
    requirements = ROOT / "requirements"
    shipped = set(pins((requirements / f"{SHIPPED}.txt").read_text()))
    everything = {pin for path in requirements.glob("*.txt") for pin in pins(path.read_text())}
    try:
        found = known(sorted(everything), os.environ.get("FAIRHOLD_AUDIT_URL", SERVICE))
    except Unreachable as error:
        print(f"audit: nothing was checked, for the database of vulnerabilities cannot be asked: {error}")
        return int(os.environ.get("FAIRHOLD_AUDIT") == "required")
    return told(found, shipped, accepted(requirements / "accepted.txt"), len(everything))


def pins(text: str) -> list[Pin]:
    """The packages of a file of requirements, with their versions."""
    return [(name.lower(), version) for name, version in _PIN.findall(text)]


def accepted(path: Path) -> set[str]:
    """The ids that were looked at and do not touch us."""
    lines = path.read_text().splitlines() if path.exists() else []
    return {line.split()[0] for line in lines if line.strip() and not line.startswith("#")}


def known(asked: list[Pin], service: str, patience_s: float = PATIENCE_S) -> dict[Pin, list[str]]:
    """What is known of packages, by their ids. Raises Unreachable."""
    answers: list[Any] = []

    def ask() -> None:
        try:
            answers.append(_asked(asked, service, patience_s))
        except (OSError, http.client.HTTPException, ValueError) as error:
            answers.append(error)

    # To look up a name can take longer than any patience of a connection, and cannot be told to stop.
    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    asking.join(patience_s)
    answer = answers[0] if answers else TimeoutError(f"no answer in {patience_s:.0f} s")
    if isinstance(answer, Exception):
        raise Unreachable(" ".join(str(answer).split()) or type(answer).__name__) from answer
    try:
        results = answer["results"]
        found = {
            pin: [str(it["id"]) for it in result.get("vulns") or []]
            for pin, result in zip(asked, results, strict=True)
        }
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise Unreachable("its answer is not of the form that is known") from error
    return {pin: ids for pin, ids in found.items() if ids}


def _asked(asked: list[Pin], service: str, patience_s: float) -> Any:
    queries = [{"package": {"name": name, "ecosystem": "PyPI"}, "version": it} for name, it in asked]
    body = json.dumps({"queries": queries}).encode()
    request = urllib.request.Request(service, body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=patience_s) as answer:
        return json.load(answer)


def told(found: dict[Pin, list[str]], shipped: set[Pin], fine: set[str], count: int) -> int:
    """Say it; 1 if something that ships is unsafe."""
    unsafe = 0
    for (name, version), ids in sorted(found.items()):
        left = sorted(set(ids) - fine)
        if left:
            ships = (name, version) in shipped
            unsafe |= ships
            print(f"audit: {name} {version}{'' if ships else ' (not shipped)'}: {', '.join(left)}")
    verdict = "unsafe ones among what ships" if unsafe else "none that ships is known to be unsafe"
    print(f"audit: {count} packages, {verdict}")
    return int(unsafe)


if __name__ == "__main__":
    sys.exit(main())
