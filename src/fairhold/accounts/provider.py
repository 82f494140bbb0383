"""What an identity provider publishes of itself: where it is asked, and the keys that it signs with.

The keys are remembered for an hour, and asked for again where a signature fits none of them; the rest for a
minute, so that who would sign in is told at once when it is down. Every address is looked at by the guard of
webhooks before it is asked, an answer may be so long and take so long, and no redirect is followed.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

import msgspec

from fairhold.core.model import Instant
from fairhold.notifiers.base import Permanent, Temporary
from fairhold.notifiers.webhook.guard import Guard
from fairhold.notifiers.webhook.pinned import Pinned

if TYPE_CHECKING:
    from joserfc.jwk import KeySet

log = logging.getLogger("fairhold.accounts")

_WELL_KNOWN: Final = "/.well-known/openid-configuration"
_DOCUMENT_LASTS: Final = 60_000
_KEYS_LAST: Final = 3_600_000
_TIMEOUT_S: Final = 5.0
_LENGTH_MAX: Final = 512 * 1024
_NEEDED: Final = ("authorization_endpoint", "token_endpoint", "jwks_uri")
# What is shorter can be forged by who has the means.
_RSA_BITS_MIN: Final = 2_048
_OK: Final = 200
_REFUSED: Final = range(400, 500)


class SignOnFailed(Exception):
    """Nobody can be signed in by this."""


class ProviderDown(SignOnFailed):
    """The provider cannot be reached, or answers what cannot be used."""


class NotProven(SignOnFailed):
    """What came back does not prove who somebody is."""


class Provided:
    """A provider's own words, by its issuer."""

    def __init__(self, issuer: str, *, to_private: bool = False) -> None:
        self._issuer = issuer
        self._pinned = Pinned(Guard(allows_private=to_private))
        self._document: dict[str, Any] = {}
        self._document_until: Instant = 0
        self._keys: KeySet | None = None
        self._keys_until: Instant = 0

    async def document(self, now: Instant) -> dict[str, Any]:
        """Its discovery document. Raises ProviderDown."""
        if now >= self._document_until:
            found = await self.get(self._issuer.rstrip("/") + _WELL_KNOWN, {})
            if found.get("issuer") != self._issuer:
                raise ProviderDown(f"it says to be {found.get('issuer')!r}")
            for name in _NEEDED:
                if not isinstance(found.get(name), str):
                    raise ProviderDown(f"it does not say its {name}")
            self._may_go(found["authorization_endpoint"])
            self._document, self._document_until = found, now + _DOCUMENT_LASTS
        return self._document

    async def keys(self, now: Instant, *, anew: bool = False) -> KeySet:
        """The keys that it signs with. Raises ProviderDown."""
        from joserfc.errors import JoseError
        from joserfc.jwk import JWKRegistry, Key, KeySet, RSAKey

        if self._keys is None or anew or now >= self._keys_until:
            found = await self.get((await self.document(now))["jwks_uri"], {})
            keys: list[Key] = []
            listed = found.get("keys")
            for said in listed if isinstance(listed, list) else ():
                try:
                    key = JWKRegistry.import_key(said)
                    if isinstance(key, RSAKey) and key.public_key.key_size < _RSA_BITS_MIN:
                        log.warning(
                            "a key of the provider is too short: RSA of %s bits", key.public_key.key_size
                        )
                        continue
                    keys.append(key)
                except (JoseError, ValueError, TypeError, KeyError) as error:
                    # One key that we cannot read does not take the others away.
                    log.info("a key of the provider cannot be read: %s", error)
            self._keys, self._keys_until = KeySet(keys), now + _KEYS_LAST
        return self._keys

    async def get(self, address: str, headers: dict[str, str]) -> dict[str, Any]:
        return await self._ask("GET", address, headers)

    async def post(self, address: str, form: dict[str, str], headers: dict[str, str]) -> dict[str, Any]:
        """Raises NotProven where the provider refuses what it is given."""
        headers = {**headers, "Content-Type": "application/x-www-form-urlencoded"}
        return await self._ask("POST", address, headers, urlencode(form).encode())

    async def _ask(
        self, method: str, address: str, headers: dict[str, str], body: bytes | None = None
    ) -> dict[str, Any]:
        import httpx2

        self._may_go(address)
        raw = bytearray()
        try:
            async with asyncio.timeout(_TIMEOUT_S):
                headers = {**headers, "Accept": "application/json"}
                async with self._pinned.ask(method, address, headers, body) as answer:
                    async for piece in answer.aiter_bytes():
                        raw += piece
                        if len(raw) > _LENGTH_MAX:
                            raise ProviderDown("its answer does not end")
        except TimeoutError as error:
            raise ProviderDown(f"no answer within {_TIMEOUT_S:.0f} s") from error
        except (Permanent, Temporary, httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            raise ProviderDown(f"cannot be reached: {error}") from error
        if body is not None and answer.status_code in _REFUSED:
            raise NotProven(f"the provider refused with {answer.status_code}")
        if answer.status_code != _OK:
            raise ProviderDown(f"answered {answer.status_code}")
        return _decoded(bytes(raw))

    def _may_go(self, address: str) -> None:
        schemes = ("https", "http") if self._pinned.guard.allows_private else ("https",)
        if not address.startswith(tuple(f"{it}://" for it in schemes)):
            raise ProviderDown("it names an address without https")
        if not address.isascii() or not address.isprintable() or " " in address:
            raise ProviderDown("it names an address that is none")


def _decoded(raw: bytes) -> dict[str, Any]:
    try:
        found = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeError) as error:
        raise ProviderDown("its answer is no JSON") from error
    if not isinstance(found, dict):
        raise ProviderDown("its answer is no object")
    return found
