"""Signing in with an identity provider, by OpenID Connect: the code flow with PKCE, state and nonce.

1. `begin`: the browser goes to the provider, and keeps a *trip* in a cookie. State, nonce and the PKCE
   verifier are derived from it, so nothing is stored, and only the browser that set out can come back.
2. `finish`: the code is exchanged, and the ID token checked: signature by joserfc, then who made it, for
   whom, until when, and for which trip.

Who somebody is by that is for `identities` to say. What can go wrong:

SignOnFailed
├── ProviderDown   it cannot be reached, or answers what cannot be used; try again later
└── NotProven      what came back does not prove anything
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import quote, urlencode

from fairhold import inputs
from fairhold.accounts.provider import NotProven, Provided, ProviderDown, SignOnFailed
from fairhold.addresses import read
from fairhold.core.model import Instant
from fairhold.errors import SettingsWrong
from fairhold.keys import READ, STAFF
from fairhold.orgs import checked_org

if TYPE_CHECKING:
    from fairhold.http.settings import Settings

__all__ = ["Claimed", "NotProven", "Provider", "ProviderDown", "SignOnFailed", "provider_of"]

# Signatures with a public key alone: with a shared one, or none, anybody could make a token.
ALGORITHMS: Final = ("RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "EdDSA", "Ed25519")
_SCOPE: Final = "openid email profile"
_LEEWAY_S: Final = 60


@dataclass(frozen=True, slots=True)
class OidcSettings:
    """The provider, and what those who come from there are here."""

    issuer: str
    client_id: str
    client_secret: str
    org: str
    claim: str
    trusts_email: bool
    new_role: str
    button: str
    to_private: bool


def provider_of(settings: Settings) -> Provider | None:
    """The provider that is set up; None if there is none. Raises SettingsWrong."""
    if not settings.oidc_issuer:
        return None
    parts = read(settings.oidc_issuer, "FAIRHOLD_OIDC_ISSUER")
    if parts.scheme not in ("https", "http") or not parts.hostname or parts.query or parts.fragment:
        raise SettingsWrong(
            "FAIRHOLD_OIDC_ISSUER is no address of a provider, such as https://id.example.org"
        )
    if parts.scheme != "https" and not settings.oidc_to_private:
        raise SettingsWrong("FAIRHOLD_OIDC_ISSUER must be an https address")
    if not settings.oidc_client_id:
        raise SettingsWrong("FAIRHOLD_OIDC_ISSUER needs FAIRHOLD_OIDC_CLIENT_ID")
    try:
        checked_org(settings.oidc_org)
    except inputs.Bad as bad:
        raise SettingsWrong(f"FAIRHOLD_OIDC_ORG: {bad.refusal.sentence}") from bad
    if settings.oidc_new_members not in ("", STAFF, READ):
        # An admin is made by an admin, never by who has an account elsewhere.
        raise SettingsWrong("FAIRHOLD_OIDC_NEW_MEMBERS must be staff or read, or nothing")
    return Provider(
        OidcSettings(
            settings.oidc_issuer,
            settings.oidc_client_id,
            settings.oidc_client_secret,
            settings.oidc_org,
            settings.oidc_claim,
            settings.oidc_trust_email,
            settings.oidc_new_members,
            settings.oidc_button or parts.hostname,
            settings.oidc_to_private,
        )
    )


class Claimed(NamedTuple):
    """Whom the provider has proved somebody to be. The e-mail is verified, or empty."""

    issuer: str
    subject: str
    email: str
    name: str


class Provider:
    """One provider, as one client of it."""

    def __init__(self, settings: OidcSettings) -> None:
        self.settings = settings
        self._provided = Provided(settings.issuer, to_private=settings.to_private)

    async def begin(self, trip: str, secret: str, back: str, now: Instant) -> str:
        """Where the browser goes to sign in; it comes back to `back`. Raises ProviderDown."""
        address = (await self._provided.document(now))["authorization_endpoint"]
        verifier = derived(secret, "verifier", trip).encode()
        asked = {
            "response_type": "code",
            "client_id": self.settings.client_id,
            "redirect_uri": back,
            "scope": _SCOPE,
            "state": derived(secret, "state", trip),
            "nonce": derived(secret, "nonce", trip),
            "code_challenge": _plain(hashlib.sha256(verifier).digest()),
            "code_challenge_method": "S256",
        }
        return f"{address}{'&' if '?' in address else '?'}{urlencode(asked)}"

    async def finish(
        self, answer: Mapping[str, str], trip: str, secret: str, back: str, now: Instant
    ) -> Claimed:
        """Who has come back with this answer from this trip. Raises ProviderDown or NotProven."""
        state = derived(secret, "state", trip)
        if not hmac.compare_digest(answer.get("state", "").encode(), state.encode()):
            raise NotProven("the state is not the one of this trip")
        if answer.get("iss", self.settings.issuer) != self.settings.issuer:
            raise NotProven("another provider has answered")
        if "code" not in answer:
            raise NotProven(f"the provider said no: {answer.get('error', 'no code')[:100]}")
        form = {
            "grant_type": "authorization_code",
            "code": answer["code"],
            "redirect_uri": back,
            "code_verifier": derived(secret, "verifier", trip),
        }
        tokens = await self._exchanged(form, now)
        claims = await self._checked(tokens, derived(secret, "nonce", trip), now)
        return await self._claimed(claims, tokens, now)

    async def _exchanged(self, form: dict[str, str], now: Instant) -> dict[str, Any]:
        document, headers = await self._provided.document(now), {}
        name, secret = self.settings.client_id, self.settings.client_secret
        ways = document.get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
        if secret and "client_secret_basic" in ways:
            pair = f"{quote(name, safe='')}:{quote(secret, safe='')}"
            headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
        else:
            form = {**form, "client_id": name} | ({"client_secret": secret} if secret else {})
        return await self._provided.post(document["token_endpoint"], form, headers)

    async def _checked(self, tokens: dict[str, Any], nonce: str, now: Instant) -> dict[str, Any]:
        """The claims of the ID token, if every one of them is as it must be."""
        from joserfc.errors import JoseError
        from joserfc.jwt import JWTClaimsRegistry

        token = tokens.get("id_token")
        if not isinstance(token, str):
            raise NotProven("there is no ID token")
        claims = await self._signed(token, now)
        rules = JWTClaimsRegistry(
            now=now // 1000,
            leeway=_LEEWAY_S,
            iss={"essential": True, "value": self.settings.issuer},
            aud={"essential": True, "value": self.settings.client_id},
            exp={"essential": True},
            iat={"essential": True},
            sub={"essential": True},
            nonce={"essential": True, "value": nonce},
        )
        try:
            rules.validate(claims)
        except JoseError as error:
            raise NotProven(str(error)) from error
        several = isinstance(claims["aud"], list) and len(claims["aud"]) > 1
        if (several or "azp" in claims) and claims.get("azp") != self.settings.client_id:
            raise NotProven("the ID token is for somebody else")
        return claims

    async def _signed(self, token: str, now: Instant) -> dict[str, Any]:
        """What a token says that the provider has signed. It may have changed its keys since we looked."""
        from joserfc import jwt
        from joserfc.errors import JoseError

        try:
            return jwt.decode(token, await self._provided.keys(now), algorithms=ALGORITHMS).claims
        except (JoseError, ValueError):
            keys = await self._provided.keys(now, anew=True)
        try:
            return jwt.decode(token, keys, algorithms=ALGORITHMS).claims
        except (JoseError, ValueError) as error:
            raise NotProven(f"the ID token is not signed as it must be: {error}") from error

    async def _claimed(self, claims: dict[str, Any], tokens: dict[str, Any], now: Instant) -> Claimed:
        if self.settings.claim not in claims or "email" not in claims:
            claims = await self._with_more(claims, tokens, now)
        email, verified = claims.get("email"), claims.get("email_verified")
        if verified is None:
            verified = self.settings.trusts_email
        name = claims.get("name" if self.settings.claim == "email" else self.settings.claim)
        return Claimed(
            self.settings.issuer,
            claims["sub"],
            email if isinstance(email, str) and verified in (True, "true") else "",
            name if isinstance(name, str) else "",
        )

    async def _with_more(
        self, claims: dict[str, Any], tokens: dict[str, Any], now: Instant
    ) -> dict[str, Any]:
        """Some providers tell the e-mail only to who asks for it."""
        address, access = (
            (await self._provided.document(now)).get("userinfo_endpoint"),
            tokens.get("access_token"),
        )
        if not isinstance(address, str) or not isinstance(access, str):
            return claims
        told = await self._provided.get(address, {"Authorization": f"Bearer {access}"})
        if told.get("sub") != claims["sub"]:
            raise NotProven("the provider tells of somebody else")
        # Whether an e-mail was verified is true of the e-mail that it was said with.
        first, second = (claims, told) if "email" in claims else (told, claims)
        return {**second, "email_verified": None, **first, "sub": claims["sub"]}


def derived(secret: str, purpose: str, trip: str) -> str:
    """What only we can make of a trip."""
    return hmac.digest(secret.encode(), f"sign-on {purpose}\n{trip}".encode(), "sha256").hex()


def _plain(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")
