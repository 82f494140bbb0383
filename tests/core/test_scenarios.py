"""Every scenario, played on the bare rules; and the reader itself, which must notice what is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairhold.core.model import WAITING
from fairhold.testing import CoreWorld, Scenario, ScenarioError, play, read
from fairhold.testing.actions import ACTIONS
from fairhold.testing.checks import CHECKS

ROOT = Path(__file__).parent.parent.parent
FOLDER = Path(__file__).parent / "scenarios"
SCENARIOS = [
    pytest.param(scenario, id=f"{path.stem}: {scenario.name}")
    for path in sorted(FOLDER.glob("*.txt"))
    for scenario in read(path.read_text(encoding="utf-8"), f"tests/core/scenarios/{path.name}")
]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_scenario(scenario: Scenario) -> None:
    play(scenario, CoreWorld())


def test_the_examples_in_the_style_guide_are_true() -> None:
    blocks = (ROOT / "STYLE.md").read_text(encoding="utf-8").split("```")[1::2]
    examples = [scenario for block in blocks if block.startswith("\npool") for scenario in read(block[1:])]
    assert examples
    for scenario in examples:
        play(scenario, CoreWorld())


def test_there_are_scenarios_and_their_names_are_their_own() -> None:
    names = [param.id for param in SCENARIOS]
    assert len(names) > 200
    assert len(set(names)) == len(names)


def complaint(text: str) -> str:
    """What the reader says of a text that is wrong somewhere."""
    with pytest.raises(ScenarioError) as raised:
        play(read(text, "chair.txt")[0], CoreWorld())
    return str(raised.value)


CHAIR = """\
pool chair main=1 preset=last_minute
book Olga
wait Ann, Bea
"""


def test_a_wrong_expectation_is_reported_on_its_line_with_the_fact() -> None:
    assert complaint(CHAIR + "cancel Olga -> offered Bea") == (
        "chair.txt:4: this is not what happened\n"
        "  4 | cancel Olga -> offered Bea\n"
        "    = expected: offered Bea\n"
        "    =     fact: offered Ann #1"
    )


def test_a_wrong_check_is_reported_on_its_line_with_the_fact() -> None:
    assert complaint(CHAIR + "line Bea, Ann") == (
        "chair.txt:4: this is not so\n  4 | line Bea, Ann\n    = expected: Bea, Ann\n    =     fact: Ann, Bea"
    )


def test_an_unexpected_refusal_is_reported_with_its_sentence() -> None:
    assert complaint("pool flight main=1 preset=checkout\nbook Ann x2") == (
        "chair.txt:2: this was refused\n"
        "  2 | book Ann x2\n"
        "    =    fact: refused not_enough_room quantity\n"
        "    = because: Not enough seats available. Requested: 2, Available: 1"
    )


@pytest.mark.parametrize(
    ("line", "fact"),
    [
        ("cancel Olga -> nothing", "cancelled Olga, offered Ann #1"),
        ("cancel Olga -> offered Ann, offered Bea", "offered Ann #1"),
        ("cancel Olga -> cancelled Olga", "cancelled Olga, offered Ann #1"),
        ("cancel Olga -> offered Ann #2", "offered Ann #1"),
        ("cancel Olga -> offered Ann, opening", "opening main, offered Ann #1"),
        ("cancel Olga -> refused not_possible", "offered Ann #1"),
        ("claim Ann -> refused offer_expired", "refused unknown offer"),
        ("after 15m -> offered Ann, expired Olga", "expired Olga, offered Ann #1"),
        ("after 24h -> nothing", "expired Olga, offered Ann #1, lapsed Ann, offered Bea #2, lapsed Bea,"),
        ("book Cyd -> held Cyd", "joined Cyd #3 main"),
        ("book Ann -> joined Ann", "nothing"),
        ("line Ann", "Ann, Bea"),
        ("line nobody", "Ann, Bea"),
        ("state Ann, Olga waiting", "Olga held"),
        ("position Ann 2", "Ann 1"),
        ("attempts Ann 1", "Ann 0"),
        ("room main 1", "0"),
        ("placement Olga open", "Olga quota"),
        ("quantity Ann 2", "Ann 1"),
        ("price Ann 1.00EUR", "Ann none"),
        ("total Olga 1.00EUR", "Olga none"),
        ("has Olga 12A", "Olga nothing"),
        ("remaining Olga 10m", "Olga 15m"),
        ("remaining Ann 10m", "Ann none"),
        ("round Ann 1", "0"),
        ("told nobody", "Ann joined, Bea joined"),
        ("told Ann offer", "Ann joined, Bea joined"),
        ("told staff handed_back", "Ann joined, Bea joined"),
        ("untold Bea", "joined"),
        ("passed Ann cooldown", "not passed over"),
        ('answer "No."', "no refusal"),
        ("stats active_holds=2", "active_holds=1"),
        ("stats unicorns=2", "unicorns=unknown"),
    ],
)
def test_every_verb_notices_a_difference(line: str, fact: str) -> None:
    said = complaint(CHAIR + line)
    assert said.startswith("chair.txt:4: this is not ")
    assert f"fact: {fact}" in said


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("dance Ann", "there is no verb 'dance'"),
        ("cancel Zoe", "the line cannot be understood: nobody here is called 'Zoe'"),
        ("cancel Olga -> offred Ann", "nothing is ever called 'offred'"),
        (
            "after ten minutes",
            "the line cannot be understood: 'ten' is no length such as 90s, 10m, 1h30m or 2d",
        ),
        ("at noon", "the line cannot be understood: 'noon' is no instant such as +3h or 14:00"),
        ("at 8:00", "it is 09:00 already"),
        ("book Cyd price=much", "the line cannot be understood: 'much' is no price such as 150.00EUR"),
        ("book Cyd quickly", "'quickly' cannot be understood here"),
        (
            "wait Cyd wants=nice",
            "the line cannot be understood: 'nice' is no condition such as tag:honours or",
        ),
        ('answer "No', "the line cannot be understood: a quotation is not closed"),
        ("state Ann", "say who, and what: state NAME VALUE"),
        ("line Ann, Bea -> nothing", "'line' only checks: it makes nothing happen"),
        ("change colour=red", "a pool has no colour"),
        ("units paint 12A", "units are added or closed: units add …, units close …"),
    ],
)
def test_a_line_that_cannot_be_understood_is_reported(line: str, problem: str) -> None:
    assert complaint(CHAIR + line).startswith(f"chair.txt:4: {problem}")


@pytest.mark.parametrize(
    "verb", [*(it for it in ACTIONS if it not in ("pool", "at", "after", "asleep")), *CHECKS]
)
def test_a_line_before_there_is_a_pool_is_reported(verb: str) -> None:
    assert "there is no pool yet" in complaint(f"{verb} Ann")
    refused = "pool chair main=1 preset=nope -> refused invalid preset"
    assert "there is no pool yet" in complaint(f"{refused}\n{verb} Ann")


def test_wait_insists_on_waiting() -> None:
    assert "Ann is held, not waiting" in complaint("pool chair main=1 preset=last_minute\nwait Ann")
    assert "Bea was refused" in complaint("pool chair main=1 preset=checkout\nbook Ann\nwait Bea")


def test_positions_with_a_gap_are_noticed() -> None:
    class Gappy(CoreWorld):
        def position(self, number: int) -> int | None:
            booking = self.view.bookings[number]
            return booking.arrival if booking.state == WAITING else None

    (scenario,) = read(CHAIR + "line Ann, Bea", "chair.txt")
    with pytest.raises(ScenarioError, match="positions from 1 without a gap"):
        play(scenario, Gappy())


def test_something_due_for_ever_is_noticed() -> None:
    class Stuck(CoreWorld):
        def due_at(self) -> int | None:
            return self.now

    (scenario,) = read(CHAIR + "after 1m", "chair.txt")
    with pytest.raises(ScenarioError, match="something stays due for ever"):
        play(scenario, Stuck())


def test_scenarios_are_separated_by_titles_or_by_blank_lines() -> None:
    titled = "# A file.\n\nscenario: one\npool a main=1\n\nbook Ann\nscenario: two\nbook Bea\n"
    assert [(s.name, len(s.lines)) for s in read(titled)] == [("one", 2), ("two", 1)]
    blank = "# one\npool a main=1\nbook Ann # the first\n\n\npool b main=1\n"
    assert [(s.name, len(s.lines)) for s in read(blank)] == [("one", 2), ("line 6", 1)]


def test_an_indented_line_goes_on_with_the_one_above() -> None:
    (scenario,) = read("pool a\n    main=1 # seats\n    preset=checkout\n\nscenario: two\n")
    (line,) = scenario.lines
    assert line.options == {"main": "1", "preset": "checkout"}


def test_comments_are_not_positions() -> None:
    (scenario,) = read("book Ann -> joined Ann #1 # at the head\n")
    assert scenario.lines[0].expected == ("joined Ann #1",)


def test_a_dry_run_leaves_no_trace() -> None:
    world = CoreWorld()
    (scenario,) = read(CHAIR + "dry book Cyd -> joined Cyd #3\ndry cancel Olga -> offered Ann\nline Ann, Bea")
    play(scenario, world)
    assert sorted(booking.party.id for booking in world.view.bookings.values()) == ["ann", "bea", "olga"]
