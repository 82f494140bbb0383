"""The people of the demo. They are invented, and so are their addresses."""

from __future__ import annotations

from typing import Any, Final

NAMES: Final = (
    *("Ann", "Bea", "Cyd", "Dan", "Eve", "Fay", "Gus", "Hal", "Ivy", "Jon", "Kai", "Liv", "Max", "Nia"),
    *("Oli", "Pia", "Ray", "Sue", "Tom", "Uma", "Vic", "Wes", "Xia", "Yan", "Zoe"),
)
HONOURS: Final = frozenset({"Cyd", "Kai", "Vic"})
MEMBER: Final = ("quinn@example.org", "Quinn")
COLLEAGUE: Final = ("rob@example.org", "Rob")
# Whatever is sent to these comes back.
BOUNCES: Final = frozenset({"vic@example.org", "xia@example.org"})
_SPEAKS: Final = {"Kai": "fi", "Uma": "de"}


def party(name: str) -> dict[str, Any]:
    assert name in NAMES, f"{name} is not in the cast"
    return {
        "id": name.lower(),
        "name": name,
        "contacts": {"email": f"{name.lower()}@example.org"},
        "tags": ["honours"] if name in HONOURS else [],
        "locale": _SPEAKS.get(name, "en"),
    }
