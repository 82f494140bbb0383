"""Settings of the org: keys, webhooks, templates, members."""

from __future__ import annotations

from typing import Final

from holdfast.console.calls import Call
from holdfast.console.page import Page
from holdfast.pages.answers import Answer


async def look(call: Call) -> Answer:
    return await call.show("settings.html", "settings", here="/console/settings")


PAGES: Final = (Page("/console/settings", "console_settings", look),)
