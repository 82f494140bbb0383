"""What a clock on a wall says, made into an instant: twice a year there is an hour that is not, or is twice.

Law: a local time that does not exist or that could mean two instants is refused, never guessed.
"""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo


def problem(local: datetime, zone: tzinfo) -> str | None:
    """What is wrong with a local time in a zone, as a sentence; None if it names one instant."""
    said = local.replace(tzinfo=None, fold=0)
    shown, name = said.isoformat(timespec="minutes"), getattr(zone, "key", str(zone))
    early, late = said.replace(tzinfo=zone), said.replace(tzinfo=zone, fold=1)
    if not exists(early):
        return f"{shown} does not exist in {name}: the clocks go forward then. Say an earlier or later time."
    if early.utcoffset() != late.utcoffset():
        ways = " or ".join(moment.isoformat(timespec="minutes") for moment in (early, late))
        return f"{shown} is there twice in {name}: the clocks go back then. Say which is meant: {ways}."
    return None


def exists(moment: datetime) -> bool:
    """Whether a clock in the moment's own zone ever shows it."""
    there = moment.astimezone(UTC).astimezone(moment.tzinfo)
    return there.replace(tzinfo=None, fold=0) == moment.replace(tzinfo=None, fold=0)
