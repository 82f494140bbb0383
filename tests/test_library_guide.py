"""The guide to the library is a promise: its programs are run, in order, and come to what it says."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path
from typing import Any

import pytest

from fairhold import Fairhold, TestClock
from fairhold.errors import Crowded, OutcomeUnknown

GUIDE = (Path(__file__).parent.parent / "docs/howto/library.md").read_text(encoding="utf-8")
TOLD = re.compile(r"^(?P<indent> *)(?P<asked>\S.*?)  # → (?P<wanted>.+)$", re.MULTILINE)


def programs(guide: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", guide, re.DOTALL)


async def run(guide: str, url: str) -> dict[str, Any]:
    """All programs of a guide, each with an open `hf`; where a line says what comes, it is compared."""

    def compare(found: object, wanted: str) -> None:
        assert repr(found) == wanted

    names: dict[str, Any] = {"compare": compare}
    async with Fairhold.open(url, clock=TestClock()) as hf:
        for program in programs(guide):
            names["hf"] = hf
            checked = TOLD.sub(
                lambda told: f"{told['indent']}compare(({told['asked']}), {told['wanted']!r})", program
            ).replace("sqlite:///seats.db", url)
            code = compile(checked, "library.md", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
            done = eval(code, names)
            if inspect.iscoroutine(done):
                await done
    return names


async def test_the_programs_of_the_guide_do_what_it_says(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names = await run(GUIDE, database_url)
    assert "You joined the line as #1." in capsys.readouterr().out
    assert len(programs(GUIDE)) == GUIDE.count("```python")

    class Asked:
        """Fails in every way that the guide speaks of, and then answers."""

        def __init__(self) -> None:
            self.errors: list[Exception] = [Crowded(0), OutcomeUnknown("lost")]

        async def __call__(self) -> str:
            if self.errors:
                raise self.errors.pop()
            return "done"

    assert await names["surely"](Asked()) == "done"
    with pytest.raises(Crowded):
        await names["surely"](Asked(), tries=2)


async def test_a_guide_that_is_wrong_would_be_noticed(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AssertionError):
        await run(GUIDE.replace("('held', 900)", "('held', 901)"), sqlite_url)
