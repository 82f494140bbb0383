"""One path of the API: from the bytes of a request to the bytes of its answer, in plain ASGI.

In this order: which operation, who asks, may they, how often; the query, the body, the idempotency key; then
the library. Whatever goes wrong becomes a problem, and nothing has been changed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import msgspec

from fairhold import tokens
from fairhold.core.refusals import Refusal
from fairhold.errors import CommandFailed, FairholdError
from fairhold.http import bodies, cookies
from fairhold.http.from_here import must_be_from_here
from fairhold.http.operations import IDEMPOTENCY_KEY, NOBODY, Call, Nothing, Operation, Query, Told
from fairhold.http.problems import MEDIA_TYPE, Problem, not_found, of_error, of_refusal
from fairhold.http.streaming import stream_out
from fairhold.http.visit import Send, Visit
from fairhold.instants import in_utc
from fairhold.shapes import Booking, Outcome

if TYPE_CHECKING:
    from fairhold.http.service import Service

log = logging.getLogger("fairhold.http")

_JSON: Final = b"application/json"
_NAMED_MAX: Final = 100
_encoder = msgspec.json.Encoder()


class Endpoint:
    """All operations of one path."""

    def __init__(self, service: Service, operations: Mapping[str, Operation]) -> None:
        self._service = service
        self._operations = dict(operations)
        if "GET" in operations:
            self._operations["HEAD"] = operations["GET"]
        self._allowed = ", ".join(sorted(self._operations)).encode()
        self._decoders = {
            method: msgspec.json.Decoder(operation.body or Nothing)
            for method, operation in self._operations.items()
        }

    async def __call__(self, scope: Any, receive: Any, send: Send) -> None:
        visit: Visit = scope["fairhold"]
        operation = self._operations.get(scope["method"])
        try:
            if operation is None:
                detail = f"There is no {scope['method']} here."
                raise Problem("method_not_allowed", detail, headers=((b"allow", self._allowed),))
            visit.operation = operation.name
            answer = await self._answer(operation, scope, receive, visit)
        except bodies.Gone:
            visit.status = 499
            return
        except Problem as problem:
            await self._refuse(send, visit, problem)
            return
        except FairholdError as error:
            if isinstance(error, CommandFailed):
                log.error("a command failed", extra={"request_id": visit.request_id, "error": str(error)})
            await self._refuse(send, visit, of_error(error))
            return
        if isinstance(answer, AsyncIterator):
            if scope["method"] == "HEAD":
                await respond(send, visit, 200, b"", operation.media_type.encode())
                return
            patience_s = self._service.settings.stream_patience_s
            await stream_out(send, receive, scope, answer, operation.media_type, patience_s)
            return
        answer, more = answer if isinstance(answer, Told) else (answer, ())
        if isinstance(answer, bytes):
            await respond(send, visit, operation.status, answer, operation.media_type.encode(), more)
            return
        # What only would happen has made nothing.
        status = 200 if isinstance(answer, dict) else operation.status
        await respond(send, visit, status, _encoder.encode(answer), headers=more)

    async def _answer(self, operation: Operation, scope: Any, receive: Any, visit: Visit) -> Any:
        service, headers = self._service, dict(scope["headers"])
        hf = service.open_hf()
        now = asyncio.get_running_loop().time()
        secure = cookies.is_secure(scope, service.settings)
        access = NOBODY
        if operation.is_for_anybody:
            must_be_from_here(headers, service.settings.site)
        else:
            token = cookies.token_in(headers.get(b"cookie"), secure=secure)
            known = headers.get(b"authorization")
            access = await service.doorkeeper.admit(known, token, visit.address, now)
        visit.key, visit.org = access.key, access.org
        service.throttle(access, visit.address, now)
        if access.session is not None and scope["method"] not in ("GET", "HEAD"):
            must_be_from_here(headers, service.settings.site)
            cookies.must_say(headers, tokens.csrf_token(hf.secret, access.session))
        if access.role not in operation.roles:
            who = "key" if access.session is None else "member"
            raise Problem("forbidden", f"A {who} with the role {access.role} may not do this.")
        if any("\x00" in name for name in scope["path_params"].values()):
            # No database can keep it, so nothing is called that.
            raise not_found()
        query = bodies.asked(scope["query_string"], operation.query or Query)
        body = None
        if operation.body is not None:
            raw = await bodies.read(receive, headers, operation.body_max)
            if raw:
                bodies.must_be_json(headers.get(b"content-type"))
            body = bodies.decoded(raw, self._decoders[scope["method"]])
        elif operation.takes:
            bodies.must_be(operation.takes, headers.get(b"content-type"))
            body = bodies.text(await bodies.read(receive, headers, operation.body_max))
        key = _scoped(operation, headers.get(b"idempotency-key")) if operation.idempotent else None
        call = Call(
            service,
            service.hf_of(hf, access.org),
            access,
            scope["path_params"],
            query,
            body,
            visit.address,
            key,
            headers.get(b"last-event-id", b"").decode("latin-1"),
            secure,
        )
        if key is None:
            return await self._ask(operation, call)
        with service.in_flight(access.org, key):
            return await self._ask(operation, call)

    async def _ask(self, operation: Operation, call: Call) -> Any:
        if operation.may_rehearse and call.query.dry_run:
            # It tells of others: who would be offered what, and who would be told.
            call.must_be_staff("dry_run")
            answer: Any = await call.hf.dry_run(lambda hf: operation.handle(call.on(hf)))
        else:
            answer = await operation.handle(call)
        if isinstance(answer, Refusal):
            raise of_refusal(await _naming(call, answer))
        return in_utc(msgspec.to_builtins(answer)) if isinstance(answer, Outcome) else answer

    async def _refuse(self, send: Send, visit: Visit, problem: Problem) -> None:
        visit.code = problem.code
        await respond(send, visit, problem.status, problem.body(), MEDIA_TYPE, problem.headers)


def _scoped(operation: Operation, given: bytes | None) -> str | None:
    """An idempotency key belongs to its org and its operation."""
    if given is None:
        return None
    key = given.decode("latin-1")
    if not IDEMPOTENCY_KEY.fullmatch(key):
        detail = "An Idempotency-Key has 1 to 200 visible ASCII characters."
        raise Problem("invalid", detail, "Idempotency-Key")
    return f"{operation.name} {key}"


async def _naming(call: Call, refusal: Refusal) -> Refusal:
    """The refusal with the people it speaks of, for staff: who would lose their place."""
    named = refusal.facts.get("bookings")
    if not named or not call.is_staff:
        return refusal
    found = [await call.hf.booking(name) for name in named[:_NAMED_MAX]]
    who = [
        {"booking": b.id, "reference": b.reference, "party": {"id": b.party.id, "name": b.party.name}}
        for b in found
        if isinstance(b, Booking)
    ]
    return Refusal(refusal.code, refusal.sentence, refusal.field, {**refusal.facts, "who": who})


async def respond(
    send: Send,
    visit: Visit,
    status: int,
    body: bytes,
    media_type: bytes = _JSON,
    headers: tuple[tuple[bytes, bytes], ...] = (),
) -> None:
    """Send an answer that is whole."""
    visit.status = status
    common = [
        (b"content-type", media_type),
        (b"content-length", str(len(body)).encode()),
        (b"x-request-id", visit.request_id.encode()),
        (b"cache-control", b"no-store"),
        (b"x-content-type-options", b"nosniff"),
        *headers,
    ]
    await send({"type": "http.response.start", "status": status, "headers": common})
    await send({"type": "http.response.body", "body": body})
