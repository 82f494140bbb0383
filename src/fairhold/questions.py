"""What a pool asks of those who sign up. Whether an answer is one is a rule: see `core.answers`.

Law: a question is plain data with these fields and no others, so that whoever shows it needs no more rules:

    key        its name in the answers: small letters, digits, - and _
    kind       text, choice, checkbox or number
    title      what people read
    required   whether it must be answered; a checkbox that is required must be ticked
    help       a sentence more, for those who wonder
    choices    of a choice: what can be chosen
    min, max   of a number: from and to
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from fairhold.core.answers import Question, is_number
from fairhold.core.refusals import Refusal, invalid

KINDS: Final = ("text", "choice", "checkbox", "number")
QUESTIONS_MAX: Final = 50
CHOICES_MAX: Final = 100
_KEY: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,49}")
_FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "text": (),
    "choice": ("choices",),
    "checkbox": (),
    "number": ("min", "max"),
}


def checked(questions: object) -> tuple[dict[str, Any], ...] | Refusal:
    """The questions with every field of their kind, or the first thing wrong with them."""
    if not isinstance(questions, list | tuple) or len(questions) > QUESTIONS_MAX:
        return invalid("questions", f"questions must be a list of at most {QUESTIONS_MAX} questions.")
    found: list[dict[str, Any]] = []
    for index, question in enumerate(questions):
        where = f"questions[{index}]"
        if refused := _wrong(question, where):
            return refused
        if any(other["key"] == question["key"] for other in found):
            return invalid(f"{where}.key", "Each question needs a key of its own.")
        found.append(_whole(question))
    return tuple(found)


def _wrong(question: object, where: str) -> Refusal | None:
    if not isinstance(question, Mapping):
        return invalid(where, "A question is an object.")
    kind = question.get("kind", "text")
    if kind not in KINDS:
        return invalid(f"{where}.kind", f"kind must be one of: {', '.join(KINDS)}.")
    for name in question:
        if name not in ("key", "kind", "title", "required", "help", *_FIELDS[kind]):
            return invalid(f"{where}.{name}", f"A question of the kind {kind} has no field {name!r}.")
    key = question.get("key")
    if not isinstance(key, str) or not _KEY.fullmatch(key):
        return invalid(f"{where}.key", "A key has 1 to 50 small letters, digits, - and _.")
    for name, empty in (("title", False), ("help", True)):
        text = question.get(name, "")
        if not isinstance(text, str) or len(text) > 500 or not (text.strip() or empty):
            return invalid(f"{where}.{name}", f"{name} must be text of at most 500 characters.")
    if not isinstance(question.get("required", False), bool):
        return invalid(f"{where}.required", "required must be true or false.")
    return _wrong_choices(question, where) if kind == "choice" else _wrong_limits(question, where)


def _wrong_choices(question: Question, where: str) -> Refusal | None:
    choices = question.get("choices")
    fine = isinstance(choices, list | tuple) and 2 <= len(choices) <= CHOICES_MAX
    if not fine or any(not isinstance(it, str) or not it.strip() or len(it) > 200 for it in choices or ()):
        return invalid(f"{where}.choices", f"A choice needs 2 to {CHOICES_MAX} choices, each a text.")
    if len(set(choices or ())) != len(choices or ()):
        return invalid(f"{where}.choices", "Each choice can be there once.")
    return None


def _wrong_limits(question: Question, where: str) -> Refusal | None:
    for name in ("min", "max"):
        limit = question.get(name)
        if limit is not None and not is_number(limit):
            return invalid(f"{where}.{name}", f"{name} must be a number.")
    least, most = question.get("min"), question.get("max")
    if least is not None and most is not None and least > most:
        return invalid(f"{where}.max", "max must not be smaller than min.")
    return None


def _whole(question: Question) -> dict[str, Any]:
    kind = question.get("kind", "text")
    whole: dict[str, Any] = {"key": question["key"], "kind": kind, "title": question["title"]}
    whole |= {"required": question.get("required", False), "help": question.get("help", "")}
    if kind == "choice":
        whole["choices"] = list(question["choices"])
    return whole | {name: question.get(name) for name in _FIELDS[kind] if name != "choices"}
