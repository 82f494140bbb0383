"""A real Chromium for the tests, on any machine.

The one that FAIRHOLD_TEST_CHROMIUM names, or Playwright's own, or an installed one; else Playwright's is
downloaded; else it is installed from the system's packages. Several processes may ask at once: one fetches,
the others wait for it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

CHROMIUM_VARIABLE = "FAIRHOLD_TEST_CHROMIUM"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")
APPLICATIONS = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
)
# How each system installs, and what its packages are called: Chromium, and what Playwright's node needs.
INSTALLERS = {
    "apt-get": (["apt-get", "install", "-y", "-q", "--no-install-recommends"], "chromium", "libatomic1"),
    "dnf": (["dnf", "install", "-y", "-q"], "chromium", "libatomic"),
    "apk": (["apk", "add", "-q"], "chromium", "libatomic"),
    "pacman": (["pacman", "-S", "--noconfirm", "--quiet"], "chromium", "gcc-libs"),
}
# A Chromium that is a whole browser, not only its shell, makes a window for each page, and in it a page of
# its own for what drops down below the address: as much work as the page that is tested. A list of features
# replaces Playwright's own, so what that leaves out for the sake of steady tests is left out here, too.
FEATURES_OFF = [
    "WebUIOmniboxPopup",
    "WebUIOmniboxAimPopup",
    "WebUIOmniboxFullPopup",
    "AimEnabled",
    "AvoidCorsURLLoaderRestartOnRedirect",
    "AvoidUnnecessaryBeforeUnloadCheckSync",
    "DestroyProfileOnBrowserClose",
    "HttpsFirstBalancedModeAutoEnable",
    "HttpsUpgrades",
    "LensOverlay",
    "MediaRouter",
    "NetworkTimeServiceQuerying",
    "OptimizationHints",
    "PaintHolding",
    "PreconnectToSearch",
    "ThirdPartyStoragePartitioning",
]
ARGUMENTS = [f"--disable-features={','.join(FEATURES_OFF)}"]
DOWNLOAD_S = 300
INSTALL_S = 600


class BrowserError(Exception):
    """No Chromium could be found, downloaded or installed."""


@cache
def chromium() -> str:
    """The path of a Chromium that runs. Raises BrowserError."""
    see_to_node()
    if found := find():
        return found
    with _one_at_a_time():
        if found := find():
            return found
        for fetch in (_download, _install):
            fetch()
            if found := find():
                return found
    raise BrowserError(f"no Chromium: install one, or set {CHROMIUM_VARIABLE} to its path")


def find() -> str | None:
    """A Chromium that is there and runs."""
    named = os.environ.get(CHROMIUM_VARIABLE)
    if named:
        if not _runs(named):
            raise BrowserError(f"{CHROMIUM_VARIABLE} names {named}, which does not run")
        return named
    places = [*_playwrights(), *(shutil.which(name) for name in NAMES), *APPLICATIONS]
    return next((place for place in places if place and _runs(place)), None)


def _playwrights() -> list[str]:
    """Those that Playwright has downloaded, for whichever version; the newest first."""
    given = os.environ.get("PLAYWRIGHT_BROWSERS_PATH")
    homes = {"darwin": "Library/Caches", "win32": "AppData/Local"}
    cache_folder = Path(given) if given else Path.home() / homes.get(sys.platform, ".cache") / "ms-playwright"
    patterns = ["chromium*/*/chrome", "chromium*/*/headless_shell", "chromium*/*/chrome-headless-shell"]
    patterns += ["chromium*/*/*.exe", "chromium*/*/*.app/Contents/MacOS/*"]
    found = [path for pattern in patterns for path in cache_folder.glob(pattern)]
    return [str(path) for path in sorted(found, reverse=True)]


def _runs(path: str) -> bool:
    """Whether it can say which version it is: one whose libraries are missing cannot."""
    try:
        return subprocess.run([path, "--version"], capture_output=True, timeout=60).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def _download() -> None:
    say("downloading Chromium")
    command = [sys.executable, "-m", "playwright", "install", "--only-shell", "chromium"]
    _try(command, DOWNLOAD_S)


def _install() -> None:
    for name, (command, package, _) in INSTALLERS.items():
        if shutil.which(name):
            say(f"installing the package {package}")
            _try_as_root([*command, package], name)
            return


def see_to_node() -> None:
    """Playwright talks through a node of its own; where a library for it is missing, another node does."""
    from playwright._impl._driver import compute_driver_executable

    node = compute_driver_executable()[0]
    if "PLAYWRIGHT_NODEJS_PATH" in os.environ or _runs(node):
        return
    if installed := shutil.which("node"):
        os.environ["PLAYWRIGHT_NODEJS_PATH"] = installed
        return
    with _one_at_a_time():
        for name, (command, _, package) in INSTALLERS.items():
            if shutil.which(name) and not _runs(node):
                say(f"installing the package {package}")
                _try_as_root([*command, package], name)
    if not _runs(node):
        raise BrowserError(f"the node of Playwright does not run: {node}")


def _try_as_root(command: list[str], installer: str) -> None:
    prefix = []
    if hasattr(os, "geteuid") and os.geteuid() != 0:
        prefix = ["sudo", "-n"]
    if installer == "apt-get":
        _try([*prefix, "apt-get", "update", "-q"], INSTALL_S)
    _try([*prefix, *command], INSTALL_S)


def _try(command: list[str], limit_s: int) -> None:
    """Run it; whether it helped is seen by looking again."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=limit_s)
    except (OSError, subprocess.TimeoutExpired) as error:
        say(f"{command[0]} failed: {error}")
        return
    if done.returncode:
        say(f"{' '.join(command)} failed:\n{done.stdout.decode(errors='replace')[-1000:]}")


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    if sys.platform == "win32":
        yield
        return
    import fcntl

    with (Path(tempfile.gettempdir()) / "fairhold-test-browser.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def say(message: str) -> None:
    print(f"tests: {message}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    print(chromium())
