"""Members of staff: invite, change, sign out, remove."""

from __future__ import annotations

from typing import Final

from fairhold.accounts.members import ROLES, Member
from fairhold.accounts.passkeys import passkeys_of, remove_passkey
from fairhold.console import tabs
from fairhold.console.calls import Call
from fairhold.console.page import ADMINS, Page
from fairhold.core.refusals import Refusal
from fairhold.http.operations import granted
from fairhold.http.problems import not_found
from fairhold.pages.answers import Answer

HERE: Final = f"{tabs.HOME}/members"
_SHOWN: Final = 1_000
_TOLD: Final = {
    "change": "member_changed",
    "invite": "member_changed",
    "sign-out": "member_signed_out",
    "remove-passkey": "passkey_removed",
}


async def look(call: Call) -> Answer:
    return await _list(call)


async def _list(call: Call, answer: Member | Refusal | None = None) -> Answer:
    made = answer if isinstance(answer, Member) else None
    return await tabs.show(
        call,
        "members.html",
        "members",
        here=HERE,
        refused=answer,
        said=call.form,
        members=await call.service.members.page(call.access.org, limit=_SHOWN),
        roles=ROLES,
        invited=made,
        link=_link(call, made),
    )


def _link(call: Call, member: Member | None) -> str:
    """Where who is invited chooses their password. It is shown once."""
    if member is None or member.invitation is None:
        return ""
    return f"{call.settings.base_url.rstrip('/')}/console/invitation/{member.invitation.token}"


async def invite(call: Call) -> Answer:
    form = call.form
    answer = await call.service.members.add(
        call.access.org,
        form.get("email", ""),
        form.get("name", "").strip(),
        form.get("role", ""),
        idempotency_key=tabs.once(call),
    )
    return await _list(call, answer)


async def one(call: Call) -> Answer:
    return await _one(call, granted(await call.service.members.one(call.access.org, call.path["member"])))


async def _one(call: Call, member: Member, refused: object = None, *, invited: bool = False) -> Answer:
    return await tabs.show(
        call,
        "member.html",
        "members",
        here=f"{HERE}/{member.id}",
        refused=refused,
        person=member,
        roles=ROLES,
        passkeys=await passkeys_of(call.hf.store, member.id),
        is_me=member.id == call.access.key,
        link=_link(call, member) if invited else "",
    )


async def act(call: Call) -> Answer:
    """Change, invite anew, sign out or remove."""
    name, org, members = call.path["member"], call.access.org, call.service.members
    member, form, key = granted(await members.one(org, name)), call.form, tabs.once(call)
    what = call.path["act"]
    if what == "change":
        answer: object = await members.change(
            org, name, email=form.get("email"), name=form.get("name"), role=form.get("role")
        )
    elif what == "invite":
        answer = await members.invite(org, name, idempotency_key=key)
    elif what == "sign-out":
        answer = await members.sign_out(org, name)
    elif what == "remove-passkey":
        answer = await remove_passkey(call.hf.store, name, form.get("id", ""))
    elif what == "remove":
        answer = await members.remove(org, name, idempotency_key=key)
    else:
        raise not_found()
    call.service.doorkeeper.forget()
    if isinstance(answer, Refusal):
        return await _one(call, member, answer)
    if what == "invite" and isinstance(answer, Member):
        return await _one(call, answer, invited=True)
    if what == "remove":
        return call.to(HERE, told="member_removed")
    return call.to(f"{HERE}/{name}", told=_TOLD[what])


async def back(call: Call) -> Answer:
    return call.to(f"{HERE}/{call.path['member']}")


PAGES: Final = (
    Page(HERE, "console_members", look, invite, ADMINS, ADMINS),
    Page(f"{HERE}/{{member}}", "console_member", one, None, ADMINS, ADMINS),
    Page(f"{HERE}/{{member}}/{{act}}", "console_member_act", back, act, ADMINS, ADMINS),
)
