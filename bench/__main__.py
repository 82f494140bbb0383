"""`python3 dev.py bench`: what is measured, against what, in one run. `--quick` takes shorter runs.

The machine's noise falls on everyone alike, because contenders take turns; trust the ratios.
"""

import argparse
import sys
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from functools import partial

from bench import page, parts
from bench.http.listeners import listeners
from bench.http.load import Generator
from bench.http.parts import PARTS, Bench
from bench.http.scale import scale_out
from bench.measure import Figure, markdown_table, plain_table
from bench.server import server_with_log_files
from fairhold.http.serve import collect_less_often, run_fast
from testbed.postgres import fresh_database

MORE_PARTS = {"scale out": scale_out, "listeners": listeners}


async def main() -> int:
    arguments = argparse.ArgumentParser(prog="bench", description=__doc__)
    arguments.add_argument("--quick", action="store_true", help="shorter runs, for a first look")
    arguments.add_argument("--only", default="", help="parts whose name has this word in it")
    arguments.add_argument("--markdown", action="store_true", help="print the table as Markdown")
    arguments.add_argument("--page", action="store_true", help="write docs/performance.md from this run")
    chosen = arguments.parse_args()
    collect_less_often()
    seconds, repeats, operations = (1.0, 3, 100) if chosen.quick else (3.0, 5, 400)
    figures: list[Figure] = []
    async with AsyncExitStack() as stack:
        server = stack.enter_context(server_with_log_files())

        def fresh() -> str:
            return stack.enter_context(fresh_database(server.url))

        runs: dict[str, parts.Part] = {
            "hot pool, PostgreSQL": lambda: parts.hot_pool_postgres(server.url, seconds, repeats, say),
            "hot pool, SQLite": lambda: parts.hot_pool_sqlite(seconds, repeats, say),
            "line, PostgreSQL": lambda: parts.long_line(fresh(), fresh(), "PostgreSQL", operations, say),
            "line, SQLite": lambda: parts.long_line(None, None, "SQLite", operations, say),
            "queue, PostgreSQL": lambda: parts.long_queue(fresh(), fresh(), "PostgreSQL", seconds, say),
            "queue, SQLite": lambda: parts.long_queue(None, None, "SQLite", seconds, say),
            "lapse, PostgreSQL": lambda: parts.mass_lapse(fresh(), "PostgreSQL", say),
            "lapse, SQLite": lambda: parts.mass_lapse(None, "SQLite", say),
            "lapse of units, PostgreSQL": lambda: parts.mass_lapse_of_units(fresh(), "PostgreSQL", say),
            "lapse of units, SQLite": lambda: parts.mass_lapse_of_units(None, "SQLite", say),
            "timer, PostgreSQL": lambda: parts.idle_timer(fresh(), "PostgreSQL", say),
            "timer, SQLite": lambda: parts.idle_timer(None, "SQLite", say),
        }
        generator = await Generator.start()
        stack.push_async_callback(generator.close)
        http = [
            Bench("PostgreSQL", fresh, generator, seconds, repeats, say, database_pids=server.children),
            Bench("SQLite", lambda: "", generator, seconds, repeats, say),
        ]
        for bench in http:
            for name, ask in (PARTS | MORE_PARTS).items():
                runs[f"http, {name}, {bench.store}"] = partial(ask, bench)
        for name, part in runs.items():
            if chosen.only.lower() in name.lower():
                figures += await part()
        for bench in http:
            if bench.memory_mb:
                name = bench.name("the most memory that a process of the service had")
                figures.append(Figure.at_most(name, bench.memory_mb, "MB", 200.0))
    if chosen.page:
        today = datetime.now(UTC).date().isoformat()
        notes = {bench.store: bench.notes for bench in http}
        page.write(figures, {bench.store: bench.kept for bench in http if bench.kept}, notes, today)
    print(markdown_table(figures) if chosen.markdown else plain_table(figures))
    return 1 if any(figure.met is False for figure in figures) else 0


def say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    # The same event loop, and the same rare collections, as the service has: for baselines and engine alike.
    sys.exit(run_fast(main()))
