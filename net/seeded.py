"""Starts either tree's program with dice and a clock that are the same each time.

    python -m net.seeded PACKAGE serve --port 8000       the service, as the command line starts it
    python -m net.seeded PACKAGE -- < LINES              command lines of a list in JSON, in this one process

What is drawn at random comes out equal in both trees as long as they draw the same things, whatever the order
in which they draw different ones.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import random
import re
import secrets
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final

import typer.main

# In the past: a machine whose clock is ahead of its database's would not be believed.
START: Final = 1_705_305_600_000


class Clock:
    """The machine's clock, as it stands still."""

    at_ns = START * 1_000_000

    def now_ns(self) -> int:
        return self.at_ns


clock = Clock()


# A service must not draw again the keys that command lines have made for it.
_who: Final = ["nobody"]


@cache
def _dice(what: str) -> random.Random:
    return random.Random(f"{_who[0]} draws {what}")


def _drawn(what: str, size: int) -> bytes:
    return _dice(f"{what} of {size}").randbytes(size)


def be_seeded() -> None:
    """Have `secrets` throw known dice, and the clock stand still."""
    replaced: dict[str, Callable[..., Any]] = {
        "token_bytes": lambda size=32: _drawn("bytes", size),
        "token_hex": lambda size=32: _drawn("hex", size).hex(),
        "token_urlsafe": lambda size=32: _drawn("urlsafe", size).hex(),
        "randbits": lambda bits: _dice(f"{bits} bits").getrandbits(bits),
        "randbelow": lambda most: _dice(f"below {most}").randrange(most),
        "choice": lambda values: _dice("choices").choice(values),
    }
    for name, drawn in replaced.items():
        setattr(secrets, name, drawn)
    setattr(time, "time_ns", clock.now_ns)  # noqa: B010  # a type checker minds the short way
    setattr(time, "clock_gettime_ns", lambda _: clock.now_ns())  # noqa: B010


def main(words: Sequence[str]) -> None:
    """Run the program of a package with these words, or the command lines that are piped in."""
    package, *rest = words
    _who[0] = rest[0]
    be_seeded()
    program = importlib.import_module(f"{package}.cli.main").main
    # Building the tree of commands takes longer than most of them do, and it is the same for all.
    setattr(typer.main, "get_command", cache(typer.main.get_command))  # noqa: B010
    if rest == ["--"]:
        kept: dict[str, Any] = {}
        print(json.dumps([_run(program, package, line, kept) for line in json.load(sys.stdin)]))
        return
    sys.argv = [package, *rest]
    program()


def _run(program: Callable[[], None], package: str, line: Any, said: dict[str, Any]) -> dict[str, Any]:
    """Return what came of one command line: its exit code, and what it said."""
    words = [_NAMED.sub(lambda found: _part_of(said, found[1]), word) for word in line["words"]]
    clock.at_ns += int(line.get("later_s", 0)) * 1_000_000_000
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.TextIOWrapper(io.BytesIO(), "utf-8")
    kept, code = (sys.argv, sys.stdin), 0
    sys.argv, sys.stdin = [package, *words], io.StringIO(line.get("typed", ""))
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            program()
    except SystemExit as ended:
        code = int(ended.code or 0)
    except BaseException:  # noqa: BLE001  # whatever came through would have been a traceback
        err.write(traceback.format_exc())
        code = 70
    finally:
        sys.argv, sys.stdin = kept
    if "keep" in line:
        with contextlib.suppress(ValueError):
            said[line["keep"]] = json.loads(_text(out))
    return {"code": code, "out": _text(out), "err": _text(err)}


_NAMED: Final = re.compile(r"(?<!\{)\{([a-z_]+(?:\.[a-z_]+)+)\}")


def _part_of(said: dict[str, Any], path: str) -> str:
    """Return a part of what an earlier line has said: its field, and the field of that, and so on."""
    found: Any = said
    for name in path.split("."):
        found = found.get(name) if isinstance(found, dict) else None
    return str(found)


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode("utf-8", "replace")


if __name__ == "__main__":
    main(sys.argv[1:])
