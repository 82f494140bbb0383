"""What a long run came to, on paper: evidence, a chart, a table, and the page that shows them."""

from __future__ import annotations

import csv
import json
from pathlib import Path

from drills.soak import bounds
from drills.soak.chart import Line, svg
from drills.soak.run import MEMORY_GROWTH_MAX, MIB, Soaked, Window
from testbed.guarantees.evidence import EVIDENCE, record

NAMES = {"sqlite": "SQLite", "postgres": "PostgreSQL"}
_HEADS = (
    "minutes",
    "requests",
    "p50 ms",
    "p99 ms",
    "memory MiB",
    "open files",
    "tasks",
    "database MiB",
    "WAL MiB",
    "bookings",
    "log entries",
    "bytes an entry",
)
_INTRO = """# A long run

`python3 dev.py soak` has the real service work for an hour: sign-ups with holds that lapse, lines that fill,
offers claimed and declined, cancellations, people who look again and again, pages and the console, streams
that come and go, mail and webhooks to receivers on loopback, pools made and cancelled, people erased, and
`fairhold prune` every few minutes. Everybody who comes is somebody new. Before the hour begins, people do as
much as the machine can take for fifteen seconds, and what they did is divided by the time until the last
e-mail and the last webhook of it have arrived: that is the full rate, counted in requests a second, with
every stream that is opened as one. In the hour, four tenths of that number of acts are begun each second, an
act being one request or a few. The process is looked at every ten seconds. Growth is that of a straight line
through what was measured after the first fifth, when most caches have filled.

What is kept does grow: a booking and its log are not thrown away, only emptied of what people said. So the
database is measured against the log entries in it. What must not grow is memory, open files, tasks, the
write-ahead log, and the time that answers take.
"""
_BOUNDS = """## What is kept in memory

A process keeps some of what it has seen, to be faster. Each of these has a bound; when it is reached, the
oldest go, or all, and are looked up again. Some of them fill slowly, so memory may rise for longer than the
first minutes; the drill fails at {limit} MiB an hour, which is less than SQLite's pages alone may take.

"""


def write(done: Soaked) -> None:
    """Keep what a run has shown, and write the page anew."""
    EVIDENCE.mkdir(parents=True, exist_ok=True)
    with (EVIDENCE / f"soak-{done.store}.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(_HEADS)
        writer.writerows(_row(window) for window in done.windows)
    (EVIDENCE / f"soak-{done.store}.svg").write_text(_chart(done), encoding="utf-8")
    _record(done)
    write_page()


def write_page() -> None:
    """Write the page anew from what is recorded."""
    page = EVIDENCE.parent / "concepts" / "long-run.md"
    page.write_text(text(EVIDENCE), encoding="utf-8")


def _row(window: Window) -> tuple[str, ...]:
    it = window.sample
    figures = (window.until_s / 60, window.requests, window.p50_ms, window.p99_ms, it.memory / MIB)
    shown = [f"{value:.1f}" if isinstance(value, float) else str(value) for value in figures]
    shown += [str(it.files), str(it.tasks), f"{it.database / MIB:.1f}", f"{it.wal / MIB:.1f}"]
    return (*shown, str(it.bookings), str(it.entries), str(it.database // max(1, it.entries)))


def _chart(done: Soaked) -> str:
    at = [it.at_s / 60 for it in done.samples]
    windows = [it.until_s / 60 for it in done.windows]
    panels = [
        ("Memory", [Line("MiB", at, [it.memory / MIB for it in done.samples])]),
        (
            "Answers, ms",
            [
                Line("p99", windows, [it.p99_ms for it in done.windows]),
                Line("p50", windows, [it.p50_ms for it in done.windows]),
            ],
        ),
        (
            "Open",
            [
                Line("files", at, [it.files for it in done.samples]),
                Line("tasks", at, [it.tasks for it in done.samples]),
            ],
        ),
        ("Kept", [Line("log entries", at, [it.entries for it in done.samples])]),
        ("Write-ahead log", [Line("MiB", at, [it.wal / MIB for it in done.samples])]),
    ]
    return svg(f"A long run on {NAMES[done.store]}", panels)


def _record(done: Soaked) -> None:
    memory, files, tasks = (done.growth(name)[1] for name in ("memory", "files", "tasks"))
    first, last = done.windows[0], done.windows[-1]
    requests = sum(done.answers.values())
    where = NAMES[done.store]
    shown = [
        f"{done.minutes:g} minutes of mixed work on {where}: memory grew by {memory / MIB:.1f} MiB an hour.",
        f"Half of the answers took at most {first.p50_ms:.1f} ms at first, {last.p50_ms:.1f} ms at last.",
        *(["Afterwards `fairhold verify` found nothing."] if not done.faults else done.faults[:5]),
    ]
    record(
        f"soak-{done.store}",
        f"python3 dev.py soak --store {done.store}",
        passed=not done.faults,
        rows=[],
        shown=shown,
        figures={
            "minutes": done.minutes,
            "requests": requests,
            "requests a second": round(requests / (done.minutes * 60), 1),
            "answers of 5xx or none": sum(
                n for status, n in done.answers.items() if status >= 500 or not status
            ),
            "memory growth in MiB an hour": round(memory / MIB, 2),
            "open files growth an hour": round(files, 2),
            "tasks growth an hour": round(tasks, 2),
            "p50 ms first and last": f"{first.p50_ms:.1f}, {last.p50_ms:.1f}",
            "p99 ms first and last": f"{first.p99_ms:.1f}, {last.p99_ms:.1f}",
            "database bytes per log entry, first and last": f"{_each(first)}, {_each(last)}",
            "write-ahead log in MiB, at most": round(max(it.wal for it in done.samples) / MIB, 1),
            "seconds that a message waited, at most": round(max(it.outbox_lag_s for it in done.samples), 1),
            "bookings": done.samples[-1].bookings,
            "log entries": done.samples[-1].entries,
            "people erased": done.erased,
            "pools made": done.pools,
            "e-mails": done.letters,
            "webhooks": done.hooks,
        },
    )


def _each(window: Window) -> int:
    return window.sample.database // max(1, window.sample.entries)


def text(place: Path) -> str:
    """The page, of all runs that were recorded."""
    parts = [_INTRO, _BOUNDS.format(limit=MEMORY_GROWTH_MAX // MIB) + bounds.table() + "\n"]
    for store, name in NAMES.items():
        known = place / f"soak-{store}.json"
        if not known.exists():
            continue
        told = json.loads(known.read_text(encoding="utf-8"))
        parts.append(f"## On {name}\n\nRun on {told['date']}: {told['outcome']}.\n")
        parts.append(
            "| | |\n|---|---|\n"
            + "\n".join(f"| {it} | {value} |" for it, value in told["figures"].items())
            + "\n"
        )
        parts.append(f"![Memory, answers, files and the log over time](../evidence/soak-{store}.svg)\n")
        with (place / f"soak-{store}.csv").open(encoding="utf-8", newline="") as file:
            heads, *rows = csv.reader(file)
        lines = [heads, ["---"] * len(heads), *rows]
        parts.append("\n".join(f"| {' | '.join(cells)} |" for cells in lines) + "\n")
    return "\n".join(parts)


if __name__ == "__main__":
    write_page()
