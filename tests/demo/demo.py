"""A demo that runs, as somebody at a terminal has started it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from testbed.ports import free_port
from tests.patience import PATIENCE_S

_LINK = re.compile(r"http://127\.0\.0\.1:\d+/\S+")


class Demo:
    """The process, and the links that it printed."""

    def __init__(self, folder: Path, *flags: str, **environment: str) -> None:
        self.port = free_port()
        self.base = f"http://127.0.0.1:{self.port}"
        words = [sys.executable, "-m", "fairhold", "demo", "--port", str(self.port), *flags]
        env = {**os.environ, "TMPDIR": str(folder), **{k.upper(): v for k, v in environment.items()}}
        self.process = subprocess.Popen(
            words, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.told = ""

    def wait_until_told(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.told += line
            if line.startswith("Stop with"):
                return
        assert self.process.stderr is not None
        raise AssertionError(f"the demo ended: {self.told} {self.process.stderr.read()}")

    @property
    def links(self) -> dict[str, str]:
        """By what stands before them."""
        lines = [line for line in self.told.splitlines() if _LINK.search(line)]
        return {line[2:15].strip(): _LINK.findall(line)[0] for line in lines}

    def stop(self, number: int = signal.SIGINT) -> tuple[int, str, str]:
        """Press Ctrl-C; the exit code, and what it said."""
        self.process.send_signal(number)
        said, complained = self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode, said, complained


@contextmanager
def running(folder: Path, *flags: str, **environment: str) -> Iterator[Demo]:
    demo = Demo(folder, *flags, **environment)
    try:
        demo.wait_until_told()
        yield demo
    finally:
        if demo.process.poll() is None:
            demo.process.kill()
        demo.process.communicate()
