"""Scenarios: rules told in a small language that anyone can read, and played against a world.

    pool   chair  main=1  preset=last_minute
    book   Olga
    wait   Ann, Bea, Cyd
    cancel Olga        -> offered Ann
    decline Ann        -> offered Bea
    after 10m          -> lapsed Bea, offered Cyd
    claim  Bea         -> refused offer_expired
    claim  Cyd         -> confirmed Cyd

    from fairhold.testing import CoreWorld, play, read

    for scenario in read(text, "chair.txt"):
        play(scenario, CoreWorld())

The language is described in `language`, what a world must be able to do in `world`.
"""

from fairhold.testing.language import Line, Scenario, ScenarioError, read
from fairhold.testing.play import play
from fairhold.testing.world import CoreWorld, Outcome, World

__all__ = ["CoreWorld", "Line", "Outcome", "Scenario", "ScenarioError", "World", "play", "read"]
