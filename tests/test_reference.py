"""The generated pages say what the code says."""

from __future__ import annotations

import inspect
import re
from dataclasses import fields
from pathlib import Path

import pytest

from fairhold import Fairhold
from fairhold.client import AsyncClient
from fairhold.http.settings import Settings
from fairhold.outbox import MessageSettings
from testbed import client_reference, library_reference, settings_reference
from testbed.reference import PAGES
from testbed.settings_reference import variable

ROOT = Path(__file__).parent.parent


def test_generated_pages_are_current() -> None:
    stale = [name for name, write in PAGES.items() if (ROOT / name).read_text() != write()]
    assert stale == [], "run `python3 dev.py docs`"


def test_every_method_of_the_library_stands_on_its_page_once(monkeypatch: pytest.MonkeyPatch) -> None:
    page = (ROOT / "docs/reference/library.md").read_text(encoding="utf-8")
    methods = page.partition("## What comes back")[0]
    public = [name for name, it in inspect.getmembers(Fairhold, callable) if not name.startswith("_")]
    assert sorted([*re.findall(r"^### (\w+)$", methods, re.MULTILINE), "submit"]) == sorted(public)
    monkeypatch.setattr(Fairhold.claim, "__doc__", None)
    with pytest.raises(AssertionError, match=r"PeopleCommands\.claim says nothing of itself"):
        library_reference.library_reference()


def test_every_method_of_the_client_stands_on_its_page_once(monkeypatch: pytest.MonkeyPatch) -> None:
    page = (ROOT / "docs/reference/client.md").read_text(encoding="utf-8")
    methods = page.partition("## What comes back")[0]
    public = [name for name, it in inspect.getmembers(AsyncClient, callable) if not name.startswith("_")]
    assert sorted(re.findall(r"^### (\w+)$", methods, re.MULTILINE)) == sorted(public)
    monkeypatch.setattr(AsyncClient.claim, "__doc__", None)
    with pytest.raises(AssertionError, match=r"BookingMethods\.claim says nothing of itself"):
        client_reference.client_reference()


def test_what_the_library_has_and_the_client_has_not_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    page = (ROOT / "docs/reference/client.md").read_text(encoding="utf-8")
    named = re.findall(r"^\| `(\w+)` \|", page.partition("## What the library has")[2], re.MULTILINE)
    missing = {name for name, it in inspect.getmembers(Fairhold, callable) if not hasattr(AsyncClient, name)}
    assert sorted(named) == sorted(name for name in missing if not name.startswith("_") and name != "submit")
    monkeypatch.delitem(client_reference.INSTEAD, "totals")
    with pytest.raises(KeyError, match="totals"):
        client_reference.client_reference()


def settings_that_are_read() -> set[str]:
    """Every name of a setting in the source, and those that are made from the names of fields."""
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py")]
    named = {name for source in sources for name in re.findall(r"\bFAIRHOLD_[A-Z][A-Z_]*[A-Z]\b", source)}
    return named | {variable(it.name) for kind in (Settings, MessageSettings) for it in fields(kind)}


def settings_on(page: str) -> list[str]:
    return re.findall(r"^\| `(FAIRHOLD_[A-Z_]+)` \|", page, re.MULTILINE)


def test_every_setting_that_is_read_stands_on_the_page_once() -> None:
    page = (ROOT / "docs/reference/settings.md").read_text(encoding="utf-8")
    assert sorted(settings_on(page)) == sorted(settings_that_are_read())


def test_a_setting_that_nobody_explains_or_files_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings_reference, "SECTIONS", {"The database": ("database",)})
    with pytest.raises(AssertionError, match="these settings belong to no section: schema, secret, host"):
        settings_reference.settings_reference()
    read = inspect.getsource
    monkeypatch.setattr(inspect, "getsource", lambda it: read(it).replace('"""The port to listen at."""', ""))
    with pytest.raises(KeyError, match="port"):
        settings_reference.meanings()
