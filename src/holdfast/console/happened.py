"""What happened: the log as a story."""

from __future__ import annotations

from typing import Final

from holdfast.console.calls import Call
from holdfast.console.page import Page
from holdfast.pages.answers import Answer


async def look(call: Call) -> Answer:
    return await call.show("happened.html", "happened", here="/console/happened")


PAGES: Final = (Page("/console/happened", "console_happened", look),)
