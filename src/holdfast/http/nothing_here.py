"""Where nothing is: who comes with a browser gets a calm page, and a program the problem as anywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from holdfast.console import site as console
from holdfast.console.page import ANYBODY, Page
from holdfast.http.endpoint import respond
from holdfast.http.problems import MEDIA_TYPE, not_found
from holdfast.http.visit import Send
from holdfast.outbox.settings import MessageSettings
from holdfast.pages import site

if TYPE_CHECKING:
    from holdfast.http.service import Service
    from holdfast.pages.calls import Call

_NAME: Final = "nothing_here"


class NothingHere:
    """What the router turns to when no address fits."""

    def __init__(self, service: Service) -> None:
        told = MessageSettings.from_environment(here=service.settings.site)
        self._page = site.Address(service, site.Page("", _NAME, _look), told)
        self._console = console.Address(service, Page("", _NAME, _look, lookers=ANYBODY), told)

    async def __call__(self, scope: Any, receive: Any, send: Send) -> None:
        path = scope["path"]
        if _is_looked_at(scope) and not path.startswith("/v1/"):
            scope["path_params"] = {}
            await (self._console if path.startswith("/console/") else self._page)(scope, receive, send)
            return
        problem = not_found()
        scope["holdfast"].code = problem.code
        await respond(send, scope["holdfast"], problem.status, problem.body(), MEDIA_TYPE)


def _is_looked_at(scope: Any) -> bool:
    """Whether somebody looks with a browser: only those ask for HTML by its name."""
    asked = b",".join(value for name, value in scope["headers"] if name == b"accept")
    return scope["method"] in ("GET", "HEAD") and b"text/html" in asked


async def _look(call: Call) -> Any:
    raise not_found()
