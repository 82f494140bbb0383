"""Plays a scenario in a world, line by line, and stops at the first line where it and the facts differ."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from fairhold.testing import actions, checks
from fairhold.testing.facts import VERBS, agree, shown
from fairhold.testing.language import Line, Scenario
from fairhold.testing.stage import Stage
from fairhold.testing.world import World

_CHECKS: Final[dict[str, Callable[[Stage, Line], checks.Difference | None]]] = checks.CHECKS
_ACTIONS: Final[dict[str, Callable[[Stage, Line], None]]] = actions.ACTIONS
# What may come before there is a pool: making one, and time.
_BEFORE: Final = ("pool", "at", "after", "asleep")


def play(scenario: Scenario, world: World) -> None:
    """Raises ScenarioError at the first line that is not what happened, or cannot be understood."""
    __tracebackhide__ = True
    stage = Stage(world)
    for line in scenario.lines:
        try:
            _play_line(stage, line)
        except (ValueError, LookupError) as problem:
            what = problem.args[0] if problem.args else problem
            raise line.error(f"the line cannot be understood: {what}") from problem


def _play_line(stage: Stage, line: Line) -> None:
    __tracebackhide__ = True
    check, action = _CHECKS.get(line.verb), _ACTIONS.get(line.verb)
    if (check or action) and not stage.has_pool and line.verb not in _BEFORE:
        raise line.error("there is no pool yet: a scenario begins with a line such as pool chair main=1")
    if check:
        if line.expected is not None:
            raise line.error(f"{line.verb!r} only checks: it makes nothing happen")
        if difference := check(stage, line):
            raise line.error("this is not so", ("expected", difference.expected), ("fact", difference.fact))
        return
    if action is None:
        raise line.error(f"there is no verb {line.verb!r}")
    for text in line.expected or ():
        if text.split()[0] not in VERBS:
            raise line.error(f"nothing is ever called {text.split()[0]!r}")
    stage.begin(line)
    action(stage, line)
    _compare(stage, line)


def _compare(stage: Stage, line: Line) -> None:
    __tracebackhide__ = True
    people = [item[0] for item in line.items if item]
    if line.expected is None:
        if stage.refusal is not None:
            refused = next(fact for fact in reversed(stage.facts) if fact.verb == "refused")
            raise line.error("this was refused", ("fact", str(refused)), ("because", stage.refusal.sentence))
        return
    if not agree(stage.facts, line.expected, line.verb, people):
        named = [text.split()[0] for text in line.expected]
        counted = shown(stage.facts, named, line.verb, people)
        fact = ", ".join(map(str, counted)) or "nothing"
        raise line.error("this is not what happened", ("expected", ", ".join(line.expected)), ("fact", fact))
