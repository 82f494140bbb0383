"""A pool's questions through the library: kept with the pool, and answers are held to them."""

from __future__ import annotations

from typing import Any

from fairhold import granted
from fairhold.core.refusals import Refusal
from tests.database import opened

MEAL: dict[str, Any] = {
    "key": "meal",
    "title": "Meal",
    "kind": "choice",
    "choices": ["fish", "beans"],
    "required": True,
}


async def test_answers_are_held_to_the_questions_of_their_pool(database_url: str) -> None:
    async with opened(database_url) as hf:
        await hf.create_pool("gala", preset="event_signup", quotas={"main": 1}, questions=[MEAL])
        ann = granted(await hf.book("gala", "ann"))
        refused = await hf.change_booking(ann.id, answers={"meal": "beef"})
        assert isinstance(refused, Refusal)
        assert (refused.code, refused.field) == ("invalid", "answers.meal")
        assert granted(await hf.booking(ann.id)).answers == {}
        granted(await hf.change_booking(ann.id, answers={"meal": "fish"}))
        assert granted(await hf.booking(ann.id)).answers == {"meal": "fish"}
        # What is not said stays, though the pool asks for it.
        granted(await hf.change_booking(ann.id, name="Ann"))


async def test_questions_change_with_their_pool(database_url: str) -> None:
    async with opened(database_url) as hf:
        made = granted(await hf.create_pool("gala", preset="event_signup", quotas={"main": 1}))
        assert (made.questions, made.page) == ((), True)
        granted(await hf.change_pool("gala", questions=[MEAL], page=False))
        pool = granted(await hf.pool("gala"))
        assert [question["key"] for question in pool.questions] == ["meal"]
        assert not pool.page
        refused = await hf.change_pool("gala", questions=[{"key": "meal"}])
        assert isinstance(refused, Refusal)
        assert refused.field == "questions[0].title"
        assert granted(await hf.pool("gala")).questions == pool.questions
        refused = await hf.change_pool("gala", page="no")
        assert isinstance(refused, Refusal)
        assert refused.field == "page"
