"""The drawer: letters that were not sent but kept in this process, for trying out on one's own machine."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from fairhold.clock import to_datetime
from fairhold.console import chooser, tale
from fairhold.console.calls import Call
from fairhold.console.page import STAFFS, Page
from fairhold.core.refusals import Refusal
from fairhold.http.operations import granted
from fairhold.http.problems import not_found
from fairhold.notifiers.drawer import KEPT_MAX, Drawer, Letter
from fairhold.pages.answers import Answer
from fairhold.shapes import PoolState

HERE: Final = "/console/letters"
_SHOWN: Final = 100


async def look(call: Call) -> Answer:
    """List the latest letters about pools of the member's own org."""
    drawer, pools = _drawer(call), dict[str, PoolState | Refusal]()
    shown: list[tuple[Letter, PoolState, datetime]] = []
    for letter in drawer.latest(KEPT_MAX):
        if letter.pool not in pools:
            pools[letter.pool] = await call.hf.pool(letter.pool)
        pool = pools[letter.pool]
        if isinstance(pool, PoolState) and len(shown) < _SHOWN:
            shown.append((letter, pool, to_datetime(letter.at)))
    speech = call.speech(chooser.usual_zone(pool for _, pool, _ in shown))
    return await call.show("letters.html", "letters", here=HERE, rows=shown, speech=speech, now=call.now)


async def one(call: Call) -> Answer:
    """Show a letter as the text that it is. Its links act as the party does, so only staff read it."""
    number = tale.number(call.path["number"])
    letter = _drawer(call).letter(number) if number is not None else None
    if letter is None:
        raise not_found()
    pool = granted(await call.hf.pool(letter.pool))
    return await call.show(
        "letter_kept.html",
        "letters",
        here=f"{HERE}/{letter.number}",
        letter=letter,
        pool=pool,
        at=to_datetime(letter.at),
        speech=call.speech(pool.time_zone),
    )


def _drawer(call: Call) -> Drawer:
    """Return the drawer of this process; where letters are sent, there is nothing at this address."""
    outbox = call.hf.outbox
    if outbox is None or outbox.drawer is None:
        raise not_found()
    return outbox.drawer


PAGES: Final = (
    Page(HERE, "console_drawer", look, None, STAFFS),
    Page(f"{HERE}/{{number}}", "console_drawer_letter", one, None, STAFFS),
)
