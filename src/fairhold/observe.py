"""What the engine tells about its work, to whoever counts it or waits for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fairhold.answers import Answer
    from fairhold.core.commands import Command
    from fairhold.engine.jobs import Job


class Observer:
    """Hears of each command, each transaction and each delivery. It must be quick, and must not fail."""

    def accepted(self, command: Command) -> Any:
        """A command was accepted. What this gives comes back with its answer, as a note of one's own."""

    def answered(self, answers: Sequence[tuple[Job, Answer | Exception]]) -> None:
        """Commands were answered, each with what it says here; `job.note` is one's own."""

    def committed(self, jobs: Sequence[Job], pools: int, commit_s: float) -> None:
        """A batch of these commands, over so many pools that changed, was committed."""

    def delivered(self, message: str, kind: str, notifier: str, state: str, took_s: float) -> None:
        """A message was handed to a notifier; `state` is sent, pending (it did not go) or dead."""
