"""What somebody is called: by name, else by an id that staff gave, never by one that a page made up."""

from __future__ import annotations

from fairhold.pages.forms import is_party_of_form


def name_of(party_id: str, name: str) -> str:
    """Empty for who has not said a name yet."""
    return name or ("" if is_party_of_form(party_id) else party_id)
