"""Requests: to every operation of the API, to every page and to every form, from the right to the wild."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from random import Random
from typing import Any
from urllib.parse import quote, quote_from_bytes, urlencode

from drills.fuzz.alive import Alive
from drills.fuzz.files import Files
from drills.fuzz.odd import Odd, broken, written
from drills.fuzz.shapes import Shapes
from drills.fuzz.wire import Asked, Headers

_NAMED = re.compile(r"\{(\w+)\}")
_KINDS = (b"application/json", b"application/json; charset=utf-16", b"text/csv", b"text/plain", b"",
b"\xff", b"multipart/form-data",
          b"application/x-www-form-urlencoded", b"multipart/form-data; boundary=",
          b"application/json;" + b"x" * 5_000)  # fmt: skip
_ODD_HEADERS: tuple[tuple[bytes, tuple[bytes, ...]], ...] = (
    (b"Idempotency-Key", (b"", b"a", b"x" * 200, b"x" * 201, b"\xe4", b"a b", b"same", b"same")),
    (b"Last-Event-ID", (b"", b"0", b"-1", b"9" * 5_000, b"a", b"1:2", b"p0000000000000:1", b"\xff", b"1.5",
    b"1,2,3")),
    (b"If-None-Match", (b"*", b'"x"', b"W/", b"\xff")),
    (b"If-Modified-Since", (b"yesterday", b"Sun, 06 Nov 1994 08:49:37 GMT", b"0")),
    (b"If-Match", (b"*", b"1")),
    (b"Range", (b"bytes=0-", b"bytes=9-1", b"x")),
    (b"Accept-Language", (b"fi", b"de-AT;q=0.9,*;q=x", b"zz", b"", b"\xff\xfe", b"en;q=" + b"9" * 400,
    b"," * 3_000, b"fi;q=1e400", b"de;q=nan")),
    (b"Accept", (b"text/html", b"*/*;q=", b"\xff")),
    (b"Accept-Encoding", (b"br", b"gzip;q=x")),
    (b"Cookie", (b"fairhold_session=", b"fairhold_session=x", b"fairhold_session=\xff", b"=;;;=",
    b"a=b; " * 500, b"__Host-fairhold_session=x")),
    (b"Authorization", (b"Bearer", b"Bearer ", b"bearer fh_x", b"Basic x", b"\xff", b"Bearer \xff\x80",
    b"Bearer " + b"x" * 8_000, b"")),
    (b"X-CSRF-Token", (b"", b"x", b"\xff")),
    (b"Origin", (b"null", b"https://evil.example", b"http://[::1", b"\xff", b"")),
    (b"Sec-Fetch-Site", (b"cross-site", b"none", b"", b"\xff")),
    (b"Host", (b"evil.example", b"[::1", b"a b", b"", b"\xff", b"x" * 3_000)),
    (b"X-Forwarded-For", (b"unknown", b"::1", b"fe80::1%eth0", b"1.2.3.4, 5.6.7.8", b"999.1.1.1",
    b"[::1]:80", b"x" * 4_000, b"\xff", b",", b"")),
    (b"X-Forwarded-Proto", (b"https", b"gopher", b"", b"https,http", b"\xff")),
    (b"X-Forwarded-Host", (b"evil.example", b"\xff")),
    (b"Forwarded", (b"for=x;proto=https", b"\xff")),
    (b"X-Request-ID", (b"mine-1", b"\xff", b"x" * 300, b"a b")),
    (b"X-HTTP-Method-Override", (b"DELETE",)),
    (b"Expect", (b"100-continue", b"200-ok")),
    (b"Upgrade", (b"h2c", b"websocket")),
    (b"traceparent", (b"00-" + b"0" * 32 + b"-" + b"0" * 16 + b"-01", b"x", b"\xff")),
    (b"Content-Encoding", (b"gzip", b"x")),
    (b"TE", (b"trailers",)),
)  # fmt: skip


class Asking:
    """Thinks up one request after another. All dice are thrown with the one that is given."""

    def __init__(
        self,
        document: Any,
        pages: Sequence[tuple[str, str, bool]],
        keys: dict[str, str],
        alive: Alive,
        odd: Odd,
    ) -> None:
        self._alive, self._odd = alive, odd
        self._keys = keys
        self._shapes = Shapes(document, alive, odd)
        self._files = Files(alive, odd)
        self.operations = [
            (method.upper(), path, operation)
            for path, operations in document["paths"].items()
            for method, operation in operations.items()
        ]
        self.pages = list(pages)
        self.sessions: dict[str, tuple[bytes, bytes]] = {}

    def next(self, dice: Random) -> Asked:
        chance = dice.random()
        if chance < 0.66:
            asked = self._operation(dice)
        elif chance < 0.98:
            asked = self._page(dice)
        else:
            asked = self._nowhere(dice)
        # From everywhere: so many wrong keys from one address keep all out who come from there.
        asked.headers.append((b"X-Forwarded-For", _an_address(dice)))
        self._odd_headers(asked.headers, dice)
        asked.chunked = bool(asked.body) and dice.random() < 0.1
        return asked

    # The API.

    def _operation(self, dice: Random) -> Asked:
        method, path, operation = dice.choice(self.operations)
        if path.startswith("/v1/session") and dice.random() < 0.8:
            # A password takes its time, and who is signed out sees little.
            method, path, operation = dice.choice(self.operations)
        # How wild: right, nearly right, or anything.
        wild = dice.choice((0, 0, 1, 1, 2))
        if path == "/v1/clock":
            # Ten years of offers that last a second take more than our time.
            wild = 0
        target = self._filled_in(path, dice, wild) + self._query(operation, dice, wild)
        asked = Asked(f"{method} {path}", method.encode(), target, self._who(dice, operation, method))
        content = operation.get("requestBody", {}).get("content", {})
        if "text/csv" in content:
            asked.headers.append((b"Content-Type", b"text/csv"))
            asked.body = self._files.people(dice, wild)
        elif content:
            asked.headers.append((b"Content-Type", b"application/json"))
            asked.body = self._body(content["application/json"], dice, wild)
        elif dice.random() < 0.1:
            asked.body = written(self._odd.value(dice))
        if dice.random() < 0.03:
            asked.headers.append((b"Content-Type", dice.choice(_KINDS)))
        if dice.random() < 0.02:
            asked.method = dice.choice((b"PUT", b"OPTIONS", b"HEAD", b"TRACE", b"PATCH", b"PROPFIND"))
            asked.name = "another method at a path of the API"
        return asked

    def _body(self, content: Any, dice: Random, wild: int) -> bytes:
        if "example" in content and dice.random() < 0.4:
            value = content["example"]
        else:
            value = self._shapes.right(content["schema"], dice)
        if wild == 1:
            value = self._shapes.wrong(value, dice)
        elif wild == 2 and dice.random() < 0.5:
            value = self._odd.value(dice)
        raw = written(value)
        return broken(raw, dice) if wild == 2 and dice.random() < 0.6 else raw

    def _filled_in(self, path: str, dice: Random, wild: int) -> bytes:
        def one(found: re.Match[str]) -> str:
            if dice.random() > (0.04, 0.15, 0.3)[wild]:
                return quote(self._alive.one(found[1], dice), safe="")
            return self._odd_part(dice)

        return _NAMED.sub(one, path).encode()

    def _odd_part(self, dice: Random) -> str:
        if dice.random() < 0.3:
            return quote_from_bytes(dice.randbytes(dice.choice((1, 3, 20, 2_000))), safe="")
        return quote(self._odd.name(dice).encode("utf-8", "surrogatepass"), safe=dice.choice(("", "/:%=")))

    def _query(self, operation: Any, dice: Random, wild: int) -> bytes:
        said: list[tuple[str, Any]] = []
        for parameter in operation.get("parameters", ()):
            if parameter["in"] != "query" or dice.random() < 0.6:
                continue
            name = parameter["name"]
            value = self._shapes.right(parameter["schema"], dice, name)
            if name in ("cursor", "pool", "party"):
                value = self._alive.one(name, dice)
                if name == "cursor" and dice.random() < 0.4:
                    value = broken(value.encode(), dice).decode("latin-1")
            if wild and dice.random() < 0.4:
                value = self._odd.text(dice)[:3_000]
            said.append((name, json.dumps(value) if isinstance(value, bool) else value))
        if wild and dice.random() < 0.1:
            said.append((self._odd.name(dice), self._odd.name(dice)))
        if wild and said and dice.random() < 0.1:
            said.append(said[0])
        return _as_query(said, dice, wild)

    def _who(self, dice: Random, operation: Any, method: str) -> Headers:
        chance = dice.random()
        if operation.get("security") == [] or chance < 0.03:
            return []
        if self.sessions and ("session" in operation.get("tags", ()) or chance < 0.2):
            cookie, csrf = self.sessions[dice.choice(sorted(self.sessions))]
            return [(b"Cookie", cookie), (b"X-CSRF-Token", csrf)]
        role = dice.choice(("admin", "admin", "admin", "staff", "read", "public"))
        return [(b"Authorization", b"Bearer " + self._keys[role].encode())]

    # The pages.

    def _page(self, dice: Random) -> Asked:
        path, _, sends = dice.choice(self.pages)
        if path.startswith(("/console/sign-", "/console/settings/password")) and dice.random() < 0.8:
            path, _, sends = dice.choice(self.pages)
        wild = dice.choice((0, 0, 1, 2))
        headers: Headers = []
        csrf = ""
        if path.startswith("/console") and self.sessions and dice.random() < 0.93:
            cookie, token = self.sessions[dice.choice(sorted(self.sessions))]
            headers, csrf = [(b"Cookie", cookie)], token.decode()
        if not sends or dice.random() < 0.4:
            said = [(key, self._page_word(key, dice, wild)) for key in _PAGE_QUERY if dice.random() < 0.12]
            return Asked(
                f"GET {path}",
                b"GET",
                self._page_path(path, dice, wild) + _as_query(said, dice, wild),
                headers,
            )
        asked = Asked(f"POST {path}", b"POST", self._page_path(path, dice, wild), headers)
        headers.append((b"Sec-Fetch-Site", b"same-origin"))
        self._form(asked, path, csrf, dice, wild)
        return asked

    def _page_path(self, path: str, dice: Random, wild: int) -> bytes:
        if path.startswith(("/b/", "/embed/b/")):
            path = path.replace("{token}", "{edit_token}")
        elif "invitation" in path:
            path = path.replace("{token}", "{invitation}")
        return self._filled_in(path, dice, wild)

    def _page_word(self, key: str, dice: Random, wild: int) -> str:
        if wild and dice.random() < 0.6:
            return self._odd.text(dice)[:1_000]
        return dice.choice(_PAGE_QUERY[key]) or self._alive.one(key, dice)

    def _form(self, asked: Asked, path: str, csrf: str, dice: Random, wild: int) -> None:
        """A form that was seen on a page, filled in; or fields out of the air."""
        kept = [forms for pattern, forms in self._alive.forms.items() if _like(pattern, path)]
        fields: dict[str, str] = {}
        if kept and dice.random() < 0.85:
            action, seen = dice.choice(dice.choice(kept))
            fields = dict(seen)
            asked.target = quote(action, safe="/?=&%:").encode()
        if csrf and dice.random() < 0.97:
            fields["csrf"] = csrf
        self._files.fill_in(fields, path, dice, wild)
        if path.endswith(("/csv", "/edit", "/units")) and dice.random() < 0.5:
            kind, asked.body = self._files.multipart(fields, dice, wild)
            asked.headers.append((b"Content-Type", kind))
            return
        if "passkey" in path:
            asked.headers.append(
                (b"Content-Type", dice.choice((b"application/json", b"application/x-www-form-urlencoded")))
            )
        else:
            asked.headers.append((b"Content-Type", b"application/x-www-form-urlencoded"))
        pairs = [(name, value.encode("utf-8", "surrogatepass")) for name, value in fields.items()]
        asked.body = urlencode(
            [(name.encode("utf-8", "surrogatepass"), value) for name, value in pairs]
        ).encode()
        if wild == 2 and dice.random() < 0.4:
            asked.body = broken(asked.body, dice)
        if dice.random() < 0.02:
            asked.headers.append((b"Content-Type", dice.choice(_KINDS)))

    # Everything else.

    def _nowhere(self, dice: Random) -> Asked:
        parts = [self._odd_part(dice) for _ in range(dice.randrange(5))]
        head = dice.choice(
            (
                "/",
                "/v1/",
                "/console/",
                "/p/",
                "/b/",
                "/static/x/",
                "/docs/",
                "//",
                "/v1/pools/../",
                "/openapi.json",
                "/metrics",
                "/readyz",
            )
        )
        method = dice.choice((b"GET", b"POST", b"DELETE", b"OPTIONS", b"HEAD"))
        target = re.sub(rb"[\x00-\x20\x7f-\xff]", b"x", (head + "/".join(parts)).encode())
        return Asked(
            "anywhere", method, target, [(b"Authorization", b"Bearer " + self._keys["admin"].encode())]
        )

    def _odd_headers(self, headers: Headers, dice: Random) -> None:
        while dice.random() < 0.25:
            name, values = dice.choice(_ODD_HEADERS)
            value = dice.choice(values)
            if name == b"Idempotency-Key" and dice.random() < 0.7:
                value = b"key-%d" % dice.randrange(500)
            if name == b"Authorization":
                headers[:] = [it for it in headers if it[0] != b"Authorization"]
            if name == b"X-Forwarded-For":
                headers[:] = [it for it in headers if it[0] != name]
            headers.append((name, value))


def _as_query(said: list[tuple[str, Any]], dice: Random, wild: int) -> bytes:
    if not said:
        return b""
    pairs = [
        (name.encode("utf-8", "surrogatepass"), str(value).encode("utf-8", "surrogatepass"))
        for name, value in said
    ]
    raw = urlencode(pairs).encode()
    if wild == 2 and dice.random() < 0.3:
        raw = re.sub(rb"[\x00-\x20\x7f-\xff#]", b"%", broken(raw, dice))
    return b"?" + raw


def _an_address(dice: Random) -> bytes:
    return b"10.%d.%d.%d" % (dice.randrange(256), dice.randrange(256), dice.randrange(256))


def _like(pattern: str, path: str) -> bool:
    """Whether an address without its names belongs to this path of ours."""
    seen, ours = pattern.split("/"), path.split("/")
    return len(seen) == len(ours) and all(
        a == b or a == "*" or b.startswith("{") for a, b in zip(seen, ours, strict=True)
    )


_PAGE_QUERY: dict[str, tuple[str, ...]] = {
    "lang": ("en", "fi", "de", "zz"),
    "told": ("done", "x", "session_over"),
    "no": ("invalid", "not_enough_room", "x"),
    "next": ("/console/pools", "//evil.example", "https://evil.example", "/"),
    "q": ("ann", "K7PM2X", "%", "_", "a" * 300),
    "actor": ("party", "staff:olga", "x"),
    "after": ("", "0", "-1", "99999999999999999999"),
    "before": ("", "1", "x"),
    "booking": ("",),
    "copy": ("",),
    "days": ("7", "-1", "99999999999999999999", "x", "0"),
    "live": ("1", "x"),
    "org": ("default", "theirs"),
    "person": ("ann", "x"),
    "pool": ("",),
    "preset": ("checkout", "x"),
    "state": ("waiting", "held", "x"),
    "to": ("front", "x"),
    "topic": ("offers", "x"),
    "unit": ("12A", "x"),
    "code": ("x",),
    "error": ("access_denied",),
}
