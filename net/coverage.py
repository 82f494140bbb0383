"""Coverage: what the histories reach of the rules, which events, refusals, and commands in which states."""

from __future__ import annotations

from net import drawing, vocabulary
from net.drawing import Coverage


def measured(count: int, first: int = 0) -> Coverage:
    """Draw so many histories and count what came to pass."""
    coverage = Coverage()
    for seed in range(first, first + count):
        drawing.draw(seed, coverage)
    return coverage


def table(coverage: Coverage) -> str:
    """Return the counts as a table, and what was never reached."""
    lines = [f"{coverage.steps} steps"]
    for title, counts, all_of in (
        ("commands", coverage.commands, vocabulary.COMMANDS),
        ("events", coverage.events, vocabulary.EVENTS),
        ("refusals", coverage.refusals, vocabulary.REFUSALS),
    ):
        lines.append(f"\n{title}")
        lines += [f"  {counts[name]:>7}  {name}" for name in sorted(all_of | set(counts))]
    lines.append("\ncommands in each state of their booking")
    states = ("waiting", "offered", "held", "confirmed", "declined", "expired", "cancelled", "closed")
    lines.append(f"  {'':<14}" + "".join(f"{state:>10}" for state in states))
    for name in sorted({name for _, name in coverage.pairs}):
        lines.append(f"  {name:<14}" + "".join(f"{coverage.pairs[state, name]:>10}" for state in states))
    return "\n".join(lines)
