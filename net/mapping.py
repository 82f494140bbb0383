"""Names that the tree has and the reference calls otherwise. This is the only place that says so.

Each table goes from the neutral name (see `vocabulary`) to the name in the tree. A name that is not in a
table is the same in both. A name that is in no vocabulary raises Unmapped: nothing passes unseen.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from net import vocabulary


class Unmapped(Exception):
    """A name that is neither the same in both trees nor written in the mapping."""


class Names:
    """One kind of name: neutral ones to those of a tree, and back."""

    def __init__(self, what: str, known: Collection[str], changed: Mapping[str, str] | None = None) -> None:
        self.what = what
        self.changed = dict(changed or {})
        self.used: set[str] = set()
        self._known = frozenset(known)
        self._back = {theirs: neutral for neutral, theirs in self.changed.items()}
        if strangers := set(self.changed) - self._known:
            raise Unmapped(
                f"{what}: the mapping begins from {sorted(strangers)}, which the reference has not"
            )
        if len(self._back) < len(self.changed):
            raise Unmapped(f"{what}: two names of the reference are mapped to one")

    def theirs(self, neutral: str) -> str:
        """Return the tree's name for a neutral one. Raises Unmapped."""
        if neutral not in self._known:
            raise Unmapped(f"{self.what}: {neutral!r} is no name of the reference")
        if neutral in self.changed:
            self.used.add(neutral)
        return self.changed.get(neutral, neutral)

    def neutral(self, theirs: str) -> str:
        """Return the neutral name for one that the tree has said. Raises Unmapped."""
        neutral = self._back.get(theirs, theirs)
        if neutral not in self._known or (theirs not in self._back and neutral in self.changed):
            raise Unmapped(f"{self.what}: the tree says {theirs!r}, which is not in the mapping")
        if neutral in self.changed:
            self.used.add(neutral)
        return neutral


class TreeNames:
    """The names that one tree has for everything."""

    def __init__(
        self,
        changed: Mapping[str, Mapping[str, str]] | None = None,
        extra_columns: Mapping[str, Collection[str]] | None = None,
    ) -> None:
        changed = changed or {}
        self.extra_columns = dict(extra_columns or {})
        columns = {f"columns of {table}": names for table, names in vocabulary.COLUMNS.items()}
        known: dict[str, Collection[str]] = {
            "commands": vocabulary.COMMANDS,
            "events": vocabulary.EVENTS,
            "refusals": vocabulary.REFUSALS,
            "answers": vocabulary.ANSWERS,
            "booking states": vocabulary.BOOKING_STATES,
            "opening states": vocabulary.OPENING_STATES,
            "offer outcomes": vocabulary.OFFER_OUTCOMES,
            "messages": vocabulary.MESSAGES,
            "tables": frozenset(vocabulary.COLUMNS),
            **columns,
        }
        if strangers := set(changed) - set(known):
            raise Unmapped(f"there is no kind of name called {sorted(strangers)}")
        self.kinds = {what: Names(what, names, changed.get(what)) for what, names in known.items()}

    def __getitem__(self, what: str) -> Names:
        return self.kinds[what]

    def unused(self) -> list[str]:
        """Return the entries of the mapping that nothing has asked for."""
        return [
            f"{what}: {entry}"
            for what, names in self.kinds.items()
            for entry in sorted(set(names.changed) - names.used)
        ]


# The reference is called as it is called.
REFERENCE_CHANGED: Final[Mapping[str, Mapping[str, str]]] = {}

# The tree, where it differs. Kinds: those of TreeNames. An opening that the tree stores with a state and a
# reason is "state/reason" here: see `neutral.opening_state`.
FAIRHOLD_CHANGED: Final[Mapping[str, Mapping[str, str]]] = {
    "tables": {table: f"fairhold_{table}" for table in vocabulary.COLUMNS},
}
# Columns that the tree has beside those of the reference, by the neutral name of their table.
FAIRHOLD_EXTRA_COLUMNS: Final[Mapping[str, Collection[str]]] = {}


# Outside: what the service and the command line call otherwise, as texts that are replaced in what they say.
OUTSIDE: Final[Mapping[str, str]] = {
    "holdfast": "fairhold",
    "Holdfast": "Fairhold",
    "HOLDFAST": "FAIRHOLD",
}
