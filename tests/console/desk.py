"""Somebody of staff with a browser that has no scripts: signs in, looks at pages, fills in their forms."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any, ClassVar

from fairhold import Fairhold
from fairhold.accounts.members import Member, Members
from fairhold.accounts.passwords import Passwords
from tests.http.server import Plain
from tests.own_thread import run_in_own_thread

PASSWORD = "correct horse battery"
MEMBERS = [("Olga", "admin", "default"), ("Sam", "staff", "default"), ("Rita", "read", "default")]
MEMBERS += [("Otto", "admin", "theirs")]


def email_of(name: str) -> str:
    return f"{name.lower()}@example.org"


class Once(Passwords):
    """All have the one password, so it is hashed once in a run: that takes its time."""

    _known: ClassVar[dict[str, str]] = {}

    async def hashed(self, password: str) -> str:
        if password not in self._known:
            self._known[password] = await super().hashed(password)
        return self._known[password]


def make_members(url: str) -> None:
    """Members with passwords, made as the command line makes them."""

    async def make() -> None:
        async with Fairhold.open(url, ticker=False) as hf:
            members, hashing = Members(hf.store, hf.clock, hf.secret), Once()
            for name, role, org in MEMBERS:
                assert isinstance(await members.add(org, email_of(name), name, role), Member)
                made = await members.set_password(org, email_of(name), PASSWORD, hashing)
                assert isinstance(made, Member)

    run_in_own_thread(make)


class Forms(HTMLParser):
    """The forms of a page: method, action, and their fields as a browser would send them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.forms: list[tuple[str, str, dict[str, str]]] = []
        self._select = ""
        self._area = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        at = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.forms.append((at.get("method", "get"), at["action"], {}))
        if not self.forms:
            return
        fields = self.forms[-1][2]
        if tag == "input" and "name" in at:
            if at.get("type") not in ("checkbox", "radio") or "checked" in at:
                fields[at["name"]] = at.get("value", "")
        elif tag == "select":
            self._select = at["name"]
        elif tag == "option" and self._select:
            if "selected" in at or self._select not in fields:
                fields[self._select] = at.get("value", "")
        elif tag == "textarea":
            self._area = at["name"]
            fields[self._area] = ""

    def handle_data(self, text: str) -> None:
        if self._area:
            self.forms[-1][2][self._area] += text

    def handle_endtag(self, tag: str) -> None:
        if tag == "select":
            self._select = ""
        elif tag == "textarea":
            self._area = ""


class Desk(Plain):
    """Asks as a browser asks: a form says where it comes from."""

    def sign_in(self, name: str, password: str = PASSWORD, *, org: str = "default", expect: int = 303) -> str:
        fields = {"email": email_of(name), "password": password, "org": org}
        return self.submit("/console/sign-in", fields, expect=expect)

    def look(self, path: str, expect: int = 200, **options: Any) -> str:
        answer = self.get(path, **options)
        assert answer.status_code == expect, f"{answer.status_code} {answer.text[:500]}"
        return answer.text

    def csrf(self) -> str:
        found = re.search(r'name="csrf" value="([0-9a-f]+)"', self.look("/console/pools"))
        assert found
        return found[1]

    def submit(
        self, action: str, fields: dict[str, str] | None = None, expect: int = 303, **headers: str
    ) -> str:
        """Send a form as it is given; the address one is sent to, or the page."""
        answer = self.post(action, data=fields or {}, headers={"sec-fetch-site": "same-origin", **headers})
        assert answer.status_code == expect, f"{answer.status_code} {answer.text[:3000]}"
        return str(answer.headers.get("location", answer.text))

    def press(self, page: str, action: str, /, expect: int = 303, **fields: str) -> str:
        """Fill in the form of a page that goes to `action`, and send it."""
        return self.press_on(self.look(page), action, expect, **fields)

    def press_on(self, text: str, action: str, /, expect: int = 303, **fields: str) -> str:
        """The same on a page that one looks at already."""
        found = [form for form in Forms(text).forms if form[1].partition("?")[0] == action]
        assert found, f"there is no form to {action}"
        return self.submit(found[0][1], {**found[0][2], **fields}, expect=expect)

    def actions(self, page: str) -> list[str]:
        """Where the forms of a page go that change something."""
        return [action for method, action, _ in Forms(self.look(page)).forms if method == "post"]
