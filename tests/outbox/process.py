"""A process with an outbox of its own: `python -m tests.outbox.process TASK DATABASE SMTP`."""

from __future__ import annotations

import asyncio
import os
import signal
import sys

from fairhold import Fairhold
from fairhold.outbox import MessageSettings, Outbox, loop
from tests.database import SECRET


async def main(task: str, url: str, smtp: str) -> None:
    settings = MessageSettings(smtp_url=smtp, mail_from="Seats <seats@example.org>")
    # It hears of what others commit, or it never knows.
    loop._LOOK_S = 3_600.0  # type: ignore[misc]
    async with Fairhold.open(url, secret=SECRET) as hf:
        outbox = Outbox(hf, settings)
        if task == "die":
            # Others need not wait long for what it had in hand.
            outbox = Outbox(hf, settings, lease=1_000)

            # Handed over, and gone before anything could be written down.
            async def die() -> None:
                os.kill(os.getpid(), signal.SIGKILL)

            outbox._mark = die  # type: ignore[method-assign]
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        await outbox.start()
        print("started", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        await outbox.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
