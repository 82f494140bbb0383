"""The command line is clear when something is wrong, quick to start, and safe to look at."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

from fairhold.cli.hints import next_step
from fairhold.cli.main import app, main
from fairhold.cli.menu import SECTIONS
from fairhold.core.refusals import CODES, Refusal
from tests.cli.conftest import Cli, Command
from tests.patience import PATIENCE_S


def complaint(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *arguments: str) -> str:
    """The one line on stderr that a wrong command gets."""
    monkeypatch.setattr(sys, "argv", ["fairhold", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    said = capsys.readouterr()
    assert ended.value.code == 2
    assert said.out == ""
    assert said.err.count("\n") == 1
    return said.err.strip()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("nope", "fairhold: No such command 'nope' (see: fairhold --help)"),
        ("book", "fairhold book: Missing argument 'POOL' (see: fairhold book --help)"),
        ("book yoga ann -n 0", "'--quantity' / '-n'"),
        ("stats --bogus", "No such option: --bogus"),
        ("pool create yoga", "A pool needs a --size, a --quota or --units"),
        ("pool create yoga --size ten", "'ten' is no size"),
        ("pool create yoga --size 1 --starts-at soon", "'soon' is no ISO 8601 date and time"),
        ("pool create yoga --size 1 --time-zone Mars/X", "There is no time zone 'Mars/X'"),
        (
            "pool create yoga --size 1 --time-zone Europe/Berlin --starts-at 2026-03-29T02:30",
            "--starts-at: 2026-03-29T02:30 does not exist in Europe/Berlin: the clocks go forward then",
        ),
        (
            "pool create yoga --size 1 --time-zone Europe/Berlin --opens-at 2026-10-25T02:30",
            "--opens-at: 2026-10-25T02:30 is there twice in Europe/Berlin: the clocks go back then",
        ),
        ("pool create yoga --size 1 --price 5", "'5' is no price, such as 150.00EUR"),
        ("pool create yoga --size 1 --price 5.001EUR", "EUR has 2 decimals"),
        ("pool create yoga --size 1 --policy offer_window", "'offer_window' should be KEY=VALUE"),
        ("pool create yoga --file nowhere.json", "nowhere.json cannot be read"),
        ("pool change yoga", "Say what to change"),
        ("pool change yoga --size main=3", "'main=3' names a quota: say --quota main=3"),
        ("pool change yoga --size 3 --quota main=3", "Say --size where there is one quota, or --quota"),
        ("pool create yoga --size 3 --units 12A", "Say one of --size, --units and --quota"),
        ("book yoga ann --wants {", "This is no JSON"),
        ("extend K7PM2X 15x", "'15x' is no length, such as 90s, 15m, 24h or 1h30m"),
        ("move K7PM2X sideways", "'sideways' is neither front nor back"),
        ("resolve yoga 1 maybe", "'maybe' is none of again, free and close"),
        ("demo --story nope", "There is no story 'nope'"),
        ("stats --database mysql://x", "not an address of a database: mysql://… (sqlite"),
    ],
)
def test_a_wrong_command_gets_one_clear_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, arguments: str, said: str
) -> None:
    assert said in complaint(capsys, monkeypatch, *arguments.split())


@pytest.mark.parametrize("command", ["book yoga ann --wants", "pool create yoga --size 1 --question"])
def test_json_without_an_end_gets_one_clear_line_too(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    assert "This is no JSON" in complaint(capsys, monkeypatch, *command.split(), "[" * 100_000)


@pytest.mark.parametrize("command", ["stats", "migrate", "verify", "release-expired"])
def test_a_database_that_is_not_there_gets_one_clear_line(fairhold: Command, command: str) -> None:
    result = fairhold(command, "--database", "postgresql://127.0.0.1:1/nowhere")
    assert (result.returncode, result.stdout) == (3, "")
    assert result.stderr.startswith("fairhold: PostgreSQL cannot be reached: ")
    assert result.stderr.count("\n") == 1


def test_looking_does_not_make_a_database(fairhold: Command, tmp_path: Any) -> None:
    result = fairhold("stats", database=f"sqlite:///{tmp_path}/typo.db")
    assert result.returncode == 3
    assert "there is no database" in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_postgres_without_our_schema_says_what_to_do(postgres_url: str) -> None:
    said = Cli(postgres_url)("stats", code=3)
    assert "run: fairhold migrate" in said


def test_options_for_all_can_be_said_before_the_command_too(
    fairhold: Command, tmp_path: Any, sqlite_url: str
) -> None:
    """Whatever is said last, or nearest to the command, counts; and more than what the environment says."""
    there = ("--database", sqlite_url)
    assert fairhold("pool", "create", "yoga", "--size", "1", *there).returncode == 0
    ways = (
        ("--json", *there, "pool", "list"),
        (*there, "pool", "--json", "list"),
        ("pool", *there, "list", "--json"),
        ("pool", "list", *there, "--json"),
        ("--database", f"sqlite:///{tmp_path}/other.db", "pool", "list", *there, "--json"),
    )
    answers = [fairhold(*words, database=f"sqlite:///{tmp_path}/nowhere.db") for words in ways]
    assert {(answer.returncode, answer.stderr) for answer in answers} == {(0, "")}
    assert len({answer.stdout for answer in answers}) == 1
    assert json.loads(answers[0].stdout)[0]["key"] == "yoga"
    units = fairhold(*there, "pool", "units", "--json", "list", "yoga")
    assert units.stdout == "[]\n"


@pytest.mark.parametrize("group", ["key", "staff", "message", "webhook", "staff-contact"])
def test_every_group_takes_them_before_its_command(cli: Cli, group: str) -> None:
    cli("migrate")
    rest = ("dead",) if group == "message" else ("list",)
    assert cli(group, "--database", cli.url, "--json", *rest) == "[]"


def test_no_group_is_left_out() -> None:
    whole: Any = typer.main.get_command(app)
    groups = [it for it in whole.commands.values() if hasattr(it, "commands")]
    assert len(groups) > 8
    assert all({"database", "as_json"} <= {param.name for param in it.params} for it in groups)


def test_a_database_that_is_not_there_says_how_to_make_it(fairhold: Command, tmp_path: Any) -> None:
    said = fairhold("--database", f"sqlite:///{tmp_path}/none.db", "pool", "list").stderr
    assert "fairhold pool create makes it with its first pool" in said


@pytest.mark.parametrize("code", sorted(CODES))
def test_every_refusal_has_a_next_step(code: str) -> None:
    hint = next_step(Refusal(code, "No."))
    assert hint.endswith("."), code
    named = next_step(Refusal(code, "No.", None, {"booking": "b1gbxwqdk2n2k243c5t5"}), "x", {"pool": "yoga"})
    assert "BOOKING" not in named
    assert "POOL" not in named


@pytest.mark.parametrize(
    ("arguments", "step"),
    [
        ("pool show nope", "fairhold pool list shows the pools there are."),
        ("booking nope", "fairhold bookings POOL shows a pool's bookings"),
        ("book yoga ann", "Confirm or cancel that one first: fairhold confirm {ann}, fairhold cancel {ann}."),
        ("book yoga bea --quota x", "fairhold pool show yoga shows the quotas there are."),
        ("book yoga bea -n 5", "Ask for fewer seats, or wait in line: --if-full wait."),
        ("pool change yoga --size 0", "Say --allow-demotion to do it all the same"),
        ("pool change yoga --policy nope=1", "fairhold pool show yoga --json shows every field of a policy."),
        ("bookings yoga --state nope", "fairhold bookings --help shows what can be said."),
        ("claim {ann}", "fairhold booking {ann} shows how it stands, fairhold explain {ann} why."),
    ],
)
def test_a_refusal_says_what_to_do_next(cli: Cli, arguments: str, step: str) -> None:
    cli("pool", "create", "yoga", "--preset", "checkout", "--size", "3")
    ann = cli.book("yoga", "Ann")
    said = cli(*arguments.format(ann=ann).split(), code=1).splitlines()
    assert len(said) == 2
    assert said[0].startswith("refused (")
    assert said[1].startswith(f"  {step.format(ann=ann)}")


def test_help_lists_every_command_under_a_heading(fairhold: Command) -> None:
    said = fairhold("--help").stdout
    listed = {name for names in SECTIONS.values() for name in names}
    assert {path.split()[1] for path in COMMANDS} <= listed, "a new command needs a heading"
    assert "Commands:" not in said
    assert "Exit codes:" in said


def test_version_and_help_need_no_database(fairhold: Command) -> None:
    assert fairhold("--version").stdout == "fairhold 0.1.0\n"
    assert fairhold("--help").stdout == fairhold("-h").stdout == fairhold().stdout


def test_help_starts_without_the_library(fairhold: Command) -> None:
    """What makes starting slow is not even imported."""
    code = "import sys, fairhold.cli.main; print(*sys.modules)"
    listed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not {"asyncio", "asyncpg", "msgspec", "sqlite3", "rich", "fairhold.library"} & set(listed)


def commands(command: Any, path: str) -> Iterator[tuple[str, Any]]:
    children = getattr(command, "commands", {})
    if not children:
        yield path, command
    for name, child in children.items():
        yield from commands(child, f"{path} {name}")


COMMANDS = dict(commands(typer.main.get_command(app), "fairhold"))


@pytest.mark.parametrize("path", COMMANDS)
def test_every_command_and_option_has_a_sentence_and_an_example(path: str) -> None:
    command = COMMANDS[path]
    assert command.help
    assert command.help.split("\n")[0].endswith(".")
    assert path in command.epilog
    for parameter in command.params:
        assert parameter.help, f"{path} {parameter.name}"
    names = {parameter.name for parameter in command.params}
    assert {"as_json", "database"} <= names or path in ("fairhold demo", "fairhold serve")


def test_short_help_is_not_cut_off(fairhold: Command) -> None:
    for words in (
        (),
        ("pool",),
        ("pool", "units"),
        ("message",),
        ("webhook",),
        ("staff-contact",),
        ("staff",),
    ):
        assert "..." not in fairhold(*words, "--help").stdout.replace("[ARGS]...", "")


def test_names_cannot_write_on_somebody_elses_terminal(cli: Cli) -> None:
    cli("pool", "create", "yoga", "--preset", "class_waitlist", "--size", "0", "--title", "Yo\x1b[2Jga")
    reference = cli.book("yoga", "An\x1b[31mn\u202e")
    seen = [
        cli(*words)
        for words in (("line", "yoga"), ("log", "yoga"), ("booking", reference), ("pool", "show", "yoga"))
    ]
    assert not any("\x1b" in text or "\u202e" in text for text in seen)
    assert "An�[31mn�" in seen[0]


def test_there_is_no_colour_in_a_pipe(fairhold: Command, sqlite_url: str) -> None:
    fairhold("pool", "create", "yoga", "--size", "1", "--preset", "checkout", database=sqlite_url)
    assert "\x1b" not in fairhold("pool", "show", "yoga", database=sqlite_url).stdout


@pytest.mark.skipif(os.name == "nt", reason="a terminal of Unix")
@pytest.mark.parametrize(("no_colour", "coloured"), [("", True), ("1", False)])
def test_a_terminal_gets_colour_unless_it_is_not_wanted(
    sqlite_url: str, no_colour: str, coloured: bool
) -> None:
    import pty

    leader, follower = pty.openpty()
    settings = {**os.environ, "NO_COLOR": no_colour, "TERM": "xterm"}
    words = ["pool", "create", "yoga", "--size", "1", "--preset", "checkout", "--database", sqlite_url]
    subprocess.run(
        [sys.executable, "-m", "fairhold", *words], stdout=follower, env=settings, check=True, timeout=60
    )
    os.close(follower)
    said = os.read(leader, 10_000).decode()
    os.close(leader)
    assert "Made" in said
    assert ("\x1b[1m" in said) is coloured


def test_whoever_stops_reading_is_not_shouted_at(sqlite_url: str) -> None:
    words = [sys.executable, "-m", "fairhold", "demo"]
    reader = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert reader.stdout is not None
    assert reader.stderr is not None
    reader.stdout.read(10)
    reader.stdout.close()
    said = reader.stderr.read().decode()
    reader.stderr.close()
    reader.wait(timeout=60)
    assert said == ""


def test_the_command_line_shows_a_clock_that_is_not_the_databases(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that starts with a wrong clock sees no leap; the database knows better."""
    cli("pool", "create", "yoga", "--size", "3")
    assert "clock" not in cli("stats", "yoga")
    now: Any = time.time_ns
    monkeypatch.setattr("time.time_ns", lambda: now() + 3_600 * 10**9)
    for words in (("stats", "yoga"), ("stats",)):
        assert "The clock is wrong: it is 3," in cli(*words)
        assert 3_590 <= cli.json(*words)["clock_ahead_s"] <= 3_601


@pytest.mark.parametrize(
    "command", [["pool", "create", "q", "--size", "1"], ["pool", "list"], ["backup", "y"]]
)
@pytest.mark.parametrize("address", ["sqlite:///:memory:", "sqlite:///s.db?x=1", ""])
def test_a_database_that_cannot_be_is_said_in_a_line_and_nothing_is_made(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    command: list[str],
    address: str,
) -> None:
    """It said that the pool was made, and nothing was there but a secret."""
    monkeypatch.chdir(tmp_path)
    assert "sqlite:///file.db" in complaint(capsys, monkeypatch, *command, "--database", address)
    assert list(tmp_path.iterdir()) == []


def test_a_service_with_a_secret_that_can_be_guessed_does_not_start(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAIRHOLD_SECRET", "x")
    served = [sys.executable, "-m", "fairhold", "serve", "--port", "0", "--database", sqlite_url]
    done = subprocess.run(served, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 2
    assert "FAIRHOLD_SECRET must have at least 16 characters" in done.stderr
    assert "ready to serve" not in done.stderr
