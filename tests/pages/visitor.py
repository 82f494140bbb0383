"""Somebody with a browser that has no scripts: looks at pages, fills in their forms, and follows."""

from __future__ import annotations

import re
from html import unescape
from html.parser import HTMLParser
from typing import Any

from tests.http.server import Plain


class Form(HTMLParser):
    """The forms of a page: action, and the fields with what is in them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.forms: list[tuple[str, dict[str, str]]] = []
        self.buttons: list[tuple[str, str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        at = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.forms.append((at["action"], {}))
        elif tag in ("input", "textarea") and self.forms and at.get("type") not in ("checkbox", "radio"):
            self.forms[-1][1][at["name"]] = at.get("value", "")
        elif tag == "button" and self.forms and "name" in at:
            self.buttons.append((at["name"], at["value"]))


class Visitor(Plain):
    """Asks as a browser asks: a form says where it comes from."""

    def look(self, path: str, expect: int = 200, **options: Any) -> str:
        answer = self.get(path, **options)
        assert answer.status_code == expect, f"{answer.status_code} {answer.text[:500]}"
        return answer.text

    def sign_up(self, pool: str, quota: str = "main", path: str = "/p", **fields: str) -> str:
        """Press the button; the address one is sent to."""
        (action, found), *_ = Form(self.look(f"{path}/{pool}")).forms
        return self.submit(action, {**found, "quota": quota, **fields})

    def submit(
        self, action: str, fields: dict[str, str] | None = None, expect: int = 303, **headers: str
    ) -> str:
        answer = self.post(action, data=fields or {}, headers={"sec-fetch-site": "same-origin", **headers})
        assert answer.status_code == expect, f"{answer.status_code} {answer.text[:2000]}"
        return str(answer.headers.get("location", answer.text))


def heading(page: str) -> str:
    """The first heading, as it is read."""
    found = re.search(r"<h1[^>]*>(.*?)</h1>", page, re.DOTALL)
    assert found, page[:500]
    return plain(found[1])


def plain(page: str) -> str:
    """The words of a page."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", page)).split())
