"""Where nothing is: who comes with a browser gets a calm page, and a program the problem as anywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from fairhold.console import site as console
from fairhold.console.page import ANYBODY, Page
from fairhold.http.endpoint import respond
from fairhold.http.problems import MEDIA_TYPE, not_found
from fairhold.http.visit import Send
from fairhold.outbox.settings import MessageSettings
from fairhold.pages import site

if TYPE_CHECKING:
    from fairhold.http.service import Service
    from fairhold.pages.calls import Call

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
        scope["fairhold"].code = problem.code
        await respond(send, scope["fairhold"], problem.status, problem.body(), MEDIA_TYPE)


def _is_looked_at(scope: Any) -> bool:
    """Whether somebody looks with a browser: only those ask for HTML by its name."""
    asked = b",".join(value for name, value in scope["headers"] if name == b"accept")
    return scope["method"] in ("GET", "HEAD") and b"text/html" in asked


async def _look(call: Call) -> Any:
    raise not_found()
