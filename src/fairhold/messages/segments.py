"""Texts that fit one segment of SMS: 160 characters of the alphabet that every phone has.

One character outside of that alphabet would make a segment hold 70, and the text cost three.
"""

from __future__ import annotations

import unicodedata
from typing import Final

SEGMENT_MAX: Final = 160

_BASIC: Final = frozenset(
    "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    "ÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà"
)
# These take two places each.
_EXTENDED: Final = frozenset("^{}\\[~]|€\f")
_SAID_OTHERWISE: Final = {
    "–": "-",
    "—": "-",
    "‑": "-",
    "…": "...",
    "‘": "'",
    "’": "'",
    "“": '"',
    "”": '"',
    "„": '"',
    "«": '"',
    "»": '"',
    "·": "-",
    "`": "'",
    "\t": " ",
    "ł": "l",
    "Ł": "L",
    "đ": "d",
    "Đ": "D",
    "ð": "d",
    "Ð": "D",
    "þ": "th",
    "Þ": "Th",
    "œ": "oe",
    "Œ": "Oe",
    "ı": "i",
    "ẞ": "SS",
}


def length(text: str) -> int:
    """How many places of a segment a text takes. It must be in the alphabet."""
    return sum(2 if letter in _EXTENDED else 1 for letter in text)


def is_plain(text: str) -> bool:
    """Whether a text is in the alphabet."""
    return all(letter in _BASIC or letter in _EXTENDED for letter in text)


def plain(text: str) -> str:
    """The text in the alphabet: accents it lacks are dropped, and so is what cannot be written at all."""
    # Some keyboards and systems write an ä as two characters.
    whole = unicodedata.normalize("NFC", text)
    return " ".join("".join(map(_plain_letter, whole)).split())


def _plain_letter(letter: str) -> str:
    if letter in _BASIC or letter in _EXTENDED:
        return letter
    if letter in _SAID_OTHERWISE:
        return _SAID_OTHERWISE[letter]
    if letter.isspace():
        return " "
    apart = unicodedata.normalize("NFKD", letter)
    return "".join(it for it in apart if it in _BASIC)


def cut(text: str, most: int) -> str:
    """The text, shortened to so many places if need be."""
    if length(text) <= most:
        return text
    kept = text[: max(0, most - 3)]
    while kept and length(kept) > most - 3:
        kept = kept[:-1]
    return (kept.rstrip() + "...") if kept.strip() else ""
