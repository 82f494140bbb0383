"""The pools of the org."""

from __future__ import annotations

from typing import Final

from holdfast.console.calls import Call
from holdfast.console.page import Page
from holdfast.http.operations import granted
from holdfast.pages.answers import Answer


async def look(call: Call) -> Answer:
    pools = granted(await call.hf.pools())
    return await call.show("pools.html", "pools", here="/console/pools", pools=pools)


PAGES: Final = (Page("/console/pools", "console_pools", look),)
