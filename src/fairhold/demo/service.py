"""The service of the demo: the same as ever, with a clock that can be moved and a page to move it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from starlette.routing import Route

from fairhold.demo import pages
from fairhold.http.service import Service
from fairhold.http.settings import Settings
from fairhold.notifiers.log import LogNotifier
from fairhold.outbox import Outbox
from fairhold.pages import site

if TYPE_CHECKING:
    from fairhold.clock import DemoClock
    from fairhold.demo.inbox import Inbox
    from fairhold.library import Fairhold
    from fairhold.outbox import MessageSettings


@dataclass(slots=True)
class Scene:
    """What the demo knows of itself."""

    clock: DemoClock
    inbox: Inbox
    messages: MessageSettings
    time_zone: str
    email: str
    password: str
    entrance: str
    key: str = ""
    pools: list[int] = field(default_factory=list)
    moves: int = 0

    def outbox(self, hf: Fairhold) -> Outbox:
        """What people are told goes into their mailboxes here, and nowhere else."""
        return Outbox(hf, self.messages, {"email": self.inbox, "log": LogNotifier()})


class DemoService(Service):
    """The service, on the demo's clock."""

    def __init__(self, settings: Settings, scene: Scene) -> None:
        self.scene = scene
        super().__init__(settings, (scene.outbox, _Timers))

    def clock(self) -> DemoClock:
        return self.scene.clock

    def site(self) -> list[Route]:
        return [*site.routes(self, pages.PAGES), *super().site()]

    async def move(self, seconds: int) -> None:
        """Move the clock on, and let all that falls due on the way happen first."""
        hf = self.open_hf()
        async with self.clock_moving:
            await hf.advance(seconds=seconds)
            self.scene.moves += 1
        # They sleep until an instant that may have come by now.
        hf.ticker.wake()
        if hf.outbox is not None:
            hf.outbox.wake()


class _Timers:
    """With a test clock nothing happens by itself; but this one runs."""

    def __init__(self, hf: Fairhold) -> None:
        self._hf = hf

    async def start(self) -> None:
        await self._hf.ticker.start()

    async def close(self) -> None:
        await self._hf.ticker.close()
