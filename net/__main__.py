"""Compares both trees by seed, measures what the histories reach, and records some of them.

python -m net 1000 --from 300 --database postgres --way all
python -m net coverage 300
python -m net record 300
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from typing import Final

from net import comparing, playing, recorded, running


def main() -> int:
    """Run what the command line asks for; 1 if the trees differ."""
    parser = argparse.ArgumentParser(prog="python -m net", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "what", nargs="?", default="compare", help="http, commands, coverage, record, or how many seeds"
    )
    parser.add_argument("count", nargs="?", type=int, default=0)
    parser.add_argument("--from", dest="first", type=int, default=0, help="the first seed")
    parser.add_argument("--database", choices=("sqlite", "postgres"), default="sqlite")
    parser.add_argument("--way", choices=(*playing.WAYS, "all"), default="all")
    parser.add_argument("--requests", type=int, default=400, help="how many requests in a round")
    asked = parser.parse_args()
    if asked.what.isdecimal():
        asked.what, asked.count = "compare", int(asked.what)
    count = asked.count or 100
    if asked.what == "coverage":
        from net import coverage  # it brings the reference out of git

        print(coverage.table(coverage.measured(count, asked.first)))
        return 0
    if asked.what == "record":
        return asyncio.run(_record(count, asked.first))
    if asked.what in ("http", "commands"):
        return _outside(asked.what, count, asked.first, asked.requests)
    ways = playing.WAYS if asked.way == "all" else (asked.way,)
    return asyncio.run(_compare(range(asked.first, asked.first + count), asked.database, ways))


async def _compare(seeds: range, kind: str, ways: tuple[str, ...]) -> int:
    from net import drawing  # it brings the reference out of git

    began, steps, failed = time.perf_counter(), 0, list[int]()
    with running.databases(kind) as new_database:
        async with running.paired(new_database, ways) as pair:
            for done, seed in enumerate(seeds):
                if done and done % _TELL_EVERY == 0:
                    print(f"  {done} seeds in {time.perf_counter() - began:.0f} s", flush=True)
                history = drawing.draw(seed)
                steps += len(history["steps"])
                try:
                    await pair.compare(history)
                except comparing.Difference as difference:
                    failed.append(seed)
                    print(difference, flush=True)
                    small, still = await pair.smaller(history)
                    print(f"the smallest that differs has {len(small['steps'])} steps:")
                    print("\n".join(f"  {json.dumps(step, ensure_ascii=False)}" for step in small["steps"]))
                    print(f"{still}", flush=True)
                    if len(failed) == _FAILED_MAX:
                        break
            took = time.perf_counter() - began
            wrong = await pair.verified()
            print(f"{kind}: {len(seeds)} seeds from {seeds.start}, {steps} steps, ways {', '.join(ways)}")
            print(f"  {took:.0f} s, {len(seeds) / took:.1f} seeds/s; differ: {failed or 'none'}")
            print(f"  {len(wrong)} findings of verify{''.join(f'{chr(10)}  {line}' for line in wrong[:10])}")
            print(pair.told())
    return int(bool(failed or wrong))


_FAILED_MAX: Final = 5
_TELL_EVERY: Final = 100


def _outside(what: str, count: int, first: int, requests: int) -> int:
    """Compare what the services or the command lines of both trees say."""
    from net import command_lines, over_http  # they bring the reference out of git

    began = time.perf_counter()
    try:
        if what == "commands":
            print(f"{command_lines.compare()} command lines, the same in both")
        else:
            for number in range(first, first + count):
                played = asyncio.run(over_http.compare(number, 1, requests))
                told = dict(sorted(played.statuses.items()))
                print(f"round {number}: {played.statuses.total()} requests, the same in both: {told}")
                print("".join(f"  the reference failed: {fault}\n" for fault in played.faults), end="")
                sys.stdout.flush()
    except comparing.Difference as difference:
        print(difference)
        return 1
    finally:
        print(f"  {time.perf_counter() - began:.0f} s")
    return 0


async def _record(count: int, first: int) -> int:
    from net import drawing, drive_reference  # they bring the reference out of git

    for path in recorded.files():
        path.unlink()
    with running.databases("sqlite") as new_database:
        async with drive_reference.opened(new_database()) as reference:
            for number, start in enumerate(range(first, first + count, recorded.IN_FILE)):
                histories = [drawing.draw(seed) for seed in range(start, start + recorded.IN_FILE)]
                made = [recorded.Recorded(it, await playing.one_by_one(reference, it)) for it in histories]
                path = recorded.write(number, made)
                print(f"{path.name}: {path.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
