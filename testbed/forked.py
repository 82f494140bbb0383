"""Processes that begin where the imports end: to read the service's modules takes longer than many a test.

One process beside each that tests has read them once, and forks. Whoever is forked off is a process like any
other, with sockets, signals and an end of its own.
"""

from __future__ import annotations

import multiprocessing
import os
import runpy
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Final

# What the service reads at once, and then what it reads when it is started; what is not there is left out.
_READ: Final = [
    *("fairhold.cli.main", "fairhold.http.serve", "fairhold.http.components", "asyncpg", "uvloop"),
    *("pydantic", "typer._adapters", "typer._click.decorators", "uvicorn.protocols.http.httptools_impl"),
]


class Forked:
    """`python -m PROGRAM WORDS`, to be handled like a `subprocess.Popen`; its complaints go to a file."""

    def __init__(self, program: str, words: Sequence[str], log: str, environment: Mapping[str, str]) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(_READ)
        self._process = context.Process(
            target=_run, args=(program, words, log, dict(environment)), daemon=True
        )
        self._process.start()

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self, timeout: float) -> int:
        self._process.join(timeout)
        if (code := self.poll()) is None:
            raise subprocess.TimeoutExpired("fairhold", timeout)
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def _run(program: str, words: Sequence[str], log: str, environment: Mapping[str, str]) -> None:
    os.environ.clear()
    os.environ.update(environment)
    with open(log, "ab") as file:  # noqa: PTH123  # what matters is the number of it
        os.dup2(file.fileno(), sys.stderr.fileno())
    sys.argv = [program, *words]
    runpy.run_module(program, run_name="__main__")
