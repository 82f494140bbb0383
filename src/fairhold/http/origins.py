"""Origins, for admins: whose web sites may show the org's pages in a frame."""

from __future__ import annotations

from typing import Annotated, Final

from msgspec import Meta

from fairhold.core.refusals import Refusal
from fairhold.http.operations import ADMINS, Body, Call, Operation, Page
from fairhold.origin_commands import Origin


class NewOrigin(Body, kw_only=True):
    """A web site to be allowed: a scheme and a host."""

    origin: Annotated[str, Meta(min_length=1, max_length=300)]


async def every(call: Call) -> Page[Origin]:
    return Page(await call.hf.origins())


async def allow(call: Call) -> Origin | Refusal:
    return await call.hf.allow_origin(call.body.origin)


async def remove(call: Call) -> Origin | Refusal:
    return await call.hf.remove_origin(call.path["origin"])


OPERATIONS: Final = (
    Operation(
        "PUT",
        "/v1/origins",
        "allow_origin",
        "Let a web site show the org's pages in a frame; allowed twice is allowed once",
        allow,
        ADMINS,
        Origin,
        body=NewOrigin,
        codes=("invalid", "not_possible"),
        tag="pages",
        example={"origin": "https://example.org"},
    ),
    Operation(
        "GET",
        "/v1/origins",
        "list_origins",
        "List the web sites that may show the org's pages in a frame",
        every,
        ADMINS,
        Page[Origin],
        tag="pages",
    ),
    Operation(
        "DELETE",
        "/v1/origins/{origin}",
        "remove_origin",
        "Let a web site show the org's pages no more, by its id",
        remove,
        ADMINS,
        Origin,
        codes=("unknown",),
        tag="pages",
    ),
)
