"""Runs the tests that show what is guaranteed, keeps how they ended, and writes the page.

python3 dev.py guarantees               all of it
python3 dev.py guarantees tests/…       only what is in these files; the rest stays as it ran the last time
python3 dev.py guarantees --page        the page alone, out of what is recorded: after a drill
"""

from __future__ import annotations

import subprocess
import sys

from testbed.guarantees.marks import read_marks
from testbed.guarantees.page import PAGE, current
from testbed.guarantees.rows import ROOT

PYTEST = ["-q", "-n", "2", "--dist", "loadfile", "-p", "tests.guarantees.recording"]


def main(words: list[str]) -> int:
    failed = 0
    if words != ["--page"]:
        named = any(word.startswith("tests/") for word in words)
        files = [] if named else sorted({mark.test.partition("::")[0] for mark in read_marks()})
        command = [sys.executable, "-m", "pytest", *PYTEST, *words, *files]
        failed = subprocess.run(command, cwd=ROOT).returncode
    PAGE.write_text(current(), encoding="utf-8")
    print(f"{PAGE.relative_to(ROOT)} is written from what is recorded")
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
