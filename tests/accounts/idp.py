"""A small identity provider on loopback, with real keys: what it says can be bent, one thing at a time."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import ECKey, RSAKey

from tests.accounts.device import text

CLIENT, SECRET = "seats at the mill", "a secret: of %both"


class Idp:
    """Signs in whoever `who` is. Everything it says of them can be changed by `claims`."""

    def __init__(self) -> None:
        self.base = ""
        self.now = 0
        self._codes: dict[str, dict[str, str]] = {}
        self.rotate()
        self.reset()

    def reset(self) -> None:
        """As it is in the beginning, with the keys that it has."""
        self.who = {"sub": "olga-1", "email": "olga@example.org", "email_verified": True, "name": "Olga O."}
        self.claims: dict[str, Any] = {}
        self.told: dict[str, Any] = {}
        self.document: dict[str, Any] = {}
        self.algorithm = "ES256"
        self.refuses = False
        self.is_broken = False
        self.asked: list[str] = []

    def rotate(self) -> None:
        """From now on it signs with another key; the one before is not published any more."""
        self.keys = {
            "ES256": ECKey.generate_key("P-256", {"kid": secrets.token_hex(4)}),
            "RS256": RSAKey.generate_key(2048, {"kid": secrets.token_hex(4)}),
        }

    def get(self, path: str, query: dict[str, str]) -> tuple[int, dict[str, Any] | str]:
        if path == "/.well-known/openid-configuration":
            names = {"authorization": "authorize", "token": "token", "userinfo": "userinfo"}
            ends = {f"{name}_endpoint": f"{self.base}/{at}" for name, at in names.items()}
            return 200, {"issuer": self.base, "jwks_uri": f"{self.base}/keys", **ends, **self.document}
        if path == "/keys":
            return 200, {"keys": [key.as_dict(private=False) for key in self.keys.values()]}
        if path == "/userinfo":
            return 200, {"sub": self.who["sub"], **self.told}
        if path == "/authorize":
            return (
                200,
                f'<!doctype html><title>Provider</title><a id="go" href="{self.back(query)}">Go on</a>',
            )
        return 404, {}

    def back(self, asked: dict[str, str]) -> str:
        """Where a browser is sent after its owner has signed in here."""
        answer = {"state": asked["state"], "iss": self.base}
        if self.refuses:
            answer["error"] = "access_denied"
        else:
            answer["code"] = secrets.token_urlsafe(16)
            self._codes[answer["code"]] = asked
        return f"{asked['redirect_uri']}?{urlencode(answer)}".replace("&", "&amp;")

    def token(self, form: dict[str, str], authorization: str) -> tuple[int, dict[str, Any]]:
        """As a provider should: the client must be known, the code new, and the verifier fit."""
        asked = self._codes.pop(form.get("code", ""), None)
        known = (
            f"Basic {base64.b64encode(b'seats%20at%20the%20mill:a%20secret%3A%20of%20%25both').decode()}",
            None,
        )
        if "token_endpoint_auth_methods_supported" in self.document:
            known = ("", (CLIENT, SECRET))
        said = (form["client_id"], form["client_secret"]) if "client_id" in form else None
        challenge = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        if (authorization, said) != known:
            return 401, {"error": "invalid_client"}
        if (
            asked is None
            or form["grant_type"] != "authorization_code"
            or form["redirect_uri"] != asked["redirect_uri"]
            or base64.urlsafe_b64encode(challenge).decode().rstrip("=") != asked["code_challenge"]
        ):
            return 400, {"error": "invalid_grant"}
        claims = {"iss": self.base, "aud": CLIENT, "iat": self.now, "exp": self.now + 300}
        claims |= {"nonce": asked["nonce"], **self.who, **self.claims}
        claims = {name: value for name, value in claims.items() if value is not None}
        return 200, {"id_token": self._signed(claims), "access_token": "a", "token_type": "Bearer"}

    def _signed(self, claims: dict[str, Any]) -> str:
        if self.algorithm in ("none", "HS256"):
            header = json.dumps({"alg": self.algorithm, "kid": self.keys["RS256"].kid})
            said = f"{text(header.encode())}.{text(json.dumps(claims).encode())}"
            # Signed with what everybody knows of the key: an old way to fool who is not strict.
            public = self.keys["RS256"].as_pem(private=False)
            mac = hmac.digest(public, said.encode(), "sha256") if self.algorithm == "HS256" else b""
            return f"{said}.{text(mac)}"
        if self.algorithm == "foreign":
            key = ECKey.generate_key("P-256")
            return jwt.encode({"alg": "ES256", "kid": self.keys["ES256"].kid}, claims, key)
        key = self.keys[self.algorithm]
        return jwt.encode({"alg": self.algorithm, "kid": key.kid}, claims, key)


@contextmanager
def providing() -> Iterator[Idp]:
    """A provider that runs until the end of it."""
    idp = Idp()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            idp.asked.append(parts.path)
            query = {name: values[0] for name, values in parse_qs(parts.query).items()}
            self.answer(*idp.get(parts.path, query))

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers["content-length"])).decode()
            form = {name: values[0] for name, values in parse_qs(raw).items()}
            self.answer(*idp.token(form, self.headers.get("authorization", "")))

        def answer(self, status: int, body: dict[str, Any] | str) -> None:
            if idp.is_broken:
                status, body = 500, {}
            sent = (body if isinstance(body, str) else json.dumps(body)).encode()
            self.send_response(status)
            self.send_header("content-type", "text/html" if isinstance(body, str) else "application/json")
            self.send_header("content-length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        def log_message(self, *args: object) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    idp.base = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield idp
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
