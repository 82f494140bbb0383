"""The templates of the pages, in a language. All that is put into them is escaped."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from fairhold.messages.languages import catalogue


@lru_cache
def environment(language: str) -> Environment:
    """What is unknown is an error, not a gap."""
    env = Environment(
        loader=PackageLoader("fairhold.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        auto_reload=False,
        extensions=["jinja2.ext.i18n"],
        trim_blocks=True,
        lstrip_blocks=True,
    )
    env.policies["ext.i18n.trimmed"] = True
    env.install_gettext_translations(catalogue(language, "fairhold.pages"), newstyle=True)  # type: ignore[attr-defined]
    return env


def render(language: str, template: str, **variables: Any) -> bytes:
    return environment(language).get_template(template).render(variables).encode()
