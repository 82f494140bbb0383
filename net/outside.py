"""Answers to programs and people outside, made comparable: codes and facts, no sentences."""

from __future__ import annotations

import json
import re
from typing import Any, Final

from net.histories import Json
from net.mapping import OUTSIDE

# Said in words, and so free to be said in others.
SENTENCES: Final = frozenset({"detail", "sentence", "reason"})
# How far the machine's clock is off, which stands still; when a loop beside has last tidied; the end of a
# key, which is drawn at random; the names of migrations, for there is one first schema now.
VOLATILE: Final = frozenset({"clock_ahead_s", "pruned_at", "hint", "applied"})
# Names of things that are drawn at random, or made of such: which one it is counts, not how it is called.
_NAMES: Final = re.compile(
    r"""\b(?:hf|fh)_[A-Za-z0-9_-]{8,}          # keys
      |\bb[0-9a-hjkmnp-tv-z]{19}[0-9a-f]*\b    # bookings, and their tokens
      |\bp[0-9a-hjkmnp-tv-z]{13}\b             # pools
      |\b[a-z]{0,3}[0-9a-f]{16,20}\b           # what staff set up, and nobodies
      |\b[0-9a-f]{32,}\b                       # digests, tokens
      |\b[2-9A-HJ-NP-Y]{6}\b                   # references
    """,
    re.VERBOSE,
)


class Renaming:
    """Numbers the random names of one tree in the order in which they are first met."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}
        self._names: dict[str, str] = {}

    def __call__(self, text: str) -> str:
        """Return a text with its random names numbered."""
        return _NAMES.sub(lambda found: self._numbered(found[0]), text)

    def all_in(self, said: Json) -> Json:
        """Return JSON with the random names in its texts numbered."""
        if isinstance(said, dict):
            return {self(name): self.all_in(said[name]) for name in sorted(said)}
        if isinstance(said, list):
            return [self.all_in(one) for one in said]
        return self(said) if isinstance(said, str) else said

    def _numbered(self, name: str) -> str:
        if name not in self._known:
            self._known[name] = f"<{len(self._known)}>"
            self._names[self._known[name]] = name
        return self._known[name]

    def translated(self, text: str, other: Renaming) -> str:
        """Return a text with the random names of another tree in place of this one's."""

        def theirs(found: re.Match[str]) -> str:
            return other._names.get(self._known.get(found[0], ""), found[0])

        return _NAMES.sub(theirs, text)


def mapped(text: str) -> str:
    """Return what the reference says as the tree would call it."""
    for theirs, ours in OUTSIDE.items():
        text = text.replace(theirs, ours)
    return text


def without_sentences(said: Json) -> Json:
    """Return the same without what is said in words."""
    if isinstance(said, dict):
        problem = "type" in said and "status" in said and "title" in said
        dropped = SENTENCES | VOLATILE | ({"title"} if problem else frozenset())
        return {name: without_sentences(value) for name, value in said.items() if name not in dropped}
    return [without_sentences(one) for one in said] if isinstance(said, list) else said


def plain_json(text: str) -> Json | None:
    """Return what a text says in JSON, without sentences; None if it is no JSON."""
    try:
        return without_sentences(json.loads(text))
    except ValueError:
        return None


def shown(said: Any) -> str:
    """Return it as text, always the same for the same."""
    return json.dumps(said, ensure_ascii=False, sort_keys=True)
