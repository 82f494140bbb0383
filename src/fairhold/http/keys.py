"""Keys, for admins: make, list, revoke. A key is shown once, when it is made."""

from __future__ import annotations

import re
from typing import Annotated, Final, Literal

from msgspec import Meta

from fairhold.core.refusals import Refusal
from fairhold.http.operations import ADMINS, Body, Call, Operation, Page, Paging, page
from fairhold.http.pools import wrong_cursor
from fairhold.keys import ApiKey


class NewKey(Body, kw_only=True):
    """A key to be made."""

    role: Literal["admin", "staff", "read", "public"]
    name: Annotated[str, Meta(min_length=1, max_length=100)]


async def create(call: Call) -> ApiKey | Refusal:
    return await call.service.keys.create(call.access.org, call.body.role, call.body.name, call.key)


async def every(call: Call) -> Page[ApiKey]:
    limit = call.limit()
    if call.query.cursor and not re.fullmatch("k[0-9a-f]{16}", call.query.cursor):
        raise wrong_cursor()
    found = await call.service.keys.page(call.access.org, call.query.cursor, limit + 1)
    return page(found, limit, lambda key: key.id)


async def revoke(call: Call) -> ApiKey | Refusal:
    answer = await call.service.keys.revoke(call.access.org, call.path["key"])
    call.service.doorkeeper.forget()
    call.service.watcher.ring(call.access.org)
    return answer


OPERATIONS: Final = (
    Operation(
        "POST",
        "/v1/keys",
        "create_key",
        "Make a key; its secret is in this answer and nowhere else",
        create,
        ADMINS,
        ApiKey,
        body=NewKey,
        status=201,
        codes=("invalid", "idempotency_mismatch"),
        tag="keys",
        example={"role": "public", "name": "web site"},
        idempotent=True,
    ),
    Operation(
        "GET",
        "/v1/keys",
        "list_keys",
        "List the keys of the org, the revoked ones too",
        every,
        ADMINS,
        Page[ApiKey],
        query=Paging,
        tag="keys",
    ),
    Operation(
        "DELETE",
        "/v1/keys/{key}",
        "revoke_key",
        "Revoke a key, for good",
        revoke,
        ADMINS,
        ApiKey,
        codes=("unknown",),
        tag="keys",
    ),
)
