"""The tests find a browser on any machine: named, there, downloaded, or installed, in this order."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from testbed import browser


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """A machine with nothing on it but what a test puts into this folder, which is its PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.delenv(browser.CHROMIUM_VARIABLE, raising=False)
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path / "downloads"))
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setattr(browser, "APPLICATIONS", ())
    monkeypatch.setattr(browser, "see_to_node", lambda: None)
    browser.chromium.cache_clear()
    yield folder
    browser.chromium.cache_clear()


def program(path: Path, script: str = "exit 0") -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def test_one_that_is_there_is_used_and_one_that_does_not_run_is_not(bare: Path) -> None:
    program(bare / "chromium", "exit 127")
    assert browser.find() is None
    there = program(bare / "google-chrome")
    assert browser.chromium() == there


def test_one_that_playwright_has_goes_before_one_of_the_system(bare: Path) -> None:
    program(bare / "chromium")
    own = program(bare.parent / "downloads" / "chromium-1200" / "chrome-linux" / "chrome")
    assert browser.find() == own


def test_one_that_is_named_is_used_or_complained_about(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(bare / "chromium")
    monkeypatch.setenv(browser.CHROMIUM_VARIABLE, program(bare.parent / "mine"))
    assert browser.find() == str(bare.parent / "mine")
    monkeypatch.setenv(browser.CHROMIUM_VARIABLE, str(bare.parent / "none"))
    with pytest.raises(browser.BrowserError, match="which does not run"):
        browser.find()


def test_where_there_is_none_one_is_downloaded(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = bare.parent / "downloads" / "chromium_headless_shell-1" / "x" / "headless_shell"
    monkeypatch.setattr(browser, "_download", lambda: program(place))
    monkeypatch.setattr(browser, "_install", lambda: pytest.fail("nothing needs to be installed"))
    assert browser.chromium() == str(place)


def test_where_the_download_fails_the_packages_of_the_system_do(
    bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(browser, "_download", lambda: browser._try(["no-such-program"], 1))
    # Without a name for itself, sudo is the next word.
    program(bare / "sudo", 'shift; exec "$@"')
    made = bare / "chromium"
    script = f'[ "$1" = install ] || exit 0\nprintf "#!/bin/sh\\n" > {made}; /bin/chmod +x {made}'
    program(bare / "apt-get", script)
    assert browser.chromium() == str(made)


def test_where_nothing_helps_it_says_what_to_do(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(browser, "_download", lambda: None)
    with pytest.raises(browser.BrowserError, match=browser.CHROMIUM_VARIABLE):
        browser.chromium()
