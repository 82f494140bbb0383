"""Members of staff, for admins: add and invite, list, change, sign out, remove."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from fairhold.accounts.members import MEMBER, Member
from fairhold.core.refusals import Refusal
from fairhold.http.operations import ADMINS, Body, Call, Operation, Page, Paging, page
from fairhold.http.pools import wrong_cursor
from fairhold.http.session import SignedOut

Email = Annotated[str, Meta(min_length=3, max_length=254)]
Name = Annotated[str, Meta(min_length=1, max_length=100)]
Role = Literal["admin", "staff", "read"]


class NewMember(Body, kw_only=True):
    """A member to be added. The log keeps the name."""

    email: Email
    name: Name
    role: Role


class MemberChanges(Body, kw_only=True):
    """What of a member is to be changed; what is not said stays."""

    email: Email | None = None
    name: Name | None = None
    role: Role | None = None


class Removed(msgspec.Struct):
    """What was taken away."""

    id: str


async def add(call: Call) -> Member | Refusal:
    body: NewMember = call.body
    return await call.service.members.add(
        call.access.org, body.email, body.name, body.role, idempotency_key=call.key
    )


async def every(call: Call) -> Page[Member]:
    limit = call.limit()
    if call.query.cursor and not MEMBER.fullmatch(call.query.cursor):
        raise wrong_cursor()
    found = await call.service.members.page(call.access.org, call.query.cursor, limit + 1)
    return page(found, limit, lambda member: member.id)


async def one(call: Call) -> Member | Refusal:
    return await call.service.members.one(call.access.org, call.path["member"])


async def change(call: Call) -> Member | Refusal:
    body: MemberChanges = call.body
    answer = await call.service.members.change(
        call.access.org,
        call.path["member"],
        email=body.email,
        name=body.name,
        role=body.role,
        idempotency_key=call.key,
    )
    call.service.doorkeeper.forget()
    return answer


async def invite(call: Call) -> Member | Refusal:
    return await call.service.members.invite(call.access.org, call.path["member"], idempotency_key=call.key)


async def remove(call: Call) -> Removed | Refusal:
    answer = await call.service.members.remove(call.access.org, call.path["member"], idempotency_key=call.key)
    call.service.doorkeeper.forget()
    return answer if isinstance(answer, Refusal) else Removed(answer)


async def sign_out(call: Call) -> SignedOut | Refusal:
    ended = await call.service.members.sign_out(call.access.org, call.path["member"])
    call.service.doorkeeper.forget()
    return ended if isinstance(ended, Refusal) else SignedOut(ended)


_MEMBER: Final = "/v1/members/{member}"
OPERATIONS: Final = (
    Operation(
        "POST",
        "/v1/members",
        "add_member",
        "Add a member of staff; the invitation is in this answer and nowhere else",
        add,
        ADMINS,
        Member,
        body=NewMember,
        status=201,
        codes=("invalid", "exists"),
        tag="members",
        example={"email": "olga@example.org", "name": "Olga", "role": "staff"},
        idempotent=True,
    ),
    Operation(
        "GET",
        "/v1/members",
        "list_members",
        "List the members of staff of the org",
        every,
        ADMINS,
        Page[Member],
        query=Paging,
        tag="members",
    ),
    Operation(
        "GET",
        _MEMBER,
        "get_member",
        "A member of staff",
        one,
        ADMINS,
        Member,
        codes=("unknown",),
        tag="members",
    ),
    Operation(
        "PATCH",
        _MEMBER,
        "change_member",
        "Change the e-mail, name or role of a member",
        change,
        ADMINS,
        Member,
        body=MemberChanges,
        codes=("unknown", "exists", "not_possible"),
        tag="members",
        example={"role": "admin"},
        idempotent=True,
    ),
    Operation(
        "DELETE",
        _MEMBER,
        "remove_member",
        "Remove a member; they are signed out everywhere",
        remove,
        ADMINS,
        Removed,
        codes=("unknown", "not_possible"),
        tag="members",
        idempotent=True,
    ),
    Operation(
        "POST",
        f"{_MEMBER}/invite",
        "invite_member",
        "Invite a member anew, to choose a password; earlier invitations end",
        invite,
        ADMINS,
        Member,
        codes=("unknown",),
        tag="members",
        idempotent=True,
    ),
    Operation(
        "DELETE",
        f"{_MEMBER}/sessions",
        "sign_out_member",
        "Sign a member out everywhere",
        sign_out,
        ADMINS,
        SignedOut,
        codes=("unknown",),
        tag="members",
    ),
)
