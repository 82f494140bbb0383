"""The page: each row with what was shown, on what, by which test, and what the control showed.

A row is proved if every part of it was shown on the running service, over every database that matters, if
all of its tests and drills ended well, and if a control showed what happens without the protection.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from testbed.guarantees.evidence import PASSED, Drill, Ran, Results, read_drills, read_results
from testbed.guarantees.marks import Mark, read_marks
from testbed.guarantees.rows import BOTH, ROOT, Row, read_rows

PAGE = ROOT / "docs" / "guarantees.md"
NAMES = {"sqlite": "SQLite", "postgres": "PostgreSQL"}
HEADINGS = {"fault": "When something fails", "attack": "When somebody attacks"}

OPENING = """# What is guaranteed, and what shows it

What may go wrong, what must happen then, and the tests that make it go wrong and look. Nothing here is written
by hand: a test says what it shows, `python3 dev.py guarantees` runs it, and this page is made of how it ended.

- **On the service** means that a real `fairhold serve` was asked over HTTP meanwhile: that was seen, not claimed.
- **In process** is the same code without HTTP, where a fault can be put at one exact place.
- A **control** takes the protection away and sees the harm done, so one knows that a test would notice.
- A **drill** is too long for the tests, and is run by hand.

A row that misses a part, a database or its control, or whose tests did not all pass, says here **not proved**, and
why. How the rest is defended is in [who attacks what](concepts/threats.md) and [OWASP's list](concepts/asvs.md);
what is promised, in [eight promises](concepts/promises.md).
"""  # noqa: E501


@dataclass(frozen=True, slots=True)
class Case:
    """One row and all that there is to show it."""

    row: Row
    marks: list[Mark]
    drills: list[Drill]
    tests: dict[str, Ran]

    def ran(self, mark: Mark) -> Ran:
        return self.tests.get(mark.test, Ran())

    def missing(self) -> list[str]:
        """What keeps the row from being proved."""
        found = [f"{why}" for part in self.row.parts for why in self._missing_of(part)]
        if not any(it.control for it in self.marks):
            found.append("no control takes the protection away")
        found += [f"`{it.test}` did not pass" for it in self.marks if not self.ran(it).good]
        return found + [f"the drill `{it.drill}` failed" for it in self.drills if it.outcome != PASSED]

    def _missing_of(self, part: str) -> Iterator[str]:
        shown = [self.ran(it) for it in self.marks if it.part == part and not it.control]
        services = {it for ran in shown if ran.good for it in ran.services}
        if not services:
            yield f"nothing shows `{part}` on the running service"
        for database in set(self.row.databases) - services if services else ():
            yield f"nothing shows `{part}` over {NAMES[database]}"


def cases(rows: list[Row], marks: list[Mark], results: Results, drills: list[Drill]) -> list[Case]:
    return [
        Case(
            row,
            [mark for mark in marks if row.is_meant_by(mark.part)],
            [drill for drill in drills if any(map(row.is_meant_by, drill.rows))],
            results.tests,
        )
        for row in rows
    ]


def current() -> str:
    """The page as it follows from the rows, the marks and what is recorded."""
    results, drills = read_results(), read_drills()
    return page(cases(read_rows(), read_marks(), results, drills), results, drills)


def page(found: list[Case], results: Results, drills: list[Drill]) -> str:
    return "\n".join([OPENING, *_summary(found, results), *_sections(found), *_drills(drills)])


def _summary(found: list[Case], results: Results) -> Iterator[str]:
    proved = sum(not case.missing() for case in found)
    runs = sum(ran.runs for ran in results.tests.values())
    passed = sum(ran.passed for ran in results.tests.values())
    controls = sum(mark.control for case in found for mark in case.marks)
    dates = sorted({ran.date for ran in results.tests.values()})
    when = f"on {dates[-1]}" if len(dates) == 1 else f"from {dates[0]} to {dates[-1]}" if dates else "never"
    versions = ", ".join(f"{name} {version}" for name, version in results.versions.items())
    yield (
        f"**{proved} of {len(found)} rows are proved**, by {len(results.tests)} tests ({runs} runs, "
        f"{passed} passed) and {controls} controls. Last run {when} with {versions}.\n"
    )
    for kind, heading in HEADINGS.items():
        yield f"| {heading.lower()} | proved | over |\n|---|---|---|"
        for case in found:
            if case.row.kind == kind:
                said = "**not proved**" if case.missing() else "yes"
                yield f"| [{case.row.title}](#{case.row.id}) | {said} | {_databases(case.row)} |"
        yield ""


def _databases(row: Row) -> str:
    return "both" if row.databases == BOTH else " ".join(NAMES[it] for it in row.databases)


def _sections(found: list[Case]) -> Iterator[str]:
    for kind, heading in HEADINGS.items():
        yield f"## {heading}\n"
        for case in found:
            if case.row.kind == kind:
                yield from _section(case)


def _section(case: Case) -> Iterator[str]:
    row = case.row
    yield f'<a id="{row.id}"></a>\n\n### {row.title}\n'
    missing = case.missing()
    if missing:
        yield f"**Not proved**: {'; '.join(missing)}.\n"
    for part, must in zip(row.parts, row.must.values(), strict=True):
        yield f"**{must}**\n"
        shown = [mark for mark in case.marks if mark.part == part and not mark.control]
        # What was shown on the service comes first.
        yield from (_shown(case, mark) for mark in sorted(shown, key=lambda it: not case.ran(it).services))
        yield ""
    yield f"*Control*, without {row.protection}:\n"
    yield from (_shown(case, mark) for mark in case.marks if mark.control)
    yield ""
    for drill in case.drills:
        yield f"*Drill*: [`{drill.command}`](#drill-{drill.drill}), {drill.outcome} on {drill.date}.\n"


def _shown(case: Case, mark: Mark) -> str:
    ran = case.ran(mark)
    name = mark.test.rpartition("::")[2]
    test = f"`{name}` in `{mark.test.partition('::')[0]}`"
    where = _over("on the service", ran.services) if ran.services else _over("in process", ran.databases)
    count = "" if ran.runs == 1 else f", {ran.runs} runs"
    if not ran.good:
        count = f", **{ran.passed} of {ran.runs} passed**"
    return f"- {mark.shows} <br>{test}: {where}{count}"


def _over(what: str, databases: list[str]) -> str:
    return f"{what}, {' and '.join(NAMES[it] for it in databases)}" if databases else what


def _drills(drills: list[Drill]) -> Iterator[str]:
    if drills:
        yield "## Drills\n\nWhat was run by hand, and how it ended the last time.\n"
    for drill in drills:
        yield f'<a id="drill-{drill.drill}"></a>\n\n### `{drill.command}`\n'
        yield f"{'Passed' if drill.outcome == PASSED else '**Failed**'} on {drill.date}.\n"
        yield from (f"- {shown}" for shown in drill.shown)
        yield ""
        if drill.figures:
            yield "| figure | |\n|---|---|"
            yield from (f"| {name} | {_figure(value)} |" for name, value in drill.figures.items())
            yield ""


def _figure(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:,}"
