"""A device with passkeys, as a program: makes and uses them as browsers do, honestly or not."""

from __future__ import annotations

import hashlib
import json
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass, field
from typing import Any

import cbor2
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

PRESENT, VERIFIED, MADE = 0x01, 0x04, 0x40


def text(raw: bytes) -> str:
    return urlsafe_b64encode(raw).decode().rstrip("=")


def raw(said: str) -> bytes:
    return urlsafe_b64decode(said + "=" * (-len(said) % 4))


@dataclass
class Device:
    """One passkey. `count` None is a passkey that does not count, as synced ones do not."""

    site: str = "localhost"
    origin: str = "http://localhost"
    count: int | None = 0
    flags: int = PRESENT | VERIFIED
    name: bytes = field(default_factory=lambda: secrets.token_bytes(24))
    owner: bytes = b""
    key: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))

    def add(self, options: str | dict[str, Any], **said: str) -> str:
        """What a browser sends after it has made the passkey that was asked for."""
        asked = json.loads(options) if isinstance(options, str) else options
        self.owner = raw(asked["user"]["id"])
        numbers = self.key.public_key().public_numbers()
        public = cbor2.dumps(
            {1: 2, 3: -7, -1: 1, -2: numbers.x.to_bytes(32, "big"), -3: numbers.y.to_bytes(32, "big")}
        )
        made = bytes(16) + len(self.name).to_bytes(2, "big") + self.name + public
        proof = {"fmt": "none", "attStmt": {}, "authData": self._stated(MADE) + made}
        client = self._client("webauthn.create", asked["challenge"], said)
        return self._sent({"clientDataJSON": text(client), "attestationObject": text(cbor2.dumps(proof))})

    def use(self, options: str | dict[str, Any], **said: str) -> str:
        """What a browser sends after its owner has signed in with it."""
        asked = json.loads(options) if isinstance(options, str) else options
        if self.count is not None:
            self.count += 1
        stated, client = self._stated(0), self._client("webauthn.get", asked["challenge"], said)
        signed = self.key.sign(stated + hashlib.sha256(client).digest(), ec.ECDSA(hashes.SHA256()))
        parts = {"clientDataJSON": client, "authenticatorData": stated, "signature": signed}
        return self._sent({name: text(part) for name, part in {**parts, "userHandle": self.owner}.items()})

    def _client(self, kind: str, challenge: str, said: dict[str, str]) -> bytes:
        return json.dumps({"type": kind, "challenge": challenge, "origin": self.origin, **said}).encode()

    def _stated(self, flags: int) -> bytes:
        site = hashlib.sha256(self.site.encode()).digest()
        return site + bytes([self.flags | flags]) + (self.count or 0).to_bytes(4, "big")

    def _sent(self, response: dict[str, str]) -> str:
        name = text(self.name)
        return json.dumps({"id": name, "rawId": name, "type": "public-key", "response": response})
