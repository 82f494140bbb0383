"""Settings: one's own password, and the way to what the org has set up."""

from __future__ import annotations

from typing import Final

from fairhold.accounts.members import has_password
from fairhold.accounts.passkeys import passkeys_of
from fairhold.accounts.passwords import LENGTH_MIN
from fairhold.console import keys, members, own_words, passkeys, places, tabs, webhooks
from fairhold.console.calls import Call
from fairhold.console.page import READERS, Page
from fairhold.core.refusals import Refusal
from fairhold.http.limits import slow_down
from fairhold.pages.answers import Answer

HERE: Final = tabs.HOME


async def look(call: Call) -> Answer:
    return await _show(call)


async def _show(call: Call, refused: Refusal | None = None) -> Answer:
    session, found = await passkeys.mine(call), call.service.passkeys
    return await tabs.show(
        call,
        "you.html",
        "you",
        here=HERE,
        refused=refused,
        me=session.member,
        length_min=LENGTH_MIN,
        has_password=await has_password(call.hf.store, session.member.id),
        passkeys=await passkeys_of(call.hf.store, session.member.id),
        can_add="" if found is None else "yes" if found.is_fresh(session) else "later",
    )


async def change_password(call: Call) -> Answer:
    """One's other sessions end with the old password."""
    service = call.service
    session = await passkeys.mine(call)
    if service.passwords.is_crowded:
        raise slow_down(1)
    async with service.attempts.attempt(session.member.id, call.address, call.now) as attempt:
        changed = await service.sessions.change_password(
            session, call.form.get("password", ""), call.form.get("new_password", "")
        )
        attempt.good = changed is not False
    if isinstance(changed, Refusal):
        return await _show(call, changed)
    if not changed:
        return await _show(call, Refusal("forbidden", "This is not your password.", "password"))
    service.doorkeeper.forget()
    return call.to(HERE, told="password_changed")


async def back(call: Call) -> Answer:
    return call.to(HERE)


PAGES: Final = (
    Page(HERE, "console_settings", look),
    Page(f"{HERE}/password", "console_password", back, change_password, READERS, READERS),
    *passkeys.PAGES,
    *members.PAGES,
    *keys.PAGES,
    *webhooks.PAGES,
    *own_words.PAGES,
    *places.PAGES,
)
