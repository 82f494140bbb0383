"""Settings: one's own password, and the way to what the org has set up."""

from __future__ import annotations

from typing import Final

from holdfast.accounts.passwords import LENGTH_MIN
from holdfast.console import keys, members, own_words, places, tabs, webhooks
from holdfast.console.calls import Call
from holdfast.console.page import READERS, Page
from holdfast.core.refusals import Refusal
from holdfast.http.limits import slow_down
from holdfast.http.problems import Problem
from holdfast.pages.answers import Answer

HERE: Final = tabs.HOME


async def look(call: Call) -> Answer:
    return await _show(call)


async def _show(call: Call, refused: Refusal | None = None) -> Answer:
    assert call.access.session is not None
    session = await call.service.sessions.one(call.access.session, used_at=call.now)
    if session is None:
        raise Problem("unauthenticated", "This session is over.")
    return await tabs.show(
        call, "you.html", "you", here=HERE, refused=refused, me=session.member, length_min=LENGTH_MIN
    )


async def change_password(call: Call) -> Answer:
    """One's other sessions end with the old password."""
    service = call.service
    assert call.access.session is not None
    session = await service.sessions.one(call.access.session, used_at=call.now)
    if session is None:
        raise Problem("unauthenticated", "This session is over.")
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
    *members.PAGES,
    *keys.PAGES,
    *webhooks.PAGES,
    *own_words.PAGES,
    *places.PAGES,
)
