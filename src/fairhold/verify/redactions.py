"""Whether entries of the log whose digest is another were redacted when a person was forgotten, or forged.

An entry that was redacted is vouched for by a later one, which is part of the chain and names the digest of
what stands there since.
"""

from __future__ import annotations

from fairhold.core.events import Erased
from fairhold.verify.compare import PROMISE
from fairhold.verify.report import Findings


class Redactions:
    """Collects entries with another digest, and what is vouched for."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._others: dict[int, bytes] = {}
        self._vouched: set[tuple[int, str]] = set()

    def another(self, seq: int, digest: bytes) -> None:
        """An entry has another digest than the chain."""
        self._others[seq] = digest

    def vouch(self, event: Erased) -> None:
        self._vouched.update(event.entries)

    def end(self) -> None:
        """Nothing more can be vouched for."""
        for seq, digest in self._others.items():
            if (seq, digest.hex()) in self._vouched:
                self._findings.redacted += 1
            else:
                self._findings.add(PROMISE, "it was edited: its digest is another", f"log entry {seq}")
