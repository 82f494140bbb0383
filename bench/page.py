"""Writes docs/performance.md: the tables and charts of one run, and what they mean for a million people."""

from __future__ import annotations

import platform
import sqlite3
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

from bench.measure import Figure, Run, amount, markdown_table
from bench.million import play

DOCS = Path(__file__).parents[1] / "docs"
CHARTS = DOCS / "charts"
WORDS = Path(__file__).with_name("performance.md")
_COLOURS = {"Fairhold": "#0f766e", "two processes": "#14b8a6", "framework alone": "#94a3b8"}


def write(
    figures: Sequence[Figure],
    kept: Mapping[str, Mapping[str, Run]],
    notes: Mapping[str, Sequence[str]],
    date: str,
) -> None:
    """The page, in place of the one before."""
    lines = [_words(), "## The figures", "", _conditions(date), "", markdown_table(figures), ""]
    for store, runs in kept.items():
        lines += [f"## {store}", "", *_charts(store, runs), _runs(runs), ""]
        lines += [part for note in notes.get(store, ()) for part in (note, "")]
    lines += _million(kept)
    (DOCS / "performance.md").write_text("\n".join(lines))


def _words() -> str:
    """What a person has to say about it stands in a file of its own, and first on the page."""
    return WORDS.read_text()


def _conditions(date: str) -> str:
    return (
        f"Measured on {date} with Python {platform.python_version()}, SQLite {sqlite3.sqlite_version} and "
        "PostgreSQL 18 on two cores that client, service and database share, with durable commits.\n"
        "Medians of interleaved repeats: trust the ratios, for machines differ. "
        "`python3 dev.py bench --page` makes this page anew."
    )


def _runs(runs: Mapping[str, Run]) -> str:
    lines = ["| | per s | p50 ms | p99 ms |", "|---|--:|--:|--:|"]
    for name, run in runs.items():
        lines.append(f"| {name} | {amount(run.per_s)} | {amount(run.p50_ms)} | {amount(run.p99_ms)} |")
    return "\n".join(lines)


def _charts(store: str, runs: Mapping[str, Run]) -> list[str]:
    """A chart for each title that has several contenders."""
    groups: dict[str, dict[str, Run]] = {}
    for name, run in runs.items():
        title, colon, contender = name.partition(": ")
        if colon:
            groups.setdefault(title, {})[contender] = run
    CHARTS.mkdir(exist_ok=True)
    lines = []
    for title, group in groups.items():
        if len(group) < 2:
            continue
        file = f"{store}-{title}".lower().replace(" ", "-").replace(",", "") + ".svg"
        (CHARTS / file).write_text(chart(f"{store}: {title}, answers per second", group))
        lines += [f"![{store}: {title}](charts/{file})", ""]
    return lines


def chart(title: str, runs: Mapping[str, Run]) -> str:
    """Bars, the longest across the whole width."""
    most = max(run.per_s for run in runs.values())
    height = 44 + 34 * len(runs)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 {height}" width="720" height="{height}"',
        f'role="img" aria-label="{escape(title)}" font-family="system-ui, sans-serif" font-size="14">',
        f'<rect width="720" height="{height}" rx="8" fill="#ffffff"/>',
        f'<text x="16" y="26" font-weight="600" fill="#0f172a">{escape(title)}</text>',
    ]
    for row, (name, run) in enumerate(runs.items()):
        top, width = 42 + 34 * row, max(2, round(400 * run.per_s / most))
        colour = _COLOURS.get(name, "#cbd5e1")
        parts += [
            f'<text x="196" y="{top + 17}" text-anchor="end" fill="#334155">{escape(name)}</text>',
            f'<rect x="206" y="{top}" width="{width}" height="24" rx="4" fill="{colour}"/>',
            f'<text x="{206 + width + 8}" y="{top + 17}" fill="#334155">{amount(run.per_s)}</text>',
        ]
    return "\n".join([*parts, "</svg>", ""])


def _million(kept: Mapping[str, Mapping[str, Run]]) -> list[str]:
    """How long a million people take, at what was measured."""
    lines = [
        "## A million people at one event",
        "",
        "Half of them come within 15 seconds, the rest within five minutes; whoever has an answer looks",
        "every 30 seconds where they stand, which takes its share. The times are simulated",
        "(`bench/million.py`) at the rates above; nothing but the rates is measured.",
        "",
        "| rates | until everyone has an answer | half have it within | the last one waited | asked, each |",
        "|---|--:|--:|--:|--:|",
    ]
    for store, runs in kept.items():
        signing = runs.get("sign-ups for one event, 512 clients: Fairhold")
        looking = runs.get("looking where one stands, 512 clients: Fairhold")
        if signing is None or looking is None:
            continue
        for machines in (1, 2, 4):
            day = play(1_000_000, machines * signing.per_s, machines * looking.per_s)
            where = f"{store}, as measured" if machines == 1 else f"{store}, {machines} times that"
            waits = f"{day.median_s:.0f} s | {day.worst_s:.0f} s | {day.asked_each:.1f} ×"
            lines.append(f"| {where} | {day.minutes:.1f} min | {waits} |")
    return [*lines, ""]
