"""A reader of the site finds every page: in its navigation, and by links that lead somewhere."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)\s]+))?\)")
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)


def navigation() -> dict[str, Any]:
    site = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))
    return {"Site": site["project"]["nav"]}


def pages_of(entry: Any) -> Iterator[str]:
    """The pages of a part of the navigation, in order."""
    if isinstance(entry, str):
        yield entry
    for part in entry if isinstance(entry, list) else entry.values() if isinstance(entry, dict) else ():
        yield from pages_of(part)


def test_every_page_is_in_the_navigation_once() -> None:
    there = [path.relative_to(DOCS) for path in DOCS.rglob("*.md")]
    named = [str(path) for path in there if path.parts[0] not in ("decisions", "evidence")]
    assert sorted(pages_of(navigation())) == sorted([*named, "decisions/index.md"])


def test_the_first_page_leads_to_every_other() -> None:
    linked = [target for target, _ in LINK.findall((DOCS / "index.md").read_text(encoding="utf-8"))]
    assert sorted({*linked, "index.md"}) == sorted(pages_of(navigation()))


def dead_links(root: Path) -> list[str]:
    """Links to files that are not there, and to headings that are not in them."""
    dead = []
    for page in (*root.glob("*.md"), *(root / "docs").rglob("*.md"), *(root / "examples").glob("*.md")):
        for target, heading in LINK.findall(CODE.sub("", page.read_text(encoding="utf-8"))):
            found = (page.parent / target).resolve() if target else page
            wrong = not found.exists() or (heading and heading not in headings(found))
            if "://" not in target and wrong:
                dead.append(f"{page.relative_to(root)}: {target}{'#' if heading else ''}{heading}")
    return dead


def headings(page: Path) -> set[str]:
    """The names of a page's headings, as links call them."""
    text = page.read_text(encoding="utf-8")
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return set(re.findall(r'<a id="([^"]+)">', text)) | {
        re.sub(r"[^\w\s-]", "", title).strip().lower().replace(" ", "-") for title in titles
    }


def test_no_link_leads_nowhere() -> None:
    assert dead_links(ROOT) == []


def test_no_link_of_the_site_leads_out_of_it() -> None:
    """It is built of docs/ alone."""
    for page in DOCS.rglob("*.md"):
        for target, _ in LINK.findall(CODE.sub("", page.read_text(encoding="utf-8"))):
            there = (page.parent / target).resolve()
            assert "://" in target or there.is_relative_to(DOCS), f"{page.name}: {target}"


def test_every_decision_begins_with_its_number() -> None:
    for path in (DOCS / "decisions").glob("0*.md"):
        assert path.read_text(encoding="utf-8").startswith(f"# {int(path.name[:4])}. "), path.name


def test_a_link_that_leads_nowhere_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/index.md").write_text("# Here it is\n[a](#here-it-is) [b](gone.md) `[c](code.md)`")
    (tmp_path / "README.md").write_text("[d](docs/index.md#there) [e](docs) [f](https://example.org/g)")
    assert dead_links(tmp_path) == ["README.md: docs/index.md#there", "docs/index.md: gone.md"]
