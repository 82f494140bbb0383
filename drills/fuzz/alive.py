"""What is really there: names, ids, tokens, cursors and forms, gathered from answers as they come."""

from __future__ import annotations

import json
import re
from collections import defaultdict, deque
from html.parser import HTMLParser
from random import Random
from typing import Any

KEPT_MAX = 60
OURS = ("the admin", "the staff", "the read", "the public", "Olga", "Sam", "Rita")
_TOKENS = re.compile(rb"/([boe])/([\w.~-]{16,200})")


class Alive:
    """Things by what they are called in paths, the newest of each."""

    def __init__(self) -> None:
        self._found: dict[str, deque[str]] = defaultdict(lambda: deque(maxlen=KEPT_MAX))
        self.forms: dict[str, deque[tuple[str, dict[str, str]]]] = defaultdict(lambda: deque(maxlen=3))
        # A key of the pool by which all know it, and people who come again.
        for name in ("ann", "bea", "cyd", "dee", "eli", "fay", "gus"):
            self.keep("party", name)
        for name, words in _WORDS.items():
            for word in words:
                self.keep(name, word)

    def keep(self, name: str, value: object) -> None:
        if isinstance(value, str | int) and value != "" and len(str(value)) < 300:
            known = self._found[name]
            if str(value) not in known:
                known.append(str(value))

    def one(self, name: str, dice: Random) -> str:
        known = self._found.get(name)
        return dice.choice(known) if known else name

    def hear(self, asked_path: str, body: bytes) -> None:
        """Gather what an answer of the API names."""
        try:
            said = json.loads(body)
        except ValueError:
            return
        self._hear(said, asked_path)

    def _hear(self, said: Any, path: str, depth: int = 0) -> None:
        if isinstance(said, list):
            for it in said[:20]:
                self._hear(it, path, depth + 1)
        elif isinstance(said, dict) and depth < 6:
            self._keep_all(said, path)
            for it in said.values():
                if isinstance(it, dict | list):
                    self._hear(it, path, depth + 1)

    def _keep_all(self, said: dict[str, Any], path: str) -> None:
        if "edit_token" in said:
            for name in ("id", "reference", "edit_token"):
                self.keep("booking", said.get(name))
            self.keep("edit_token", said["edit_token"])
            self.keep("after", said.get("id"))
        if "quotas" in said and "open_size" in said and "id" in said:
            self.keep("pool", said.get("key"))
            self.keep("pool", said["id"])
        if "by_units" in said:
            self.keep("quota", said.get("key"))
        if "token" in said and "seq" in said:
            self.keep("token", said["token"])
        elif "token" in said:
            self.keep("invitation", said["token"])
        for name in ("label", "cursor", "opening"):
            self.keep(name, said.get(name))
        self.keep("cursor", said.get("next"))
        # Our own keys and members stay as they are: without them there is little to see.
        if isinstance(said.get("id"), str) and not ("role" in said and said.get("name") in OURS):
            for part, name in _BY_PATH.items():
                if part in path:
                    self.keep(name, said["id"])

    def look(self, path: str, body: bytes) -> None:
        """Gather the forms and links of a page."""
        for kind, token in _TOKENS.findall(body):
            self.keep("token" if kind == b"o" else "edit_token", token.decode())
        reader = _Forms()
        reader.feed(body.decode("utf-8", "replace"))
        for action, fields in reader.forms:
            self.forms[pattern_of(action.partition("?")[0])].append((action, fields))


def pattern_of(path: str) -> str:
    """An address without its names, so that few forms of each kind are kept."""
    return re.sub(r"/[^/]*[0-9][^/]*", "/*", path)


class _Forms(HTMLParser):
    """The forms of a page that are sent, with their fields as a browser would send them."""

    def __init__(self) -> None:
        super().__init__()
        self.forms: list[tuple[str, dict[str, str]]] = []
        self._open = False
        self._select = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        at = {name: value or "" for name, value in attrs}
        if tag == "form":
            self._open = at.get("method", "get").lower() == "post"
            if self._open:
                self.forms.append((at.get("action", ""), {}))
        if not self._open or not self.forms:
            return
        fields = self.forms[-1][1]
        if tag in ("input", "textarea") and "name" in at:
            fields.setdefault(at["name"], at.get("value", ""))
        elif tag == "select":
            self._select = at.get("name", "")
        elif tag == "option" and self._select and ("selected" in at or self._select not in fields):
            fields[self._select] = at.get("value", "")
        elif tag == "button" and at.get("name"):
            fields.setdefault(at["name"], at.get("value", ""))


_WORDS = {
    "kind": ("offer", "confirmed", "promoted", "joined", "handed_back", "cancelled"),
    "language": ("en", "fi", "de"),
    "part": ("subject", "body", "sms"),
    "label": ("12A", "12B", "a"),
    "opening": ("1", "2"),
    "quota": ("main",),
    "act": ("confirm", "cancel", "extend", "offer", "move", "put-back", "decline", "role", "invite", "remove",
            "rotate", "test", "replay", "origin", "contact", "details", "events", "delete"),
    "what": ("bookings.csv", "line.csv", "x"),
    "name": ("over-time.csv", "outcomes.csv", "time-to-fill.csv", "people-asked.csv", "by-hour.csv"),
    "digest": ("x",),
}  # fmt: skip
_BY_PATH = {
    "/keys": "key",
    "/members": "member",
    "/origins": "origin",
    "messages": "message",
    "/dead-letters": "message",
    "/webhooks": "webhook",
    "/deliveries": "message",
    "/staff-contacts": "contact",
}
