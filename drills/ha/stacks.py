"""What every task of a process waits for. `python -m drills.ha.stacks FILE serve …` is a Fairhold that tells.

Asked with SIGUSR1, it writes to the file where its threads are, at once, and what its tasks wait for, as soon
as it runs a line of Python: if the second is missing, it does not.
"""

from __future__ import annotations

import asyncio
import faulthandler
import signal
import sys
from pathlib import Path
from typing import IO, Any


def tell_when_asked(to: IO[str]) -> None:
    def tell(*_: Any) -> None:
        try:
            said = tasks_now(asyncio.get_running_loop())
        except RuntimeError:
            said = "no event loop runs"
        print(said, file=to, flush=True)

    signal.signal(signal.SIGUSR1, tell)
    faulthandler.register(signal.SIGUSR1, file=to, chain=True)


def tasks_now(loop: asyncio.AbstractEventLoop) -> str:
    """The tasks that have not ended, each with the lines at which it waits, the innermost last."""
    return "\n".join(
        "\n  ".join([f"task {task.get_name()}", *_lines(task.get_coro())]) for task in asyncio.all_tasks(loop)
    )


def _lines(waiting: Any) -> list[str]:
    lines: list[str] = []
    while waiting is not None:
        kind = next((it for it in ("cr", "gi", "ag") if hasattr(waiting, f"{it}_frame")), None)
        if kind is None:
            return [*lines, repr(waiting)]
        if frame := getattr(waiting, f"{kind}_frame"):
            lines.append(f"{frame.f_code.co_filename}:{frame.f_lineno} {frame.f_code.co_qualname}")
        waiting = getattr(waiting, f"{kind}_yieldfrom" if kind == "gi" else f"{kind}_await")
    return lines


if __name__ == "__main__":
    to = Path(sys.argv.pop(1)).open("a")  # noqa: SIM115  # as long as the process runs
    tell_when_asked(to)
    from fairhold.cli.main import main

    main()
