"""Real processes, each with a Fairhold of its own on the same database, that start at one word."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
SILENCE_MAX_S = 60


class Worker:
    """One process that runs `tests.engine.worker`: it says when it is ready, and waits for the word."""

    def __init__(self, task: str, url: str, **details: Any) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.engine.worker", task, url, json.dumps(details)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def hear(self) -> str:
        """The next line it says; nothing if it has ended."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def wait_until_ready(self) -> None:
        assert self.hear() == "ready"

    def say(self, word: str = "go") -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()

    def result(self) -> Any:
        """What it found, once it has ended well."""
        said, _ = self.process.communicate(timeout=SILENCE_MAX_S)
        assert self.process.returncode == 0, said
        return json.loads(said.splitlines()[-1])

    def end(self) -> None:
        """Whatever it does, it ends now."""
        self.process.kill()
        self.process.communicate()


class Workers:
    """Several of them, which are gone when the block ends."""

    def __init__(self, *workers: Worker) -> None:
        self.workers = workers

    def __enter__(self) -> Sequence[Worker]:
        for worker in self.workers:
            worker.wait_until_ready()
        return self.workers

    def __exit__(self, *exc: object) -> None:
        for worker in self.workers:
            worker.end()


def run_together(*workers: Worker) -> list[Any]:
    """Let them all go at once; what each found."""
    with Workers(*workers) as ready:
        for worker in ready:
            worker.say()
        return [worker.result() for worker in ready]
