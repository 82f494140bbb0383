"""Every page of the console, and the way to one: who is signed in, may they, the form and its token.

GET and HEAD never change anything, but for the way back from a provider (`sign_on`). What a form asks for
must come from a page of ours, as the browser tells, and repeat the session's CSRF token.
"""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

from starlette.routing import Route

from fairhold.console import (
    add,
    booking,
    csv_files,
    edit_pool,
    find,
    happened,
    letters,
    needs_you,
    new_pool,
    numbers,
    pool,
    pools,
    settings,
    sign_in,
    sign_on,
    uploads,
)
from fairhold.console.calls import Call, guarded
from fairhold.console.page import ANYBODY, Page
from fairhold.console.wording import FILES, render
from fairhold.http import bodies, cookies
from fairhold.http.from_here import must_be_from_here
from fairhold.http.operations import NOBODY
from fairhold.http.problems import Problem, not_found
from fairhold.http.visit import Visit
from fairhold.outbox.settings import MessageSettings
from fairhold.pages import calls as pages
from fairhold.pages import site
from fairhold.pages.answers import HTML, Answer, see_other

if TYPE_CHECKING:
    from fairhold.http.service import Service

PAGES: Final = (
    *sign_in.PAGES,
    *sign_on.PAGES,
    *pools.PAGES,
    *new_pool.PAGES,
    *pool.PAGES,
    *edit_pool.PAGES,
    *add.PAGES,
    *csv_files.PAGES,
    *booking.PAGES,
    *find.PAGES,
    *needs_you.PAGES,
    *letters.PAGES,
    *happened.PAGES,
    *numbers.PAGES,
    *settings.PAGES,
)


def routes(service: Service) -> list[Route]:
    """The console, for the service's router."""
    told = MessageSettings.from_environment(here=service.settings.site)
    # What is written out goes before what is filled in: /console/pools/new is no pool of that name.
    listed = sorted(PAGES, key=lambda page: [part.startswith("{") for part in page.path.split("/")])
    return [Route(page.path, Address(service, page, told)) for page in listed]


class Address(site.Address):
    """One page of the console at its address."""

    def __init__(self, service: Service, page: Page, settings: MessageSettings) -> None:
        super().__init__(service, site.Page(page.path, page.name), settings)
        self.of_console = page
        self.ways = {"GET": page.look, "HEAD": page.look, "POST": page.send}
        self.allowed = ", ".join(name for name, handler in self.ways.items() if handler).encode()

    def call_of(self, scope: Any, visit: Visit) -> Call:
        hf = self.service.open_hf()
        if any("\x00" in value for value in scope["path_params"].values()):
            raise not_found()
        headers = dict(scope["headers"])
        call = Call(
            self.service,
            hf,
            self.settings,
            scope["path_params"],
            site.asked(scope["query_string"]),
            headers,
            visit.address,
            access=NOBODY,
        )
        call.secure = cookies.is_secure(scope, self.service.settings)
        return call

    async def reply_to(self, call: pages.Call, scope: Any, receive: Any) -> Any:
        assert isinstance(call, Call)
        sends = scope["method"] == "POST"
        handler = self.ways.get(scope["method"])
        if handler is None:
            raise Problem("method_not_allowed", "Not here.", headers=((b"allow", self.allowed),))
        await self._admit(call, self.of_console.senders if sends else self.of_console.lookers)
        if sends:
            must_be_from_here(call.headers, self.service.settings.site)
            raw = await bodies.read(receive, call.headers, self.of_console.body_max)
            call.form = uploads.filled_in(raw, call.headers.get(b"content-type"))
            if not hmac.compare_digest(call.form.get("csrf", "").encode(), call.csrf.encode()):
                raise Problem("forbidden", "The form does not say the session's CSRF token.", "csrf")
        reply = await handler(call)
        if scope["method"] == "HEAD" and isinstance(reply, AsyncIterator):
            await reply.aclose()  # type: ignore[attr-defined]
            return Answer(200, b"", b"text/event-stream")
        return reply

    async def _admit(self, call: Call, roles: frozenset[str]) -> None:
        now = asyncio.get_running_loop().time()
        token = cookies.token_in(call.headers.get(b"cookie"), secure=call.secure)
        if roles is ANYBODY:
            self.service.throttle(NOBODY, call.address, now)
            return
        call.signed_in(await self.service.doorkeeper.admit(None, token, call.address, now))
        self.service.throttle(call.access, call.address, now)
        if call.access.role not in roles:
            raise Problem("forbidden", f"A member with the role {call.access.role} may not do this.")

    def calm(self, call: pages.Call | None, scope: Any, visit: Visit, problem: Problem) -> Answer:
        """Who is not signed in is asked to; anything else that went wrong is a calm page."""
        visit.code = problem.code
        if problem.code == "unauthenticated" and call is not None:
            return self._to_sign_in(call, scope)
        shown = call or site.without_database(self.service, self.settings, scope)
        speech = shown.speech()
        member = call.access if call is not None and call.access.session is not None else None
        body = render(
            speech.language,
            "trouble.html",
            told="",
            speech=speech,
            url=shown.url,
            here="",
            languages=[],
            lang=shown.query.get("lang", ""),
            section="",
            member=member,
            may_act=isinstance(call, Call) and call.may_act,
            letters="",
            csrf=call.csrf if isinstance(call, Call) else "",
            needs_count=0,
            files={name: shown.static(name) for name in FILES},
            code=problem.code,
            detail=problem.detail,
            wait_s=problem.facts.get("retry_after_s", 0),
        )
        return Answer(problem.status, body, HTML, (*guarded(), *problem.headers))

    def _to_sign_in(self, call: pages.Call, scope: Any) -> Answer:
        # What only takes forms leads back, when one looks at it, to the page where its form is.
        query = {"told": "session_over", "next": scope["path"]} if scope["method"] == "POST" else {}
        if scope["method"] == "GET" and scope["path"] != "/console":
            asked = {name: value for name, value in call.query.items() if name not in ("told", "lang")}
            query = {"next": scope["path"] + ("?" + urlencode(asked) if asked else "")}
        answer = see_other(call.url("/console/sign-in", **query))
        return Answer(answer.status, b"", HTML, (*guarded(), *answer.headers))
