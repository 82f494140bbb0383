"""Keys of the API: make, look, revoke. A key is shown once."""

from __future__ import annotations

from typing import Final

from fairhold.console import tabs
from fairhold.console.calls import Call
from fairhold.console.page import ADMINS, Page
from fairhold.core.refusals import Refusal
from fairhold.http.operations import granted
from fairhold.keys import ROLES, ApiKey
from fairhold.pages.answers import Answer

HERE: Final = f"{tabs.HOME}/keys"
_SHOWN: Final = 1_000


async def look(call: Call) -> Answer:
    return await _show(call)


async def _show(call: Call, answer: ApiKey | Refusal | None = None) -> Answer:
    return await tabs.show(
        call,
        "keys.html",
        "keys",
        here=HERE,
        refused=answer,
        said=call.form,
        keys=await call.service.keys.page(call.access.org, limit=_SHOWN),
        roles=ROLES,
        made=answer if isinstance(answer, ApiKey) else None,
    )


async def make(call: Call) -> Answer:
    form = call.form
    answer = await call.service.keys.create(
        call.access.org, form.get("role", ""), form.get("name", "").strip(), tabs.once(call)
    )
    return await _show(call, answer)


async def revoke(call: Call) -> Answer:
    granted(await call.service.keys.revoke(call.access.org, call.path["key"]))
    call.service.doorkeeper.forget()
    call.service.watcher.ring(call.access.org)
    return call.to(HERE, told="key_revoked")


async def back(call: Call) -> Answer:
    return call.to(HERE)


PAGES: Final = (
    Page(HERE, "console_keys", look, make, ADMINS, ADMINS),
    Page(f"{HERE}/{{key}}/revoke", "console_key_revoke", back, revoke, ADMINS, ADMINS),
)
