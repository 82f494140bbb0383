"""What the pages say of messages is what there is."""

from __future__ import annotations

from pathlib import Path

from fairhold.messages.own_words import names
from fairhold.messages.wording import KINDS, PARTS
from fairhold.outbox import MessageSettings

DOCS = Path(__file__).parents[2] / "docs"


def test_the_guide_names_every_kind_part_and_name() -> None:
    guide = (DOCS / "howto" / "messages.md").read_text(encoding="utf-8")
    words = set(guide.replace("`", " ").replace(",", " ").replace(".", " ").split())
    assert set(KINDS) | set(PARTS) | set(names()) <= words


def test_every_setting_is_on_its_page() -> None:
    page = (DOCS / "reference" / "settings.md").read_text(encoding="utf-8")
    assert all(f"`FAIRHOLD_{name.upper()}`" in page for name in MessageSettings.__slots__)
