"""What processes have cost so far, as the system counts it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Self

_TICKS_A_S = os.sysconf("SC_CLK_TCK")


def cpu_s(pid: int) -> float:
    """How long a process has been on a processor, itself and for the system."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS_A_S


class Spent:
    """How long some processes were on a processor within a context; one that has ended counts nothing."""

    def __init__(self, pids: Iterable[int]) -> None:
        self._pids = list(pids)
        self._before: dict[int, float] = {}
        self.seconds = 0.0

    def __enter__(self) -> Self:
        self._before = self._now()
        return self

    def __exit__(self, *exc: object) -> None:
        now = self._now()
        self.seconds = sum(now[pid] - before for pid, before in self._before.items() if pid in now)

    def _now(self) -> dict[int, float]:
        found = {}
        for pid in self._pids:
            with suppress(FileNotFoundError, ProcessLookupError):
                found[pid] = cpu_s(pid)
        return found


def memory_mb(pid: int) -> float:
    """What a process has in memory now."""
    found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) / 1024 if found else 0.0
