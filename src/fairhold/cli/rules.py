"""A pool's policy in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairhold.cli.words import count, length


def describe(policy: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The rules that are in force, each with its name."""
    hold = f"{length(policy['hold_window'])}, at most {length(policy['hold_lifetime_max'])} with extensions"
    rules = [
        ("holds", hold),
        ("if full", "people wait in line" if policy["if_full"] == "wait" else "refused"),
    ]
    rules += [("confirmed by", _confirm_by(policy)), ("at once", _at_once(policy))]
    if policy["hold_reminder"]:
        rules.append(("reminder", f"{length(policy['hold_reminder'])} before a hold ends"))
    if policy["promotion"] == "auto":
        rules.append(("freed room", "goes to the first in line who fits, at once"))
        if policy["confirm_while_waiting"]:
            rules.append(("signups", f"to be confirmed within {length(policy['hold_window'])}, also in line"))
    elif policy["promotion"] == "offer":
        rules += _offers(policy)
    if policy["priority_rules"]:
        rules.append(("priority", count(len(policy["priority_rules"]), "rule")))
    return rules


def _confirm_by(policy: Mapping[str, Any]) -> str:
    who = {"party": "whoever booked", "staff": "staff"}
    return who.get(policy["confirm_by"], "staff if it costs something, else whoever booked")


def _at_once(policy: Mapping[str, Any]) -> str:
    most = min(policy["party_quantity_max"], policy["quantity_max"])
    return f"{count(most, 'seat')} at most by a page or public key, {policy['quantity_max']} by staff"


def _offers(policy: Mapping[str, Any]) -> list[tuple[str, str]]:
    live = policy["offers_live_max"]
    at_once = f", {count(live, 'offer')} at a time" if live else ""
    rules = [("freed room", f"is offered to the next in turn for {length(policy['offer_window'])}{at_once}")]
    if policy["turns"] == "round":
        rules.append(("turns", "everyone gets one before anyone gets a second"))
    else:
        rules.append(("turns", "each opening starts at the head of the line; nobody is asked twice for it"))
    if policy["attempts_max"]:
        rules.append(("attempts", f"{policy['attempts_max']}, then the booking is closed"))
    if policy["cooldown"]:
        rules.append(("cooldown", f"{length(policy['cooldown'])} between two offers to the same party"))
    after = {"stay": "stays in line", "back": "goes to the end of the line", "leave": "leaves the line"}
    rules += [
        ("no answer", after[policy["after_lapse"]]),
        ("declined", after[policy["after_decline"]]),
    ]
    if policy["hand_back"]:
        tries = f"after {count(policy['tries_max'], 'offer')}, or " if policy["tries_max"] else ""
        rules.append(("handed back", f"{tries}when nobody is left to ask"))
    if policy["offer_cutoff"]:
        rules.append(("cut-off", f"{length(policy['offer_cutoff'])} before it starts"))
    if policy["quiet_hours"]:
        rules.append(("quiet hours", f"{policy['quiet_hours']}: offers are sent, and begin, when they end"))
    if policy["partial"] == "give_less":
        rules.append(("fewer seats", "are offered when there are not enough for all that were asked"))
    if policy["claim_to"] == "held":
        rules.append(("claimed", "is held until it is confirmed"))
    return rules
