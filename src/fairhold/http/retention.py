"""For how long the org keeps what is over, for admins."""

from __future__ import annotations

from typing import Annotated, Final

from msgspec import Meta

from fairhold.core.refusals import Refusal
from fairhold.http.operations import ADMINS, Body, Call, Operation
from fairhold.retention_commands import DAYS_MAX, Retention

Days = Annotated[int, Meta(ge=1, le=DAYS_MAX)]


class RetentionBody(Body, kw_only=True):
    """For how many days; null is for ever."""

    people_days: Days | None
    messages_days: Days | None


async def one(call: Call) -> Retention:
    return await call.hf.retention()


async def put(call: Call) -> Retention | Refusal:
    body: RetentionBody = call.body
    return await call.hf.set_retention(
        people_days=body.people_days, messages_days=body.messages_days, by=call.by_staff
    )


OPERATIONS: Final = (
    Operation(
        "GET",
        "/v1/retention",
        "get_retention",
        "For how long the org keeps what is over",
        one,
        ADMINS,
        Retention,
        tag="keeping",
    ),
    Operation(
        "PUT",
        "/v1/retention",
        "set_retention",
        "Say for how many days names, contacts and answers are kept, and what messages said",
        put,
        ADMINS,
        Retention,
        body=RetentionBody,
        codes=("invalid",),
        tag="keeping",
        example={"people_days": 365, "messages_days": 90},
    ),
)
