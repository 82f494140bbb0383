"""The README is a promise: its program runs, and its commands are there."""

from __future__ import annotations

import asyncio
import re
import textwrap
from pathlib import Path

import pytest

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")


def test_the_program_of_the_readme_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (program,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    imports, rest = program.split("\n\n", 1)
    rest = rest.replace("sqlite:///seats.db", f"sqlite:///{tmp_path}/seats.db")
    told: dict[str, object] = {}
    exec(f"{imports}\nasync def main():\n{textwrap.indent(rest, '    ')}", told)
    asyncio.run(told["main"]())  # type: ignore[operator]
    assert "You accepted a seat." in capsys.readouterr().out


def test_what_the_readme_says_of_states_is_so() -> None:
    said = re.findall(r"# ('held'.*|'waiting'.*)", README)
    assert said == ["'held', 'K7PM2X', 900", "'waiting', 1"]


@pytest.mark.parametrize("line", re.findall(r"^(fairhold .*)$", README, re.MULTILINE))
def test_the_commands_of_the_readme_are_there(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from fairhold.cli.main import main

    words = line.split("#")[0].split()
    depth = 3 if words[1] == "pool" else 2
    monkeypatch.setattr("sys.argv", [*words[:depth], "--help"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code in (0, None)
