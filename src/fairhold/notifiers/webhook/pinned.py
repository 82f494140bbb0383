"""Asks a server that somebody else has named, at the very address that the guard has looked at."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from fairhold.notifiers.webhook.guard import Guard
from fairhold.unlogged import unlogged

if TYPE_CHECKING:
    import httpx2


class Pinned:
    """Asks as the guard allows. How long it may take is for the caller to say."""

    def __init__(self, guard: Guard) -> None:
        self.guard = guard
        self._trusted: ssl.SSLContext | None = None

    @asynccontextmanager
    async def ask(
        self, method: str, address: str, headers: Mapping[str, str], body: bytes | None = None
    ) -> AsyncIterator[httpx2.Response]:
        """The answer, its body still to be read. Raises Permanent or Temporary, as the guard does."""
        # Only those who have webhooks or a provider pay for importing it.
        import httpx2

        # Reading the certificates takes a while, so it is done once.
        self._trusted = self._trusted or httpx2.create_ssl_context()
        found = await self.guard.resolve(address)
        url = httpx2.URL(address)
        # A proxy would resolve the name itself, and a redirect would lead where we have not looked.
        options: dict[str, Any] = {"verify": self._trusted, "timeout": None}
        async with httpx2.AsyncClient(trust_env=False, follow_redirects=False, **options) as client:
            request = client.build_request(
                method,
                url.copy_with(host=found),
                content=body,
                headers={**headers, "Host": url.netloc.decode()},
                extensions={"sni_hostname": url.host},
            )
            with unlogged():
                answer = await client.send(request, stream=True)
            try:
                yield answer
            finally:
                await answer.aclose()
