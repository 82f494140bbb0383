"""Templates: ours from files, those of an org from the database, all in a sandbox that can change nothing."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from jinja2 import PackageLoader, StrictUndefined, Template, select_autoescape
from jinja2.sandbox import ImmutableSandboxedEnvironment

from fairhold.messages.languages import catalogue

# Each kind of message, and to whom it goes.
KINDS: Final[Mapping[str, str]] = {
    "offer": "party",
    "confirmed": "party",
    "promoted": "party",
    "hold_ending": "party",
    "lapsed": "party",
    "attempts_used_up": "party",
    "demoted": "party",
    "put_back": "party",
    "cancelled": "party",
    "joined": "party",
    "handed_back": "staff",
    "unreachable": "staff",
}
PARTS: Final = ("subject", "body", "sms")


@lru_cache
def environment(language: str) -> ImmutableSandboxedEnvironment:
    """The sandbox in a language. HTML is escaped; what is unknown is an error, not a gap."""
    env = ImmutableSandboxedEnvironment(
        loader=PackageLoader("fairhold.messages"),
        autoescape=select_autoescape(["html"]),
        undefined=StrictUndefined,
        auto_reload=False,
        extensions=["jinja2.ext.i18n"],
    )
    env.policies["ext.i18n.trimmed"] = True
    env.install_gettext_translations(catalogue(language), newstyle=True)  # type: ignore[attr-defined]
    return env


def say(language: str, name: str, block: str, variables: Mapping[str, Any]) -> str:
    """One block of one of our templates."""
    template = environment(language).get_template(f"{name}.j2")
    return "".join(template.blocks[block](template.new_context(dict(variables)))).strip()


@lru_cache(2048)
def word(language: str, block: str, **variables: str | int) -> str:
    """One of the words that letters share. When everybody is written to, most of them are the same."""
    return say(language, "words", block, variables)


def whole(language: str, name: str, variables: Mapping[str, Any]) -> str:
    """A layout, filled in."""
    return environment(language).get_template(name).render(variables)


def said_instead(language: str, text: str, variables: Mapping[str, Any]) -> str:
    """What an org says in its own words."""
    return own(language, text).render(variables).strip()


@lru_cache(512)
def own(language: str, text: str) -> Template:
    return environment(language).from_string(text)
