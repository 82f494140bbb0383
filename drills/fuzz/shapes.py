"""Values after a schema of the document: right ones, of what is really there, and nearly right ones."""

from __future__ import annotations

import copy
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from drills.fuzz.alive import Alive
from drills.fuzz.odd import CONDITIONS, TEMPLATES, Odd

# What a field is filled with that is called so: else it would never be right.
_NAMED = {"quota": "quota", "label": "label", "after": "after", "booking": "booking"}


class Shapes:
    """Makes values for the schemas of one document."""

    def __init__(self, document: Any, alive: Alive, odd: Odd) -> None:
        self._schemas = document["components"]["schemas"]
        self._alive = alive
        self._odd = odd

    def right(self, schema: Any, dice: Random, name: str = "", depth: int = 0) -> Any:
        """A value that the schema allows, and that mostly makes sense."""
        while "$ref" in schema:
            schema = self._schemas[schema["$ref"].rpartition("/")[2]]
        if "anyOf" in schema:
            return self.right(dice.choice(schema["anyOf"]), dice, name, depth)
        if "enum" in schema:
            return dice.choice(schema["enum"])
        if "const" in schema:
            return schema["const"]
        kind = schema.get("type")
        if kind == "object":
            return self._object(schema, dice, name, depth)
        if kind == "array":
            return self._array(schema, dice, name, depth)
        if kind == "string":
            return self._text(schema, dice, name)
        if kind in ("integer", "number"):
            return self._number(schema, dice, name)
        if kind == "boolean":
            return dice.random() < 0.5
        return None if kind == "null" else self._odd.value(dice)

    def _object(self, schema: Any, dice: Random, name: str, depth: int) -> Any:
        if name in ("when", "eligible") or (name == "attributes" and dice.random() < 0.2):
            return copy.deepcopy(dice.choice(CONDITIONS[:8]))
        if name == "contacts":
            return {"email": f"{self._alive.one('party', dice)}@example.org"}
        properties = schema.get("properties")
        if properties is None:
            inner = schema.get("additionalProperties")
            known = [self._alive.one("quota", dice), "age", "location"]
            inner = inner if isinstance(inner, dict) and inner else {"type": "integer"}
            return {key: self.right(inner, dice, key, depth + 1) for key in known[: dice.randrange(4)]}
        needed = schema.get("required", [])
        # What is asked for at once is refused for one thing or another: few things get further.
        chance = 0.3 if depth == 0 else 0.2
        return {
            key: self.right(inner, dice, key, depth + 1)
            for key, inner in properties.items()
            if key in needed or dice.random() < chance
        }

    def _array(self, schema: Any, dice: Random, name: str, depth: int) -> Any:
        fewest, most = schema.get("minItems", 0), min(schema.get("maxItems", 3), 3)
        count = dice.randint(fewest, max(fewest, most))
        return [self.right(schema.get("items", {}), dice, name[:-1], depth + 1) for _ in range(count)]

    def _text(self, schema: Any, dice: Random, name: str) -> str:
        if schema.get("format") == "date-time" or name.endswith("_at") or name == "now":
            far_s = 100 if name == "now" else 10**6
            return (datetime.now(UTC) + timedelta(seconds=dice.randint(-100, far_s))).isoformat()
        if "pattern" in schema:
            return _matching(schema["pattern"], dice)
        if name in ("text", "subject", "body", "sms"):
            return dice.choice(TEMPLATES)
        if name in _NAMED and dice.random() < 0.8:
            return self._alive.one(_NAMED[name], dice)
        if name in ("id", "party"):
            return self._alive.one("party", dice)
        if name in ("time_zone", "url", "email", "origin", "address", "locale"):
            return _KNOWN[name][dice.randrange(len(_KNOWN[name]))]
        length = max(schema.get("minLength", 0), dice.choice((0, 1, 5, 20)))
        return "Ann and Bea go to the old mill today "[:length].ljust(schema.get("minLength", 0), "x")

    def _number(self, schema: Any, dice: Random, name: str) -> int:
        if name == "advance_s":
            return dice.randrange(100)
        low, high = schema.get("minimum", 0), schema.get("maximum", 100)
        few = min(high, low + dice.randrange(5))
        return int(dice.choice((low, few, few, high)))

    def wrong(self, value: Any, dice: Random) -> Any:
        """Nearly the same value: one to three things in it are not as they should be."""
        value = copy.deepcopy(value)
        for _ in range(dice.choice((1, 1, 1, 2, 3))):
            value = self._hurt(value, dice)
        return value

    def _hurt(self, value: Any, dice: Random) -> Any:
        if isinstance(value, dict) and value and dice.random() < 0.9:
            key = dice.choice(list(value))
            way = dice.random()
            if way < 0.6:
                value[key] = self._hurt(value[key], dice)
            elif way < 0.75:
                del value[key]
            elif way < 0.9:
                value[self._odd.name(dice)] = self._odd.value(dice)
            else:
                value[key] = self._odd.value(dice)
            return value
        if isinstance(value, list) and value and dice.random() < 0.8:
            at = dice.randrange(len(value))
            if dice.random() < 0.2:
                return value * dice.choice((2, 5, 250))
            value[at] = self._hurt(value[at], dice)
            return value
        if isinstance(value, str) and dice.random() < 0.5:
            return self._odd.text(dice)
        return self._odd.value(dice)


_KNOWN = {
    "time_zone": ("Europe/Helsinki", "UTC", "America/New_York"),
    "url": ("http://127.0.0.1:9/hook", "https://example.org/hook"),
    "email": ("olga@example.org", "sam@example.org", "new@example.org"),
    "origin": ("https://example.org", "https://shop.example"),
    "address": ("ann@example.org", "+358401234567", "json://localhost"),
    "locale": ("en", "fi", "de", ""),
}


def _matching(pattern: str, dice: Random) -> str:
    """A text for one of the few patterns that the document has."""
    if "[A-Z]{3}" in pattern:
        return dice.choice(("EUR", "JPY", "KWD"))
    if "smhd" in pattern:
        return dice.choice(("1s", "2s", "15m", "24h", "2d"))
    if ":" in pattern:
        return dice.choice(("22:00-07:30", "00:00-00:00"))
    return dice.choice(("yoga", "gala", "meal", "diet")) + str(dice.randrange(1_000))
