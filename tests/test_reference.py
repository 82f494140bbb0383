"""The generated pages say what the code says."""

from __future__ import annotations

from pathlib import Path

from testbed.reference import PAGES

ROOT = Path(__file__).parent.parent


def test_generated_pages_are_current() -> None:
    stale = [name for name, write in PAGES.items() if (ROOT / name).read_text() != write()]
    assert stale == [], "run `python3 dev.py docs`"
