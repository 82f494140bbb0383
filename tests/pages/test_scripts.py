"""What the scripts of our pages do not do, although a script could."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import fairhold

FAIRHOLD = Path(fairhold.__file__).parent
SCRIPTS = sorted(FAIRHOLD.rglob("*.js"))
TEMPLATES = sorted(FAIRHOLD.rglob("*.html"))

NEVER = {
    "makes markup of text": r"(inner|outer)HTML\s*[+]?=[^=]|insertAdjacentHTML|document\.write|srcdoc",
    "runs text": r"\beval\b|new Function|set(Timeout|Interval)\(\s*[\"'`]|javascript:",
    "hears messages of other windows": r"postMessage|onmessage|[\"']message[\"']",
    "keeps something in the browser": r"localStorage|sessionStorage|indexedDB|document\.cookie",
    "writes to an object by a name from elsewhere": r"\w\[[^\]\"']*\]\s*=[^=>]|__proto__|\bprototype\b",
}
OF_EARLIER_DAYS = re.compile(r"<(object|embed|applet|param|keygen|marquee|frameset)\b", re.IGNORECASE)


@pytest.mark.parametrize("what", NEVER)
def test_no_script(what: str) -> None:
    assert len(SCRIPTS) >= 4
    for path in SCRIPTS:
        assert not re.search(NEVER[what], path.read_text(encoding="utf-8")), (path.name, what)


def test_pages_need_nothing_of_earlier_days() -> None:
    assert len(TEMPLATES) > 30
    for path in TEMPLATES:
        assert not OF_EARLIER_DAYS.search(path.read_text(encoding="utf-8")), path.name


@pytest.mark.parametrize(
    ("what", "script"),
    [
        ("makes markup of text", "it.innerHTML = name"),
        ("runs text", "setTimeout('go()', 1)"),
        ("hears messages of other windows", "addEventListener('message', it)"),
        ("keeps something in the browser", "localStorage.a = 1"),
        ("writes to an object by a name from elsewhere", "found[name] = value"),
    ],
)
def test_a_script_that_does_would_be_noticed(what: str, script: str) -> None:
    assert re.search(NEVER[what], script)
