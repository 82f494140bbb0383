"""Pools, parties and requests of every kind, drawn at random for the properties."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from fairhold.core import policy as policies
from fairhold.core.model import Party, Pool, Price, Quota, Wants
from fairhold.core.policy import Policy
from tests.core.history import HOUR, MINUTE, START

WINDOW = {"side": "window"}
AISLE = {"side": "aisle"}

holding = {
    "hold_reminder": st.sampled_from(["0s", "30s"]),
    "hold_window": st.sampled_from(["1m", "10m", "30m"]),
    "holds_per_party_max": st.sampled_from([None, 1, 2]),
    "quantity_max": st.sampled_from([2, 100]),
    "party_quantity_max": st.sampled_from([1, 10]),
    "confirm_by": st.sampled_from([None, "party", "staff"]),
}
queueing = {
    "priority_rules": st.just(
        [{"when": {"tag": "member"}, "add": 5}, {"when": {"attribute": "credits", "at_least": 90}, "add": 2}]
    )
}
offering = {
    "offer_window": st.sampled_from(["1m", "10m", "24h"]),
    "offers_live_max": st.sampled_from([None, 1, 2]),
    "attempts_max": st.sampled_from([None, 1, 2, 3]),
    "turns": st.sampled_from(["round", "opening"]),
    "cooldown": st.sampled_from(["0s", "1m", "10m", "24h"]),
    "after_lapse": st.sampled_from(["stay", "back", "leave"]),
    "after_decline": st.sampled_from(["stay", "back", "leave"]),
    "tries_max": st.sampled_from([None, 1, 2, 10]),
    "hand_back": st.booleans(),
    "offer_cutoff": st.sampled_from(["0s", "15m"]),
    "quiet_hours": st.sampled_from([None, "22:00-07:00", "09:00-09:30", "00:00-23:59"]),
    "partial": st.sampled_from(["all_or_nothing", "give_less"]),
    "claim_to": st.sampled_from(["confirmed", "held"]),
}
mixes: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "checkout": holding,
    "event_signup": holding | queueing | {"confirm_while_waiting": st.booleans()},
    "class_waitlist": holding | queueing | offering,
    "course_section": holding | queueing | offering,
    "last_minute": holding | queueing | offering,
}


OFFERING = ("class_waitlist", "course_section", "last_minute")


@st.composite
def any_policy(draw: st.DrawFn) -> Policy:
    """A preset, as it is or with a random mix of its fields changed."""
    preset = draw(st.sampled_from([*policies.PRESETS, *OFFERING]))
    changes = draw(st.just({}) | st.fixed_dictionaries({}, optional=mixes[preset]))
    made = policies.make(preset, changes)
    assert isinstance(made, Policy), made
    # A reminder that is never sent is refused; pools that had one before that was so go on with it.
    return draw(st.sampled_from([made, replace(made, hold_reminder=24 * HOUR)]))


starts = st.sampled_from([None, None, None, *(START + minutes * MINUTE for minutes in (10, 20, 60, 3000))])
sizes = st.sampled_from([0, 1, 1, 1, 2, 2, 3, 4, None])
attributes = st.sampled_from([{}, WINDOW, AISLE, WINDOW | {"row": 1}])
eligible = st.sampled_from([None, None, None, {"tag": "member"}])
quotas = st.builds(Quota, key=st.just("?"), size=sizes, eligible=eligible) | st.builds(
    Quota, key=st.just("?"), by_units=st.just(True), eligible=eligible
)


@st.composite
def any_pool(draw: st.DrawFn) -> Pool:
    drawn = draw(st.lists(quotas, min_size=1, max_size=3))
    named = tuple(replace(quota, key=f"q{index}") for index, quota in enumerate(drawn))
    price = draw(st.sampled_from([None, Price(1200, "EUR")]))
    open_size = draw(st.integers(0, 3))
    return Pool(
        1, "org", "pool", "", draw(any_policy()), named, open_size, starts_at=draw(starts), price=price
    )


any_wants = st.builds(
    Wants,
    attributes=st.sampled_from([None, {"attribute": "side", "is": "window"}]),
    until_at=st.sampled_from([None, START + 30 * MINUTE]),
)
parties = st.builds(
    Party,
    id=st.sampled_from("ABCDEFGHIJ"),
    name=st.just("a person"),
    contacts=st.just({"email": "person@example.org"}),
    tags=st.sampled_from([(), ("member",)]),
    attributes=st.sampled_from([{}, {"credits": 100}]),
)
picks = st.integers(0, 20)
flags = st.booleans()
quantities = st.sampled_from([1, 1, 1, 2, 2, 3])
doors = st.sampled_from(["library", "library", "page", "public_key"])
requests = st.tuples(parties, quantities, picks, st.none() | any_wants, doors)
