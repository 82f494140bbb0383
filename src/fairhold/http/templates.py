"""An org's own words, and who of its staff is told."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from fairhold.core.refusals import Refusal, unknown
from fairhold.http.members import Removed
from fairhold.http.operations import ADMINS, READERS, STAFFS, Body, Call, Operation, Page, granted
from fairhold.http.problems import of_refusal
from fairhold.messages.languages import LANGUAGES
from fairhold.messages.wording import KINDS, PARTS
from fairhold.records import Preview, StaffContact, Template

Words = Annotated[str, Meta(min_length=1, max_length=5_000)]


class TemplateBody(Body, kw_only=True):
    """What is said, in one's own words: names, conditions and a few filters."""

    text: Words


class PreviewBody(Body, kw_only=True):
    """Words to try out; what is not among them is as the org has it."""

    subject: Words | UnsetType = UNSET
    body: Words | UnsetType = UNSET
    sms: Words | UnsetType = UNSET


class NewContact(Body, kw_only=True):
    """Where somebody of staff is told what needs them."""

    notifier: Literal["email", "sms", "apprise"]
    address: Annotated[str, Meta(min_length=1, max_length=1_000)]
    locale: Annotated[str, Meta(max_length=35)] = ""


async def every(call: Call) -> Page[Template]:
    return Page(await call.hf.templates())


async def one(call: Call) -> Template | Refusal:
    return await call.hf.template(*_named(call))


async def put(call: Call) -> Template | Refusal:
    return await call.hf.set_template(*_named(call), call.body.text, by=call.by_staff)


async def drop(call: Call) -> Removed | Refusal:
    named = _named(call)
    gone = granted(await call.hf.drop_template(*named, idempotency_key=call.key))
    return Removed("/".join(named)) if gone else unknown("template", "/".join(named))


async def preview(call: Call) -> Page[Preview] | Refusal:
    own: dict[str, str] = msgspec.to_builtins(call.body)
    return Page(granted(await call.hf.preview(*_spoken(call), own=own)))


def _named(call: Call) -> tuple[str, str, str]:
    """The part of a message that the path names, if there is one."""
    kind, language = _spoken(call)
    part = call.path["part"]
    if part not in PARTS:
        raise of_refusal(unknown("part", part))
    return kind, language, part


def _spoken(call: Call) -> tuple[str, str]:
    kind, language = call.path["kind"], call.path["language"]
    for what, name, there in (("kind", kind, KINDS), ("language", language, LANGUAGES)):
        if name not in there:
            raise of_refusal(unknown(what, name))
    return kind, language


async def contacts(call: Call) -> Page[StaffContact]:
    return Page(await call.hf.staff_contacts())


async def add_contact(call: Call) -> StaffContact | Refusal:
    body: NewContact = call.body
    return await call.hf.add_staff_contact(
        body.notifier, body.address, locale=body.locale, idempotency_key=call.key
    )


async def remove_contact(call: Call) -> Removed | Refusal:
    name = call.path["contact"]
    gone = granted(await call.hf.remove_staff_contact(name, idempotency_key=call.key))
    return Removed(name) if gone else unknown("contact", name)


_TEMPLATE: Final = "/v1/templates/{kind}/{language}/{part}"
_CONTACTS: Final = "/v1/staff-contacts"
OPERATIONS: Final = (
    Operation(
        "GET",
        "/v1/templates",
        "list_templates",
        "What the org says in its own words",
        every,
        READERS,
        Page[Template],
        tag="templates",
    ),
    Operation(
        "GET",
        _TEMPLATE,
        "get_template",
        "One part of a message in the org's own words",
        one,
        READERS,
        Template,
        codes=("unknown",),
        tag="templates",
    ),
    Operation(
        "PUT",
        _TEMPLATE,
        "set_template",
        "Say a part of a kind of message in one's own words",
        put,
        STAFFS,
        Template,
        body=TemplateBody,
        codes=("unknown",),
        tag="templates",
        example={"text": "Quick, {{ name }}: {{ pool }}"},
    ),
    Operation(
        "DELETE",
        _TEMPLATE,
        "drop_template",
        "Go back to Fairhold's words",
        drop,
        STAFFS,
        Removed,
        codes=("unknown",),
        tag="templates",
        idempotent=True,
    ),
    Operation(
        "POST",
        "/v1/previews/{kind}/{language}",
        "preview_message",
        "How a kind of message reads, with invented people; nothing is kept or sent",
        preview,
        STAFFS,
        Page[Preview],
        body=PreviewBody,
        codes=("unknown",),
        tag="templates",
        example={"subject": "Quick, {{ name }}: {{ pool }}"},
        idempotent=True,
    ),
    Operation(
        "GET",
        _CONTACTS,
        "list_staff_contacts",
        "Who of staff is told what needs them",
        contacts,
        ADMINS,
        Page[StaffContact],
        tag="staff contacts",
    ),
    Operation(
        "POST",
        _CONTACTS,
        "add_staff_contact",
        "Tell somebody of staff what needs them",
        add_contact,
        ADMINS,
        StaffContact,
        body=NewContact,
        status=201,
        codes=("invalid", "not_possible"),
        tag="staff contacts",
        example={"notifier": "email", "address": "desk@example.org", "locale": "fi"},
        idempotent=True,
    ),
    Operation(
        "DELETE",
        f"{_CONTACTS}/{{contact}}",
        "remove_staff_contact",
        "Tell them no more",
        remove_contact,
        ADMINS,
        Removed,
        codes=("unknown",),
        tag="staff contacts",
        idempotent=True,
    ),
)
