"""What a pool may ask, and what counts as an answer."""

from __future__ import annotations

from typing import Any

import pytest

from fairhold.core.answers import problem_of, wrong_answer
from fairhold.core.refusals import Refusal
from fairhold.questions import checked

ASKED: list[dict[str, Any]] = [
    {"key": "diet", "title": "What do you not eat?"},
    {"key": "meal", "title": "Meal", "kind": "choice", "choices": ["fish", "beans"], "required": True},
    {"key": "rules", "title": "I know the rules", "kind": "checkbox", "required": True},
    {"key": "age", "title": "Age", "kind": "number", "min": 18, "max": 99},
]
FINE = {"meal": "fish", "rules": True}


def questions() -> tuple[dict[str, Any], ...]:
    found = checked(ASKED)
    assert not isinstance(found, Refusal)
    return found


def test_a_question_is_told_with_every_field_of_its_kind() -> None:
    diet, meal, _, age = questions()
    assert diet == {
        "key": "diet",
        "kind": "text",
        "title": "What do you not eat?",
        "required": False,
        "help": "",
    }
    assert meal["choices"] == ["fish", "beans"]
    assert (age["min"], age["max"]) == (18, 99)
    assert checked(questions()) == questions()


@pytest.mark.parametrize(
    ("question", "field"),
    [
        ("diet", "questions[0]"),
        ({"title": "Diet"}, "questions[0].key"),
        ({"key": "Diet", "title": "Diet"}, "questions[0].key"),
        ({"key": "diet"}, "questions[0].title"),
        ({"key": "diet", "title": " "}, "questions[0].title"),
        ({"key": "diet", "title": "x" * 501}, "questions[0].title"),
        ({"key": "diet", "title": "Diet", "kind": "date"}, "questions[0].kind"),
        ({"key": "diet", "title": "Diet", "required": 1}, "questions[0].required"),
        ({"key": "diet", "title": "Diet", "choices": ["a", "b"]}, "questions[0].choices"),
        ({"key": "diet", "title": "Diet", "kind": "choice"}, "questions[0].choices"),
        ({"key": "diet", "title": "Diet", "kind": "choice", "choices": ["a"]}, "questions[0].choices"),
        ({"key": "diet", "title": "Diet", "kind": "choice", "choices": ["a", "a"]}, "questions[0].choices"),
        ({"key": "diet", "title": "Diet", "kind": "choice", "choices": ["a", ""]}, "questions[0].choices"),
        ({"key": "diet", "title": "Diet", "kind": "number", "min": "1"}, "questions[0].min"),
        ({"key": "diet", "title": "Diet", "kind": "number", "min": 2, "max": 1}, "questions[0].max"),
        ({"key": "diet", "title": "Diet", "kind": "number", "max": float("nan")}, "questions[0].max"),
    ],
)
def test_what_is_no_question_is_refused_by_its_field(question: object, field: str) -> None:
    found = checked([question])
    assert isinstance(found, Refusal)
    assert (found.code, found.field) == ("invalid", field)


def test_two_questions_with_one_key_are_refused() -> None:
    found = checked([ASKED[0], ASKED[0]])
    assert isinstance(found, Refusal)
    assert found.field == "questions[1].key"


@pytest.mark.parametrize(
    ("answers", "field"),
    [
        ({"meal": "fish"}, "answers.rules"),
        ({"rules": True}, "answers.meal"),
        (FINE | {"rules": False}, "answers.rules"),
        (FINE | {"rules": "yes"}, "answers.rules"),
        (FINE | {"meal": "beef"}, "answers.meal"),
        (FINE | {"meal": ["fish"]}, "answers.meal"),
        (FINE | {"diet": 7}, "answers.diet"),
        (FINE | {"diet": False}, "answers.diet"),
        (FINE | {"diet": "x" * 2001}, "answers.diet"),
        (FINE | {"age": 17}, "answers.age"),
        (FINE | {"age": 100}, "answers.age"),
        (FINE | {"age": True}, "answers.age"),
        (FINE | {"age": "20"}, "answers.age"),
        (FINE | {"shoes": 44}, "answers.shoes"),
    ],
)
def test_a_wrong_answer_is_refused_by_its_question(answers: dict[str, Any], field: str) -> None:
    found = wrong_answer(questions(), answers)
    assert found is not None
    assert (found.code, found.field) == ("invalid", field)


@pytest.mark.parametrize(
    "answers",
    [
        FINE,
        FINE | {"diet": ""},
        FINE | {"diet": None},
        FINE | {"diet": "nuts", "age": 18},
        FINE | {"age": 20.5},
    ],
)
def test_answers_that_are_fine_pass(answers: dict[str, Any]) -> None:
    assert wrong_answer(questions(), answers) is None


def test_where_nothing_is_asked_anything_may_be_said() -> None:
    assert wrong_answer((), {"shoes": 44}) is None


def test_what_is_blank_is_missing_only_where_it_must_be_answered() -> None:
    diet, meal, rules, _ = questions()
    assert problem_of(diet, " ") == ""
    assert problem_of(meal, " ") == "missing"
    assert problem_of(rules, False) == "missing"
