"""The templates of the console, in a language. What it shares with the pages of people it says as they do."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Final

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

from fairhold.console import names
from fairhold.messages.languages import catalogue

# The files that a page of the console may link to, by the names that templates call them by.
FILES: Final = (
    "palette.css",
    "console.css",
    "records.css",
    "pages.js",
    "console.js",
    "passkeys.js",
    "icon.svg",
)


@lru_cache
def environment(language: str) -> Environment:
    """What is unknown is an error, not a gap."""
    env = Environment(
        # No template here has the name of one there: those can be imported as they are.
        loader=ChoiceLoader([PackageLoader("fairhold.console"), PackageLoader("fairhold.pages")]),
        autoescape=True,
        undefined=StrictUndefined,
        auto_reload=False,
        extensions=["jinja2.ext.i18n"],
        trim_blocks=True,
        lstrip_blocks=True,
    )
    env.policies["ext.i18n.trimmed"] = True
    env.globals["place_of"] = place_of
    env.globals["called"] = lambda party: names.name_of(party.id, party.name)
    words = catalogue(language, "fairhold.console")
    words.add_fallback(catalogue(language, "fairhold.pages"))
    env.install_gettext_translations(words, newstyle=True)  # type: ignore[attr-defined]
    return env


def place_of(refused: Any) -> dict[str, Any]:
    """Which field a refusal is about: without its numbers, the first of them from 1, the policy's field."""
    field = refused.field or ""
    number = re.search(r"\[(\d+)\]", field)
    kind = re.sub(r"\[\d+\]", "[]", field)
    return {
        "kind": kind,
        "number": int(number[1]) + 1 if number else 0,
        "condition": kind in ("quotas[].eligible", "policy.priority_rules[].when"),
        "policy": kind.removeprefix("policy.") if kind.startswith("policy.") else "",
    }


def render(language: str, template: str, **variables: Any) -> bytes:
    return environment(language).get_template(template).render(variables).encode()
