"""One request for a page, on its way: whose it is, what it asks, and in which language to answer."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode, urlsplit

from fairhold import ids, tokens
from fairhold.addresses import is_loopback
from fairhold.core.model import Instant
from fairhold.http.problems import Problem
from fairhold.keys import PUBLIC, Access
from fairhold.library import ORG, Fairhold
from fairhold.messages.languages import LANGUAGES
from fairhold.outbox.settings import MessageSettings
from fairhold.outbox.targets import PHONES
from fairhold.pages import answers, static, wording
from fairhold.pages.answers import Answer
from fairhold.pages.speech import NAMES, PageSpeech, preferred

if TYPE_CHECKING:
    from fairhold.http.service import Service

_NOBODY: Final = Access("pages", "", PUBLIC, "pages")
_ANY: Final = frozenset({"email", "sms"})
# By these, and by all that begin with X-Forwarded-, a proxy says that it asks for somebody else.
_OF_PROXIES: Final = frozenset({b"forwarded", b"via", b"x-real-ip"})


@dataclass(slots=True)
class Call:
    """One request."""

    service: Service
    hf: Fairhold
    settings: MessageSettings
    path: Mapping[str, str]
    query: Mapping[str, str]
    headers: Mapping[bytes, bytes]
    address: str
    embedded: bool = False
    form: Mapping[str, str] = field(default_factory=dict)
    access: Access = _NOBODY
    framed_by: Sequence[str] = ()

    @property
    def now(self) -> Instant:
        return self.hf.clock.now()

    # Whose it is.

    async def of(self, pool_id: int) -> None:
        """From now on this is about a pool's org."""
        org = await self.hf.reads.org_of(pool_id)
        if org is None:
            raise gone()
        self.access = Access("pages", org, PUBLIC, "pages")
        self.hf = self.service.hf_of(self.hf, org)
        if self.embedded:
            self.framed_by = [it.origin for it in await self.hf.origins()]

    async def pool_id(self) -> int:
        """The pool of the path: by its id, or by its key if it is of the first org."""
        name = self.path["pool"]
        pool_id = ids.pool_number(name) or await self.hf.reads.pool_id(name, ORG)
        if pool_id is None:
            raise gone()
        await self.of(pool_id)
        return pool_id

    async def booking_key(self) -> tuple[int, int]:
        """The pool and number of the booking whose edit token the path holds."""
        key = tokens.booking_of_edit_token(self.hf.secret, self.path["token"])
        if key is None:
            raise gone()
        await self.of(key[0])
        return key

    async def offer_key(self) -> tuple[int, int, int]:
        """The pool, number and seq of the offer whose token the path holds."""
        key = tokens.offer_of_token(self.hf.secret, self.path["token"])
        if key is None:
            raise gone()
        await self.of(key[0])
        return key

    async def can_tell(self, contacts: Mapping[str, str] | None = None, kind: str = "offer") -> bool:
        """Return True if there is a channel that could tell somebody of an offer who signs up here.

        With `contacts`: somebody who is reached at these; with `kind`: of something else. A drawer of letters
        is a channel for whoever asks under the machine's own address alone: nobody else can read it. A
        program that is told of offers carries them, too. Without an outbox in this process another one sends.
        """
        outbox = self.hf.outbox
        channels = _ANY if outbox is None else outbox.channels
        if outbox is not None and outbox.drawer is not None and not self._is_asked_here():
            channels = frozenset()
        if channels and (contacts is None or _carry(channels, contacts)):
            return True
        return any(not it.kinds or kind in it.kinds for it in await self.hf.webhooks())

    def _is_asked_here(self) -> bool:
        """Return True if somebody at this very machine asks, and no proxy for others."""
        if any(name in _OF_PROXIES or name.startswith(b"x-forwarded-") for name in self.headers):
            return False
        try:
            host = urlsplit(f"//{self.headers.get(b'host', b'').decode('latin-1')}").hostname
        except ValueError:
            return False
        return is_loopback(host or "") and is_loopback(self.address)

    # How it is answered.

    def speech(self, time_zone: str = "UTC", party: str = "") -> PageSpeech:
        accept = self.headers.get(b"accept-language", b"").decode("latin-1")
        locale = preferred(self.query.get("lang", ""), party, accept, self.settings.locale)
        found = PageSpeech.of(locale, self.settings.locale, time_zone)
        assert isinstance(found, PageSpeech)
        return found

    def url(self, path: str, /, **query: str) -> str:
        """An address of ours, in the language that was asked for."""
        prefix = urlsplit(self.settings.base_url).path.rstrip("/")
        asked = {"lang": self.query["lang"]} if self.query.get("lang") in LANGUAGES else {}
        said = urlencode({**asked, **query})
        return f"{prefix}{path}{'?' if said else ''}{said}"

    def booking_url(self, token: str, **query: str) -> str:
        return self.url(f"/embed/b/{token}" if self.embedded else f"/b/{token}", **query)

    def pool_url(self, pool: str, **query: str) -> str:
        return self.url(f"/embed/{pool}" if self.embedded else f"/p/{pool}", **query)

    def page(
        self,
        template: str,
        speech: PageSpeech,
        *,
        here: str,
        private: bool,
        status: int = 200,
        **variables: Any,
    ) -> Answer:
        """A page, filled in. `here` is its own address, without the language."""
        body = wording.render(
            speech.language,
            template,
            speech=speech,
            url=self.url,
            here=self.url(here),
            languages=self.languages(speech, here),
            embedded=self.embedded,
            palette=self.static("palette.css"),
            style=self.static("pages.css"),
            script=self.static("pages.js"),
            favicon=self.static("icon.svg"),
            **variables,
        )
        framed_by = self.framed_by if self.embedded else None
        return Answer(status, body, answers.HTML, answers.guarded(private=private, framed_by=framed_by))

    def languages(self, speech: PageSpeech, here: str) -> list[tuple[str, str, str]]:
        """Every language with its name, and where this page is in it; nowhere for the one that is spoken."""
        return [
            (code, NAMES[code], self.url(here, lang=code) if code != speech.language else "")
            for code in LANGUAGES
            if here
        ]

    def static(self, name: str) -> str:
        return self.url(static.address(name)).partition("?")[0]


Reply = Answer | AsyncIterator[bytes]
Handler = Callable[[Call], Awaitable[Reply]]


def _carry(channels: Set[str], contacts: Mapping[str, str]) -> bool:
    """Return True if one of the channels leads to one of the contacts."""
    by_phone = "sms" in channels and any(contacts.get(name) for name in PHONES)
    return by_phone or ("email" in channels and bool(contacts.get("email")))


def gone() -> Problem:
    return Problem("unknown", "This link is not one of ours, or not whole.")
