"""The command line: every command of the tree with what nobody would type, in this process."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import os
import re
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import typer.main
from typer import main as typer_main

from drills.fuzz.alive import Alive
from drills.fuzz.files import Files
from drills.fuzz.judge import SLOW_S, Fault
from drills.fuzz.odd import CONDITIONS, TEMPLATES, TEXTS, THOUGHTS, Odd
from fairhold import Fairhold
from fairhold.cli.main import app, main
from testbed.postgres import TemporaryPostgres, fresh_database

# These go on until they are stopped: they are only asked wrongly.
ENDLESS = ("demo", "serve")
CODES = (0, 1, 2, 3)
# No shell and no system can hand these over as an argument.
_NO_ARGUMENT = re.compile("[\x00\ud800-\udc7f\udd00-\udfff]")
_WORDS: dict[str, tuple[str, ...]] = {
    "POOL": ("yoga", "gala", "nope"), "PARTY": ("ann", "bea", "nobody"), "SEATS": ("1", "2", "0", "-1",
    "unlimited", "10000001"), "QUOTA": ("main", "x"), "LABEL": ("12A", "x"),
    "LABELS": ("12A,12B", ","), "NUMBER": ("1", "0", "-1", "99999999999999999999"), "N": ("1", "0"),
    "POSITION": ("1", "-1", "x"), "KEY=VALUE": ("age=18", "age", "=", "a=" + "[" * 3_000),
    "KEY=SEATS": ("main=3", "main=x"),
    "FIELD=VALUE": ("offer_window=15m", "offer_window=NaN", "priority_rules=[1]", "quantity_max=1e400",
    "nope=1", "tries_max=" + "9" * 5_000, "x=" + "[" * 3_000), "JSON": ("{}", "{", "[]", "{" * 3_000,
    '{"attributes": 1}', "NaN", *map(json.dumps, CONDITIONS)),
    "TIME": ("2026-03-07T14:00Z", "2026-03-29T03:30", "0001-01-01T00:00+14:00", "9999-12-31T23:59-14:00",
    "soon"), "LENGTH": ("15m", "999999999d", "0s", "x"), "PRICE": ("5EUR", "5.001EUR", "9999999999999EUR",
    "x"), "ZONE": ("Europe/Helsinki", "Mars/X", "../../x", "/etc/passwd", "."),
    "NAME": ("Ann", "checkout"), "KIND": ("offer", "x"), "CODE": ("en", "fi", "zz"), "TEXT": TEMPLATES,
    "ROLE": ("admin", "read", "x"), "ORG": ("default", "x"), "EMAIL": ("olga@example.org", "x"),
    "URL": ("http://127.0.0.1:9/", "x"), "DAYS": ("30", "0", "-1", "999999999999", "forever", "x"),
    "ADDRESS": ("ann@example.org", "+358401234567", "json://x"), "ORIGIN": ("https://example.org", "x"),
    "STATE": ("waiting", "x"), "KEY": ("yoga", "gala", "k1", "K 1"), "FILE": ("people.csv", "pool.json",
    "copy.db", "nowhere/x", ".", "-", ""), "OPENING": ("1", "0", "x"),
}  # fmt: skip


# A word of passwords that nothing may say.
_HUSH = "hushhush"
_DATABASES = ("sqlite:///none.db", "mysql://x", "", "postgresql://127.0.0.1:1/x", "sqlite://", "x",
    f"postgresql+asyncpg://ann:{_HUSH}@127.0.0.1:1/x", f"ann:{_HUSH}@127.0.0.1:1/x",
    *(f"postgresql://ann:{_HUSH}{sign}{_HUSH}@127.0.0.1:1/x" for sign in "/#?@[%"))  # fmt: skip


@dataclass(slots=True)
class CommandsRun:
    """What came of it."""

    runs: int = 0
    codes: Counter[int] = field(default_factory=Counter)
    by_command: Counter[str] = field(default_factory=Counter)
    faults: list[Fault] = field(default_factory=list)


def tree() -> dict[str, Any]:
    """Every command by the words that call it."""

    def below(command: Any, words: str) -> Iterator[tuple[str, Any]]:
        children = getattr(command, "commands", {})
        if not children:
            yield words, command
        for name, child in children.items():
            yield from below(child, f"{words} {name}".strip())

    return dict(below(typer.main.get_command(app), ""))


def run(seed: int, runs: int, store: str, *, url: str = "", thoughts: int = THOUGHTS) -> CommandsRun:
    """Run commands on a database of their own, unless one is named."""
    if store == "sqlite" or url:
        return _run(seed, runs, url, thoughts)
    with TemporaryPostgres() as server, fresh_database(server.url) as url:
        asyncio.run(_migrated(url))
        return _run(seed, runs, url, thoughts)


async def _migrated(url: str) -> None:
    async with Fairhold.open(url, ticker=False):
        pass


def _run(seed: int, runs: int, url: str, thoughts: int) -> CommandsRun:
    """In a directory that goes with them: what they write stays there."""
    done, commands, odd = CommandsRun(), tree(), Odd(seed, thoughts)
    files = Files(Alive(), odd)
    here = Path.cwd()
    # Building the tree takes longer than most commands, and it is the same for all.
    built, root = typer_main.get_command, typer_main.get_command(app)
    setattr(typer_main, "get_command", lambda _: root)  # noqa: B010  # a type checker minds the short way
    with tempfile.TemporaryDirectory(prefix="fairhold-commands-") as place, patch.dict(os.environ):
        os.chdir(place)
        try:
            os.environ["FAIRHOLD_DATABASE_URL"] = url or f"sqlite:///{place}/fuzz.db"
            for number in range(runs):
                dice = Random(f"{seed}/command/{number}")
                if number % 100 == 0:
                    _set_up()
                _write_files(files, odd, dice)
                name = dice.choice(sorted(commands))
                _one(
                    number,
                    name,
                    [*name.split(), *_arguments(commands[name], name, odd, dice)],
                    dice,
                    odd,
                    done,
                )
        finally:
            os.chdir(here)
            setattr(typer_main, "get_command", built)  # noqa: B010
    return done


def _set_up() -> None:
    for words in ("pool create yoga --size 2 --preset class_waitlist", "pool create gala --units 12A,12B",
    "pool open yoga", "book yoga ann --staff olga",
                  "book yoga bea --staff olga", "book yoga cyd --if-full wait --staff olga",
                  "staff add olga@example.org --name Olga --role admin"):  # fmt: skip
        _call(words.split(), "")


def _write_files(files: Files, odd: Odd, dice: Random) -> None:
    wild = dice.randrange(3)
    Path("people.csv").write_bytes(files.people(dice, wild))
    pool: Any = {"key": "yoga", "quotas": [{"key": "main", "size": 1}]}
    if wild:
        pool = (
            odd.value(dice) if wild == 2 else pool | {"policy": odd.value(dice), "questions": odd.value(dice)}
        )
    with contextlib.suppress(ValueError, TypeError):
        Path("pool.json").write_text(json.dumps(pool), encoding="utf-8", errors="surrogatepass")
    if dice.random() < 0.1:
        Path("copy.db").write_bytes(
            dice.choice((b"", b"SQLite format 3\x00" + dice.randbytes(200), dice.randbytes(5_000)))
        )


def _arguments(command: Any, name: str, odd: Odd, dice: Random) -> list[str]:
    said: list[str] = ["--once"] if name == "outbox" else []
    if name in ENDLESS:
        return [
            dice.choice(
                (
                    "--nope",
                    "--port=x",
                    "--port=-1",
                    "--port=70000",
                    "--story=nope",
                    "x",
                    "--seconds",
                    _DATABASES[6],
                )
            )
        ]
    for it in command.params:
        if it.name in ("help", "once") or (not it.required and dice.random() < 0.75):
            continue
        words = it.metavar or ""
        value = dice.choice(words.split("|") if "|" in words else _WORDS.get(words, ("x",)))
        if it.name == "as_json" or getattr(it, "is_flag", False):
            said.append(it.opts[0])
            continue
        if it.name == "database":
            value = dice.choice(_DATABASES)
        elif words in ("BOOKING", "OFFER", "MESSAGE", "ID", "PASSKEY"):
            value = dice.choice((*_REFERENCES, "nope"))
        elif words != "FILE" and dice.random() < 0.25:
            value = _NO_ARGUMENT.sub("", odd.text(dice))[:3_000]
        if it.param_type_name == "option":
            said.append(it.opts[0] + "=" + value if value.startswith("-") else it.opts[0])
            if value.startswith("-"):
                continue
        said.append(value)
    if dice.random() < 0.03:
        said.insert(
            dice.randrange(len(said) + 1),
            dice.choice(("--nope", "-", "--", _NO_ARGUMENT.sub("", dice.choice(TEXTS)))),
        )
    return said


_REFERENCES: list[str] = ["K7PM2X"]


def _one(number: int, name: str, words: list[str], dice: Random, odd: Odd, done: CommandsRun) -> None:
    typed = dice.choice(("", "y\n", "correct horse battery\ncorrect horse battery\n", odd.text(dice)))
    began = time.process_time()
    code, out, err = _call(words, typed)
    busy_s = time.process_time() - began
    _REFERENCES.extend(re.findall(r"\b[A-HJ-NP-Z2-9]{6}\b|\bb[0-9a-z]{19}\b|\bwh[0-9a-f]{16}\b", out)[:3])
    del _REFERENCES[:-60]
    done.runs += 1
    done.codes[code] += 1
    done.by_command[name] += 1
    wrong = ""
    if code not in CODES or "Traceback" in err:
        wrong = f"it ended with {code}: {err[-1_500:]}"
    elif code and not (err.strip() or (name == "import" and out.strip())) and "--json" not in words:
        wrong = f"it ended with {code} and said nothing"
    elif code == 2 and err.count("\n") != 1:
        wrong = f"it complained in {err.count(chr(10))} lines: {err[:500]}"
    elif _HUSH in out + err:
        wrong = f"it said a password: {err[:500]}"
    elif busy_s > SLOW_S:
        wrong = f"it was busy for {busy_s:.1f} s"
    if wrong:
        done.faults.append(
            Fault(f"command {number}, {name}", wrong, f"fairhold {' '.join(map(repr, words))}")
        )


class _Typed(io.StringIO):
    """What is piped in."""

    def isatty(self) -> bool:
        return False

    @property
    def buffer(self) -> Any:
        return io.BytesIO(self.getvalue().encode("utf-8", "surrogatepass"))


def _call(words: list[str], typed: str) -> tuple[int, str, str]:
    """Run a command as the shell would: its exit code, and what it said."""
    out, err = io.StringIO(), io.StringIO()
    kept = sys.argv, sys.stdin
    sys.argv, sys.stdin = ["fairhold", *words], _Typed(typed)
    code: Any = 0
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main()
    except SystemExit as ended:
        code = ended.code or 0
    except BaseException:  # noqa: BLE001  # whatever came through would have been a traceback
        err.write(traceback.format_exc())
        code = 70
    finally:
        sys.argv, sys.stdin = kept
    return int(code), out.getvalue(), err.getvalue()
