"""Whether the answers of those who sign up are answers to what their pool asks: see `fairhold.questions`.

Law: answers decide nothing. Neither seats nor order depend on them, and no log keeps them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from fairhold.core.refusals import Refusal, invalid

TEXT_MAX: Final = 2_000

Question = Mapping[str, Any]


def wrong_answer(questions: Sequence[Question], answers: Mapping[str, Any]) -> Refusal | None:
    """The first thing wrong with these answers. Where nothing is asked, anything may be said."""
    if not questions:
        return None
    known = {question.get("key") for question in questions}
    for key in answers:
        if key not in known:
            return invalid(f"answers.{key}", f"There is no question {key!r} here.")
    for question in questions:
        if problem := problem_of(question, answers.get(question["key"])):
            return invalid(f"answers.{question['key']}", f"{question['title']}: {_SENTENCES[problem]}")
    return None


def problem_of(question: Question, answer: object) -> str:
    """What is wrong with one answer: missing, not_text, too_long, not_offered, not_yes_or_no, not_a_number,
    too_small or too_large; nothing if it is fine."""
    unticked = answer is False and question["kind"] == "checkbox"
    if answer is None or unticked or (isinstance(answer, str) and not answer.strip()):
        return "missing" if question["required"] else ""
    return _CHECKS[question["kind"]](question, answer)


def _text(question: Question, answer: object) -> str:
    if not isinstance(answer, str):
        return "not_text"
    return "too_long" if len(answer) > TEXT_MAX else ""


def _choice(question: Question, answer: object) -> str:
    return "" if isinstance(answer, str) and answer in question["choices"] else "not_offered"


def _checkbox(question: Question, answer: object) -> str:
    return "" if isinstance(answer, bool) else "not_yes_or_no"


def _number(question: Question, answer: object) -> str:
    if not is_number(answer):
        return "not_a_number"
    value: Any = answer
    if question.get("min") is not None and value < question["min"]:
        return "too_small"
    return "too_large" if question.get("max") is not None and value > question["max"] else ""


def is_number(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return value == value and abs(value) <= 10**15


_CHECKS: Final[Mapping[str, Callable[[Question, object], str]]] = {
    "text": _text,
    "choice": _choice,
    "checkbox": _checkbox,
    "number": _number,
}

_SENTENCES: Final[Mapping[str, str]] = {
    "missing": "this must be answered.",
    "not_text": "the answer must be text.",
    "too_long": f"the answer must have at most {TEXT_MAX} characters.",
    "not_offered": "the answer must be one of the choices.",
    "not_yes_or_no": "the answer must be true or false.",
    "not_a_number": "the answer must be a number.",
    "too_small": "the number is too small.",
    "too_large": "the number is too large.",
}
