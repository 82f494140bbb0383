"""Needs you: what waits for a decision of staff."""

from __future__ import annotations

from typing import Final

from holdfast.console.calls import Call
from holdfast.console.page import Page
from holdfast.pages.answers import Answer


async def look(call: Call) -> Answer:
    return await call.show("needs_you.html", "needs", here="/console/needs")


PAGES: Final = (Page("/console/needs", "console_needs", look),)
