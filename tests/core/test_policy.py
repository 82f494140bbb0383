"""A policy is checked when it is made: what gets through has no contradiction in it."""

from __future__ import annotations

from typing import Any

import pytest

from fairhold.core.policy import PRESETS, Policy, changed, length, make
from fairhold.core.refusals import Refusal
from fairhold.policy_document import as_document, at_rest

MINUTE, HOUR = 60_000, 3_600_000

# The table of presets, as it is promised.
PROMISED: dict[str, dict[str, Any]] = {
    "checkout": {
        "if_full": "refuse",
        "hold_window": 15 * MINUTE,
        "hold_lifetime_max": 60 * MINUTE,
        "promotion": None,
        "holds_per_party_max": 1,
    },
    "event_signup": {
        "if_full": "wait",
        "hold_window": 30 * MINUTE,
        "hold_lifetime_max": 30 * MINUTE,
        "confirm_while_waiting": True,
        "promotion": "auto",
        "partial": "all_or_nothing",
        "holds_per_party_max": 1,
    },
    "class_waitlist": {
        "if_full": "wait",
        "hold_window": 15 * MINUTE,
        "hold_lifetime_max": 60 * MINUTE,
        "confirm_while_waiting": False,
        "promotion": "offer",
        "offer_window": 24 * HOUR,
        "offers_live_max": 1,
        "attempts_max": 3,
        "turns": "round",
        "cooldown": 24 * HOUR,
        "after_lapse": "stay",
        "after_decline": "stay",
        "tries_max": None,
        "hand_back": False,
        "offer_cutoff": 0,
        "partial": "give_less",
        "claim_to": "confirmed",
        "holds_per_party_max": 1,
    },
    "course_section": {
        "if_full": "wait",
        "promotion": "offer",
        "offer_window": 24 * HOUR,
        "offers_live_max": None,
        "attempts_max": 1,
        "turns": "opening",
        "cooldown": 0,
        "after_lapse": "leave",
        "after_decline": "leave",
        "tries_max": None,
        "hand_back": False,
        "partial": "all_or_nothing",
        "claim_to": "confirmed",
    },
    "last_minute": {
        "if_full": "wait",
        "promotion": "offer",
        "offer_window": 10 * MINUTE,
        "offers_live_max": None,
        "attempts_max": None,
        "turns": "opening",
        "cooldown": 0,
        "after_lapse": "stay",
        "after_decline": "stay",
        "tries_max": 10,
        "hand_back": True,
        "offer_cutoff": 15 * MINUTE,
        "partial": "all_or_nothing",
        "claim_to": "confirmed",
    },
}


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_is_what_is_promised_and_valid(preset: str) -> None:
    made = make(preset, {})
    assert made == PRESETS[preset]
    assert {name: getattr(made, name) for name in PROMISED[preset]} == PROMISED[preset]


@pytest.mark.parametrize("preset", PRESETS)
def test_a_policy_written_down_can_be_read_again(preset: str) -> None:
    assert make(None, as_document(PRESETS[preset])) == PRESETS[preset]


CONTRADICTIONS: list[tuple[str, dict[str, Any], str]] = [
    ("checkout", {"hold_window": 0}, "hold_window"),
    ("checkout", {"hold_window": "61m"}, "hold_lifetime_max"),
    ("checkout", {"hold_lifetime_max": "14m"}, "hold_lifetime_max"),
    ("checkout", {"hold_reminder": "15m"}, "hold_reminder"),
    ("checkout", {"hold_reminder": "5m", "hold_window": "5m"}, "hold_reminder"),
    ("class_waitlist", {"hold_reminder": "20m"}, "hold_reminder"),
    ("event_signup", {"hold_reminder": "24h"}, "hold_reminder"),
    ("checkout", {"if_full": "wait"}, "promotion"),
    ("checkout", {"promotion": "auto"}, "promotion"),
    ("checkout", {"confirm_while_waiting": True}, "confirm_while_waiting"),
    ("checkout", {"partial": "give_less"}, "partial"),
    ("checkout", {"priority_rules": [{"when": {"tag": "vip"}, "add": 1}]}, "priority_rules"),
    ("class_waitlist", {"if_full": "refuse"}, "promotion"),
    ("class_waitlist", {"promotion": None}, "offer_window"),
    ("class_waitlist", {"confirm_while_waiting": True}, "confirm_while_waiting"),
    ("class_waitlist", {"offer_window": None}, "offer_window"),
    ("class_waitlist", {"offer_window": 0}, "offer_window"),
    ("class_waitlist", {"turns": None}, "turns"),
    ("class_waitlist", {"after_lapse": None}, "after_lapse"),
    ("class_waitlist", {"after_decline": None}, "after_decline"),
    ("event_signup", {"offer_window": "10m"}, "offer_window"),
    ("event_signup", {"offers_live_max": 1}, "offers_live_max"),
    ("event_signup", {"attempts_max": 1}, "attempts_max"),
    ("event_signup", {"turns": "round"}, "turns"),
    ("event_signup", {"cooldown": "1h"}, "cooldown"),
    ("event_signup", {"after_lapse": "stay"}, "after_lapse"),
    ("event_signup", {"after_decline": "stay"}, "after_decline"),
    ("event_signup", {"tries_max": 1}, "tries_max"),
    ("event_signup", {"hand_back": True}, "hand_back"),
    ("event_signup", {"offer_cutoff": "1h"}, "offer_cutoff"),
    ("event_signup", {"claim_to": "held"}, "claim_to"),
    ("event_signup", {"quiet_hours": "22:00-07:00"}, "quiet_hours"),
    ("event_signup", {"partial": "give_less"}, "partial"),
]


@pytest.mark.parametrize(("preset", "changes", "field"), CONTRADICTIONS)
def test_a_contradiction_is_refused_with_its_field(preset: str, changes: dict[str, Any], field: str) -> None:
    refused = make(preset, changes)
    assert isinstance(refused, Refusal)
    assert (refused.code, refused.field, refused.status) == ("invalid", f"policy.{field}", 422)
    assert field in refused.sentence


def test_a_reminder_as_late_as_can_be_is_a_reminder() -> None:
    made = make("checkout", {"hold_reminder": 15 * 60 - 1})
    assert isinstance(made, Policy)
    assert isinstance(changed(made, {"hold_window": "14m"}), Refusal)


WRONG_VALUES: list[tuple[dict[str, Any], str]] = [
    ({"if_full": "maybe"}, "if_full"),
    ({"promotion": "lottery"}, "promotion"),
    ({"turns": "age"}, "turns"),
    ({"after_lapse": "gone"}, "after_lapse"),
    ({"after_decline": 1}, "after_decline"),
    ({"partial": None}, "partial"),
    ({"claim_to": "waiting"}, "claim_to"),
    ({"attempts_max": 0}, "attempts_max"),
    ({"attempts_max": -1}, "attempts_max"),
    ({"attempts_max": True}, "attempts_max"),
    ({"attempts_max": 1.5}, "attempts_max"),
    ({"attempts_max": "3"}, "attempts_max"),
    ({"attempts_max": 2**31}, "attempts_max"),
    ({"offers_live_max": 0}, "offers_live_max"),
    ({"tries_max": 0}, "tries_max"),
    ({"holds_per_party_max": 0}, "holds_per_party_max"),
    ({"quantity_max": None}, "quantity_max"),
    ({"quantity_max": 0}, "quantity_max"),
    ({"hold_window": None}, "hold_window"),
    ({"hold_window": -1}, "hold_window"),
    ({"hold_window": "soon"}, "hold_window"),
    ({"hold_lifetime_max": None}, "hold_lifetime_max"),
    ({"cooldown": None}, "cooldown"),
    ({"cooldown": True}, "cooldown"),
    ({"offer_cutoff": None}, "offer_cutoff"),
    ({"hold_reminder": None}, "hold_reminder"),
    ({"hold_reminder": "soon"}, "hold_reminder"),
    ({"quiet_hours": "22-7"}, "quiet_hours"),
    ({"quiet_hours": "22:00-24:00"}, "quiet_hours"),
    ({"quiet_hours": "22:00-22:00"}, "quiet_hours"),
    ({"quiet_hours": "22:00-٠٧:٠٠"}, "quiet_hours"),
    ({"quiet_hours": "22:00-07:00\n"}, "quiet_hours"),
    ({"quiet_hours": 22}, "quiet_hours"),
    ({"hand_back": 1}, "hand_back"),
    ({"hand_back": None}, "hand_back"),
    ({"confirm_while_waiting": "yes"}, "confirm_while_waiting"),
    ({"colour": "red"}, "colour"),
    ({"priority_rules": None}, "priority_rules"),
    ({"priority_rules": "vip"}, "priority_rules"),
    ({"priority_rules": [{"when": {"tag": "a"}, "add": 1}] * 101}, "priority_rules"),
    ({"priority_rules": [{"when": {"tag": "a"}}]}, "priority_rules[0]"),
    ({"priority_rules": [{"when": {"tag": "a"}, "add": 1, "why": "x"}]}, "priority_rules[0]"),
    ({"priority_rules": ["vip"]}, "priority_rules[0]"),
    ({"priority_rules": [{"when": {"tag": "a"}, "add": 1001}]}, "priority_rules[0].add"),
    ({"priority_rules": [{"when": {"tag": "a"}, "add": 0.5}]}, "priority_rules[0].add"),
    ({"priority_rules": [{"when": {"tag": "a"}, "add": True}]}, "priority_rules[0].add"),
    (
        {"priority_rules": [{"when": {"tag": "a"}, "add": 1}, {"when": {"tag": 1}, "add": 1}]},
        "priority_rules[1].when",
    ),
]


@pytest.mark.parametrize(("changes", "field"), WRONG_VALUES)
def test_a_wrong_value_is_refused_with_its_field(changes: dict[str, Any], field: str) -> None:
    refused = make("class_waitlist", changes)
    assert isinstance(refused, Refusal)
    assert (refused.code, refused.field) == ("invalid", f"policy.{field}")


def test_a_choice_that_may_be_none_says_so() -> None:
    made = make(None, {"promotion": "soon"})
    assert isinstance(made, Refusal)
    assert made.sentence == "promotion must be one of: null, auto, offer."


def test_an_unknown_preset_is_refused_and_the_known_ones_are_listed() -> None:
    refused = make("cinema", {})
    assert isinstance(refused, Refusal)
    assert refused.field == "preset"
    assert all(preset in refused.sentence for preset in PRESETS)


def test_without_a_preset_there_is_a_line_if_the_policy_says_how_it_is_served() -> None:
    assert make(None, {}) == PRESETS["checkout"]
    served = make(None, {"promotion": "auto"})
    assert isinstance(served, Policy)
    assert served.if_full == "wait"
    refused = make(None, {"if_full": "wait"})
    assert isinstance(refused, Refusal)
    assert refused.field == "policy.promotion"


def test_a_change_is_made_to_the_policy_there_is() -> None:
    once = changed(PRESETS["class_waitlist"], {"offer_window": "2h"})
    assert isinstance(once, Policy)
    twice = changed(once, {"attempts_max": None})
    assert isinstance(twice, Policy)
    assert (twice.offer_window, twice.attempts_max, twice.cooldown) == (2 * HOUR, None, 24 * HOUR)


@pytest.mark.parametrize(
    ("written", "milliseconds"),
    [
        (0, 0),
        (90, 90_000),
        ("90s", 90_000),
        ("15m", 15 * MINUTE),
        ("24h", 24 * HOUR),
        ("2d", 48 * HOUR),
        ("1h30m", 90 * MINUTE),
    ],
)
def test_lengths_are_whole_seconds_or_numbers_with_their_units(written: object, milliseconds: int) -> None:
    assert length(written) == milliseconds


@pytest.mark.parametrize(
    "written",
    [
        "",
        "15",
        "m",
        "15 m",
        "-15m",
        "1.5h",
        "1h 30m",
        "1h30",
        "h30m",
        "15M",
        "١٥m",
        1.5,
        True,
        None,
        -1,
        10**12,
        "999999999d",
        "1d1d1d1d1d",
        [],
    ],
)
def test_anything_else_is_no_length(written: object) -> None:
    assert length(written) is None


def test_of_several_wrong_values_a_choice_is_named_before_a_count_and_a_count_before_a_flag() -> None:
    wrong = {"hand_back": 1, "quantity_max": 0, "if_full": "perhaps"}
    named = []
    while wrong:
        refused = make("last_minute", wrong)
        assert isinstance(refused, Refusal)
        named.append((refused.field or "").removeprefix("policy."))
        del wrong[named[-1]]
    assert named == ["if_full", "quantity_max", "hand_back"]


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("promotion", [None, "auto", "offer"])
def test_what_means_nothing_can_be_put_to_rest(preset: str, promotion: str | None) -> None:
    """Whoever fills in every field and then changes how the line is served gets no contradiction."""
    said = as_document(PRESETS[preset])
    needed = {"offer_window": 600, "turns": "opening", "after_lapse": "stay", "after_decline": "stay"}
    changes = {**said, **(needed if promotion == "offer" and not said["offer_window"] else {})}
    made = make(None, at_rest({**changes, "promotion": promotion}))
    assert isinstance(made, Policy)
    assert made.promotion == promotion
    if promotion == said["promotion"]:
        assert made == PRESETS[preset]
