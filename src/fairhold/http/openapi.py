"""The OpenAPI 3.1 document, built from the operations themselves: the types that are decoded and encoded."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from fairhold import __version__
from fairhold.http.cookies import NAME
from fairhold.http.health import Health
from fairhold.http.operations import Nothing, Operation
from fairhold.http.problems import STATUSES, TITLES, ProblemShape
from fairhold.keys import PATTERN
from fairhold.shapes import Outcome

_REF: Final = "#/components/schemas/{name}"
_ALWAYS: Final = ("unauthenticated", "forbidden", "invalid", "too_many_requests", "unavailable")
_WITH_BODY: Final = ("too_large", "unsupported_media_type")
_WITH_KEY: Final = ("idempotency_mismatch", "idempotency_in_flight", "outcome_unknown")
_PARAMETERS: Final = {
    "pool": "The pool's id or key.",
    "booking": "The booking's id, reference or edit token.",
    "token": "The token of an offer.",
    "label": "What the unit is called.",
    "opening": "The number of the opening.",
    "key": "The id of a key.",
    "member": "The id of a member.",
    "origin": "The id of an origin.",
    "message": "The id of a message.",
    "party": "The id that a party has booked with.",
    "webhook": "The id of a webhook.",
    "contact": "The id of a contact of staff.",
    "kind": "A kind of message, such as offer.",
    "language": "A language: en, fi or de.",
    "part": "What of the message: subject, body or sms.",
}
_TEXT: Final = """\
Fairhold gives out scarce seats fairly: it holds them while someone decides, queues people when there are
none, and offers a freed one to the next in turn.

Instants are UTC in ISO 8601, prices integer minor units. Lists page by `cursor`: follow `next` until null.
Every change takes an `Idempotency-Key`: the same key with the same body is done once and answered again the
same, for a day. A no is a problem (RFC 9457) with a stable `code`; what helps next stands beside it.

Programs come with a key, `Authorization: Bearer fh_…`. Staff may sign in: their session is in a cookie, and
every change says its CSRF token in `X-CSRF-Token`.
"""

_KEY: Final = f"A key: fh_…, its secret and a checksum. Every key matches {PATTERN}"


def document(operations: Sequence[Operation]) -> dict[str, Any]:
    """The whole document."""
    types: dict[Any, None] = dict.fromkeys([ProblemShape, Outcome, Health])
    for operation in operations:
        types |= dict.fromkeys([operation.answer, operation.body or Nothing])
    schemas, components = msgspec.json.schema_components(types, ref_template=_REF)
    schema_of = dict(zip(types, schemas, strict=True))
    components["ProblemShape"]["properties"]["code"] = {"type": "string", "enum": list(STATUSES)}
    components["ProblemShape"]["properties"]["status"] = {
        "type": "integer",
        "enum": sorted(set(STATUSES.values())),
    }
    for component in components.values():
        _tell_instants(component.get("properties", {}))
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _described(operation, schema_of)
    for path, summary in (("/healthz", "This process runs"), ("/readyz", "This process can serve")):
        paths[path] = {"get": _page(path, summary, schema_of[Health])}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Fairhold",
            "version": __version__,
            "description": _TEXT,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "security": [{"key": []}, {"session": []}],
        "tags": [{"name": tag} for tag in dict.fromkeys(operation.tag for operation in operations)],
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {
                "key": {"type": "http", "scheme": "bearer", "description": _KEY},
                "session": {
                    "type": "apiKey",
                    "in": "cookie",
                    "name": NAME,
                    "description": f"A session of a member; over https the cookie is called __Host-{NAME}",
                },
            },
        },
    }


def _tell_instants(properties: dict[str, Any]) -> None:
    """Say of each text that is an instant that it is one."""
    for name, schema in properties.items():
        if name in ("at", "now") or name.endswith("_at"):
            for kind in schema.get("anyOf", [schema]):
                if kind.get("type") == "string":
                    kind["format"] = "date-time"


def _described(operation: Operation, schema_of: dict[Any, Any]) -> dict[str, Any]:
    told: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "description": _for_whom(operation),
        "tags": [operation.tag],
        "parameters": _parameters(operation),
        "responses": _responses(operation, schema_of),
    }
    if operation.is_for_anybody:
        told["security"] = []
    if operation.body is not None:
        content: dict[str, Any] = {"schema": schema_of[operation.body]}
        if operation.example is not None:
            content["example"] = operation.example
        needed = any(field.required for field in msgspec.structs.fields(operation.body))
        told["requestBody"] = {"required": needed, "content": {"application/json": content}}
    if operation.takes:
        text = {"schema": {"type": "string"}, "example": operation.example}
        told["requestBody"] = {"required": True, "content": {operation.takes: text}}
    return told


def _for_whom(operation: Operation) -> str:
    if operation.is_for_anybody:
        return "For everybody, without a key."
    return f"For the roles {', '.join(sorted(operation.roles))}."


def _parameters(operation: Operation) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [
        {
            "name": name,
            "in": "path",
            "required": True,
            "description": _PARAMETERS[name],
            "schema": {"type": "string", "minLength": 1},
        }
        for name in re.findall(r"\{(\w+)\}", operation.path)
    ]
    if operation.query is not None:
        schema = msgspec.json.schema(operation.query)
        properties = schema["$defs"][operation.query.__name__]["properties"]
        found += [
            {"name": name, "in": "query", "required": False, "schema": given}
            for name, given in properties.items()
        ]
    if operation.idempotent:
        found.append(
            {
                "name": "Idempotency-Key",
                "in": "header",
                "required": False,
                "description": "The same key with the same body is done once and answered again the same.",
                "schema": {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[!-~]+$"},
            }
        )
    return found


def _responses(operation: Operation, schema_of: dict[Any, Any]) -> dict[str, Any]:
    media_type = operation.media_type.partition(";")[0]
    answer = _answer(operation.summary, schema_of[operation.answer], media_type)
    responses = {str(operation.status): answer}
    if operation.may_rehearse and operation.answer is not Outcome:
        would = schema_of[Outcome]
        if operation.status == 200:
            both = {"anyOf": [schema_of[operation.answer], would]}
            responses["200"] = _answer(f"{operation.summary}; or with dry_run, what would happen", both)
        else:
            responses["200"] = _answer("With dry_run: what would happen", would)
    codes = [*_ALWAYS, *operation.codes]
    codes += _WITH_BODY if operation.body is not None or operation.takes else ()
    codes += _WITH_KEY if operation.idempotent else ()
    by_status: dict[int, list[str]] = {}
    for code in dict.fromkeys(codes):
        by_status.setdefault(STATUSES[code], []).append(code)
    for status, named in sorted(by_status.items()):
        told = "; ".join(f"`{code}`: {TITLES[code]}" for code in named)
        responses[str(status)] = _answer(told, schema_of[ProblemShape], "application/problem+json")
    return responses


def _page(path: str, summary: str, schema: Any) -> dict[str, Any]:
    return {
        "operationId": path.strip("/"),
        "summary": summary,
        "tags": ["service"],
        "security": [],
        "responses": {"200": _answer("Yes", schema), "503": _answer("Not now", schema)},
    }


def _answer(description: str, schema: Any, media_type: str = "application/json") -> dict[str, Any]:
    return {"description": description, "content": {media_type: {"schema": schema}}}
