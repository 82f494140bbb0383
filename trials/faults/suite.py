"""Run tests on a copy of the tree, in which faults can be planted without harm."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import psutil

NOT_COPIED: Final = shutil.ignore_patterns(
    ".*", "__pycache__", "build", "dist", "site", "screenshots", "*.log", "*.db"
)
# Where this package is, for the plugin that pytest loads.
HERE: Final = Path(__file__).parent.parent.parent
# A fault may make a list grow for ever; then its test fails, and not the machine.
MEMORY_MAX: Final = 6 * 1024**3
NOTHING_RAN: Final = 5


@dataclass(frozen=True, slots=True)
class Run:
    """The outcome of one run of pytest: the tests that failed, those that passed, and if its time was up."""

    failed: tuple[str, ...]
    passed: tuple[str, ...]
    seconds: float
    # Seconds by test, of all that ended.
    durations: dict[str, float]
    out_of_time: bool = False
    test_out_of_time: bool = False
    code: int = 0
    output: str = ""


@contextmanager
def copied(root: Path) -> Iterator[Path]:
    """Make a copy of the tree that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="faults-", ignore_cleanup_errors=True) as folder:
        copy = Path(folder) / "tree"
        shutil.copytree(root, copy, ignore=NOT_COPIED, symlinks=True)
        yield copy


def run_tests(
    tree: Path,
    tests: Sequence[str],
    arguments: Sequence[str],
    *,
    limit_s: float,
    workers: int = 1,
    order: Sequence[str] = (),
    passed: Sequence[str] = (),
    failures_max: int = 1,
) -> Run:
    """Run tests of a tree, in this order of files and without those that passed already."""
    with tempfile.TemporaryDirectory(prefix="faults-run-") as folder:
        plan, report, output = (Path(folder) / name for name in ("order.json", "report.jsonl", "output.txt"))
        plan.write_text(json.dumps({"files": list(order), "passed": list(passed)}))
        report.touch()
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "-p",
            "trials.faults.plugin",
        ]
        command += [f"--maxfail={failures_max}"]
        if workers > 1:
            command += ["-n", str(workers), "--dist", "loadfile", "--no-loadscope-reorder"]
        environment = {
            **os.environ,
            # Before the packages that are installed: what is tested is the copy.
            "PYTHONPATH": os.pathsep.join(map(str, [tree / "src", tree, HERE])),
            "FAULTS_ORDER": str(plan),
            "FAULTS_REPORT": str(report),
        }
        began = time.monotonic()
        with output.open("wb") as file:
            process = subprocess.Popen(
                [*command, *arguments, *tests],
                cwd=tree,
                env=environment,
                stdout=file,
                stderr=file,
                start_new_session=True,
                preexec_fn=_limit_memory,  # noqa: PLW1509  # this process has one thread
            )
            code, out_of_time = _wait(process, limit_s)
        lines = [json.loads(line) for line in report.read_text().splitlines() if line.endswith("}")]
        return _run_of(lines, code, time.monotonic() - began, out_of_time, output.read_text(errors="replace"))


def _limit_memory() -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_MAX, MEMORY_MAX))


def _wait(process: subprocess.Popen[bytes], limit_s: float) -> tuple[int, bool]:
    """Wait until a run ends, or end it with all it started: return its exit code, and if its time was up."""
    family: dict[int, psutil.Process] = {}
    until = time.monotonic() + limit_s
    try:
        while time.monotonic() < until:
            with suppress(subprocess.TimeoutExpired):
                return process.wait(1.0), False
            with suppress(psutil.Error):
                family |= {it.pid: it for it in psutil.Process(process.pid).children(recursive=True)}
        # It is asked first: whoever is asked removes its databases.
        process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            process.wait(20)
        return -1, True
    finally:
        _end(process, family)


def _end(process: subprocess.Popen[bytes], family: dict[int, psutil.Process]) -> None:
    if process.poll() is None:
        with suppress(psutil.Error):
            family |= {it.pid: it for it in psutil.Process(process.pid).children(recursive=True)}
        process.kill()
        process.wait()
    for child in family.values():
        # A process is compared by its number and its start: nobody else is ended by mistake.
        with suppress(psutil.Error):
            if child.is_running():
                child.kill()


def _run_of(lines: list[dict[str, Any]], code: int, seconds: float, out_of_time: bool, output: str) -> Run:
    failed = tuple(dict.fromkeys(line["test"] for line in lines if line["failed"]))
    passed = tuple(line["test"] for line in lines if not line["failed"] and line["test"] not in failed)
    if not failed and not out_of_time and code not in (0, NOTHING_RAN):
        failed = (_first_complaint(output),)
    return Run(
        failed,
        passed,
        round(seconds, 1),
        {line["test"]: line["seconds"] for line in lines},
        out_of_time,
        any(line["timed_out"] for line in lines),
        code,
        output,
    )


def _first_complaint(output: str) -> str:
    """Return what pytest says when it cannot even begin: the fault broke an import."""
    lines = output.splitlines()
    marked = [line for line in lines if line.startswith(("ERROR", "E  ", "ImportError", "INTERNALERROR"))]
    return f"(no test could be run: {' '.join((marked or lines or ['?'])[-1].split())[:200]})"
