"""Every page, as data: where it is, what looking at it does, and what sending its form does.

From the bytes of a request to the bytes of its answer, in plain ASGI, as the API has it: who asks how often,
the query, the form, then the page. Whatever goes wrong becomes a calm page, and nothing has been changed. GET
and HEAD never change anything.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import parse_qsl

from starlette.routing import Route

from fairhold.errors import CommandFailed, FairholdError
from fairhold.http import bodies
from fairhold.http.problems import Problem, not_found, of_error
from fairhold.http.streaming import stream_out
from fairhold.http.visit import Send, Visit
from fairhold.outbox.settings import MessageSettings
from fairhold.pages import booking, forms, offer, pool, static, tickets
from fairhold.pages.answers import Answer
from fairhold.pages.calls import Call, Handler

if TYPE_CHECKING:
    from fairhold.http.service import Service

log = logging.getLogger("fairhold.http")

_QUERY_MAX: Final = 2_048
_EVENTS: Final = "text/event-stream"


class Page(NamedTuple):
    """One address of the site. Looking is GET and HEAD; a form is sent by POST."""

    path: str
    name: str
    look: Handler | None = None
    send: Handler | None = None


PAGES: Final = (
    Page("/p/{pool}", "pool_page", pool.look, pool.sign_up),
    Page("/p/{pool}/stream", "pool_page_stream", pool.watch),
    Page("/embed/{pool}", "embedded_pool_page", pool.look, pool.sign_up),
    Page("/embed/{pool}/stream", "pool_page_stream", pool.watch),
    *(
        page
        for prefix in ("/b/{token}", "/embed/b/{token}")
        for page in (
            Page(prefix, "booking_page", booking.look),
            Page(f"{prefix}/stream", "booking_page_stream", booking.watch),
            Page(f"{prefix}/confirm", "booking_page_confirm", booking.back, booking.confirm),
            Page(f"{prefix}/details", "booking_page_details", booking.back, booking.details),
            Page(f"{prefix}/extend", "booking_page_extend", booking.back, booking.extend),
            Page(f"{prefix}/cancel", "booking_page_cancel", booking.back, booking.cancel),
        )
    ),
    Page("/b/{token}/calendar.ics", "booking_calendar", tickets.calendar),
    Page("/b/{token}/code.svg", "booking_code", tickets.code),
    Page("/o/{token}", "offer_page", offer.look),
    Page("/o/{token}/stream", "offer_page_stream", offer.watch),
    Page("/o/{token}/claim", "offer_page_claim", offer.back, offer.claim),
    Page("/o/{token}/decline", "offer_page_decline", offer.back, offer.decline),
    Page("/static/{digest}/{name}", "static", static.file),
)


def routes(service: Service, pages: Sequence[Page] = PAGES) -> list[Route]:
    """The pages, for the service's router. Signing up can be left out, what messages link to cannot."""
    settings = MessageSettings.from_environment(here=service.settings.site)
    listed = [page for page in pages if service.settings.pages or page.look not in (pool.look, pool.watch)]
    # The longer path first: /embed/b/TOKEN is a booking, not a pool with a name of its own.
    listed.sort(key=lambda page: -page.path.count("/"))
    return [Route(page.path, Address(service, page, settings)) for page in listed]


class Address:
    """One page at its address."""

    def __init__(self, service: Service, page: Page, settings: MessageSettings) -> None:
        self.service = service
        self.page = page
        self.settings = settings
        self.handlers: Mapping[str, Handler | None] = {
            "GET": page.look,
            "HEAD": page.look,
            "POST": page.send,
        }
        self.allowed = ", ".join(name for name, handler in self.handlers.items() if handler).encode()

    async def __call__(self, scope: Any, receive: Any, send: Send) -> None:
        visit: Visit = scope["fairhold"]
        visit.operation = self.page.name
        call: Call | None = None
        try:
            call = self.call_of(scope, visit)
            reply = await self.reply_to(call, scope, receive)
        except bodies.Gone:
            visit.status = 499
            return
        except Problem as problem:
            reply = self.calm(call, scope, visit, problem)
        except FairholdError as error:
            if isinstance(error, CommandFailed):
                log.error("a command failed", extra={"request_id": visit.request_id, "error": str(error)})
            reply = self.calm(call, scope, visit, of_error(error))
        if call is not None:
            visit.org = call.access.org
        if isinstance(reply, AsyncIterator):
            patience_s = self.service.settings.stream_patience_s
            await stream_out(send, receive, scope, reply, _EVENTS, patience_s)
            return
        await _send(send, visit, reply)

    def call_of(self, scope: Any, visit: Visit) -> Call:
        hf = self.service.open_hf()
        if any("\x00" in value for value in scope["path_params"].values()):
            raise not_found()
        embedded = self.page.path.startswith("/embed/")
        return Call(
            self.service,
            hf,
            self.settings,
            scope["path_params"],
            asked(scope["query_string"]),
            dict(scope["headers"]),
            visit.address,
            embedded,
        )

    async def reply_to(self, call: Call, scope: Any, receive: Any) -> Any:
        handler = self.handlers.get(scope["method"])
        if handler is None:
            raise Problem("method_not_allowed", "Not here.", headers=((b"allow", self.allowed),))
        self.service.throttle(call.access, call.address, asyncio.get_running_loop().time())
        if scope["method"] == "POST":
            raw = await bodies.read(receive, call.headers, forms.BODY_MAX)
            call.form = forms.filled_in(raw, call.headers.get(b"content-type"))
        reply = await handler(call)
        if scope["method"] == "HEAD" and isinstance(reply, AsyncIterator):
            await reply.aclose()  # type: ignore[attr-defined]
            return Answer(200, b"", _EVENTS.encode())
        return reply

    def calm(self, call: Call | None, scope: Any, visit: Visit, problem: Problem) -> Answer:
        """A page that says what went wrong, whatever that is."""
        visit.code = problem.code
        call = call or without_database(self.service, self.settings, scope)
        answer = call.page(
            "problem.html",
            call.speech(),
            here="",
            private=True,
            status=problem.status,
            code=problem.code,
            wait_s=problem.facts.get("retry_after_s", 0),
        )
        return Answer(answer.status, answer.body, answer.media_type, (*answer.headers, *problem.headers))


def without_database(service: Service, settings: MessageSettings, scope: Any) -> Call:
    """Enough of a call to say that we are sorry."""
    nothing: Any = None
    return Call(service, nothing, settings, {}, asked(scope["query_string"]), dict(scope["headers"]), "")


def asked(query: bytes) -> dict[str, str]:
    """What the address says behind its question mark; what cannot be read says nothing."""
    try:
        pairs = parse_qsl(query[:_QUERY_MAX].decode("ascii"), errors="replace", max_num_fields=20)
    except (UnicodeDecodeError, ValueError):
        return {}
    return dict(pairs)


async def _send(send: Send, visit: Visit, answer: Answer) -> None:
    visit.status = answer.status
    headers = [
        (b"content-type", answer.media_type),
        (b"content-length", str(len(answer.body)).encode()),
        (b"x-request-id", visit.request_id.encode()),
        *answer.headers,
    ]
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": answer.body})
