"""One request for a page of the console: who is signed in, what they may do, and how they are answered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from fairhold import tokens
from fairhold.console import needs, wording
from fairhold.core.refusals import Refusal
from fairhold.http.operations import ADMINS, STAFFS
from fairhold.keys import Access
from fairhold.pages import answers
from fairhold.pages import calls as pages
from fairhold.pages.answers import Answer, see_other
from fairhold.pages.speech import PageSpeech

# What a page says once in words of its own, after something was done or refused: see notices.html.
TOLD_MAX: Final = 40
# What becomes of letters where none goes out: they are kept in a drawer, or nothing can send them.
DRAWER: Final = "drawer"
NOTHING: Final = "nothing"


@dataclass(slots=True)
class Call(pages.Call):
    """One request of a member of staff, or of somebody who is about to sign in."""

    secure: bool = False

    # Who asks.

    def signed_in(self, access: Access) -> None:
        self.access = access
        self.hf = self.service.hf_of(self.hf, access.org)

    @property
    def may_act(self) -> bool:
        return self.access.role in STAFFS

    @property
    def is_admin(self) -> bool:
        return self.access.role in ADMINS

    @property
    def by(self) -> str:
        """Who does it, for the log."""
        return f"staff:{self.access.name}"

    @property
    def csrf(self) -> str:
        """What every form says beside the session's cookie."""
        return tokens.csrf_token(self.hf.secret, self.access.session) if self.access.session else ""

    async def letters(self) -> str:
        """Return what becomes of letters here: DRAWER, NOTHING, or empty where they are sent."""
        outbox = self.hf.outbox
        if outbox is not None and outbox.drawer is not None:
            return DRAWER
        return "" if await self.can_tell() else NOTHING

    # How it is answered.

    async def show(
        self,
        template: str,
        section: str,
        *,
        here: str,
        speech: PageSpeech | None = None,
        status: int = 200,
        **variables: Any,
    ) -> Answer:
        """A page, filled in. `section` is the entry of the navigation, `here` its own address."""
        speech = speech or self.speech()
        session = self.access.session is not None
        told = self.query.get("told", "")[:TOLD_MAX]
        body = wording.render(
            speech.language,
            template,
            **{
                "told": told,
                "speech": speech,
                "url": self.url,
                "here": self.url(here),
                "languages": self.languages(speech, here),
                "section": section,
                "lang": self.query.get("lang", ""),
                "member": self.access if session else None,
                "may_act": self.may_act,
                "is_admin": self.is_admin,
                "csrf": self.csrf,
                "needs_count": await needs.count(self) if session else 0,
                "letters": await self.letters() if session else "",
                "files": {name: self.static(name) for name in wording.FILES},
                **variables,
            },
        )
        return Answer(status, body, answers.HTML, guarded())

    def to(self, path: str, /, **query: str) -> Answer:
        """Go and look there: what was done is done, and to reload does it no second time."""
        return see_other(self.url(path, **query))

    def done(self, path: str, answer: object, told: str, **query: str) -> Answer:
        """Back to a page, which says what was done, or why not."""
        if isinstance(answer, Refusal):
            told = answer.code
        return self.to(path, told=told, **query)


def guarded() -> answers.Headers:
    """The headers of a page of the console. Its address is no secret, but what it shows is not for all."""
    return (*answers.guarded(private=False), (b"x-robots-tag", b"noindex, nofollow"))
