"""What the engine tells about its work, to whoever counts it or waits for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from holdfast.answers import Answer
    from holdfast.core.commands import Command


class Observer:
    """Hears of each transaction and of each answer. It must be quick, and must not fail."""

    def committed(self, commands: int, pools: int, commit_s: float) -> None:
        """A batch of so many commands, over so many pools that changed, was committed."""

    def answered(self, command: Command, answer: Answer | Exception) -> None:
        """A command was answered."""
