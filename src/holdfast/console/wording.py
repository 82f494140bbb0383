"""The templates of the console, in a language. What it shares with the pages of people it says as they do."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

from holdfast.messages.languages import catalogue

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
        loader=ChoiceLoader([PackageLoader("holdfast.console"), PackageLoader("holdfast.pages")]),
        autoescape=True,
        undefined=StrictUndefined,
        extensions=["jinja2.ext.i18n"],
        trim_blocks=True,
        lstrip_blocks=True,
    )
    env.policies["ext.i18n.trimmed"] = True
    words = catalogue(language, "holdfast.console")
    words.add_fallback(catalogue(language, "holdfast.pages"))
    env.install_gettext_translations(words, newstyle=True)  # type: ignore[attr-defined]
    return env


def render(language: str, template: str, **variables: Any) -> bytes:
    return environment(language).get_template(template).render(variables).encode()
