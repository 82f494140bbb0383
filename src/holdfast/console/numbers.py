"""The numbers of a pool."""

from __future__ import annotations

from typing import Final

from holdfast.console.calls import Call
from holdfast.console.page import Page
from holdfast.pages.answers import Answer


async def look(call: Call) -> Answer:
    return await call.show("numbers.html", "numbers", here="/console/numbers")


PAGES: Final = (Page("/console/numbers", "console_numbers", look),)
