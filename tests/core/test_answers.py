"""What comes back from the rules beside events: the answer to a command, and the version of a pool."""

from __future__ import annotations

from dataclasses import is_dataclass

from fairhold.core import commands as c
from fairhold.core import events as e
from fairhold.core.work import Done
from tests.core.world import ANN, BEA, one_seat, wait


def test_only_what_was_so_already_is_answered_as_repeated() -> None:
    world = one_seat().do(
        c.Book(ANN), c.Confirm(1), c.Confirm(1), wait(BEA), wait(BEA), c.Cancel(2), c.Cancel(2)
    )
    answers = [decision.answer for decision in world.decisions[1:]]
    assert all(isinstance(answer, Done) for answer in answers)
    assert [answer.repeated for answer in answers if isinstance(answer, Done)] == [
        *(False, False, True),
        *(False, True),
        *(False, True),
    ]


def test_every_change_of_a_pool_is_its_next_version() -> None:
    world = one_seat()
    first = world.view.pool.version
    world.do(c.ChangePool({"title": "Yoga"}), c.ChangePool(sizes={"main": 2}))
    assert world.view.pool.version == first + 2


def test_every_event_can_be_found_by_the_name_that_the_log_has_for_it() -> None:
    made = {it for name, it in vars(e).items() if is_dataclass(it) and not name.startswith("_")}
    events = {it for it in made if isinstance(it, type) and it.__module__ == e.__name__}
    assert set(e.KINDS.values()) == events
    assert all(kind.__name__ == name for name, kind in e.KINDS.items())
