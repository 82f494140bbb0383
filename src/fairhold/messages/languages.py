"""The languages that messages are written in, and the catalogues with their words.

A catalogue is a gettext file; it is read when its language is first used, so nothing is shipped compiled.
"""

from __future__ import annotations

from functools import lru_cache
from gettext import GNUTranslations, NullTranslations
from importlib.resources import files
from io import BytesIO
from typing import Final

LANGUAGES: Final = ("en", "fi", "de")


def language_of(locale: str) -> str | None:
    """The language of ours that a locale such as de-AT or fi_FI asks for; None if it is none of ours."""
    language = locale.replace("_", "-").partition("-")[0].lower()
    return language if language in LANGUAGES else None


def region_of(locale: str) -> str:
    """The country in a locale, such as AT in de-AT; nothing if there is none."""
    for piece in locale.replace("_", "-").split("-")[1:]:
        if len(piece) == 2 and piece.isalpha():
            return piece.upper()
    return ""


@lru_cache
def catalogue(language: str, package: str = "fairhold.messages") -> NullTranslations:
    """The words of a language, for the templates of a package. English is what the templates say."""
    if language == "en":
        return NullTranslations()
    from babel.messages.mofile import write_mo
    from babel.messages.pofile import read_po

    compiled = BytesIO()
    with (files(package) / "catalogues" / f"{language}.po").open("rb") as file:
        write_mo(compiled, read_po(file, locale=language))
    compiled.seek(0)
    return GNUTranslations(compiled)
