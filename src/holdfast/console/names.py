"""What somebody is called: by name, else by an id that staff gave, never by one that a page made up."""

from __future__ import annotations

import re
from typing import Final

# The page where people sign up makes one for each form.
_MADE_UP: Final = re.compile(r"web-[0-9a-f]{24}")


def name_of(party_id: str, name: str) -> str:
    """Empty for who has not said a name yet."""
    return name or ("" if _MADE_UP.fullmatch(party_id) else party_id)
