"""What can be asked about who may ask: keys, members of staff, and one of them who signs in."""

from __future__ import annotations

from fairhold.accounts.members import Member
from fairhold.client.asking import Asking
from fairhold.core.refusals import Refusal
from fairhold.http.members import Removed
from fairhold.http.operations import Page
from fairhold.http.session import SessionShape, SignedOut
from fairhold.keys import ApiKey

Key = str | None


class AccountMethods(Asking):
    """Keys, members and sessions."""

    async def sign_in(self, email: str, password: str, *, org: str = "default") -> SessionShape | Refusal:
        """Sign in, in place of a key; raises Forbidden if e-mail and password do not belong together."""
        body = {"email": email, "password": password, "org": org}
        return self._begun(await self._ask(SessionShape, "POST", "/v1/session", body))

    async def accept_invitation(self, token: str, password: str) -> SessionShape | Refusal:
        """Choose a password with an invitation, and sign in."""
        body = {"token": token, "password": password}
        return self._begun(await self._ask(SessionShape, "POST", "/v1/session/invitation", body))

    def _begun(self, answer: SessionShape | Refusal) -> SessionShape | Refusal:
        if isinstance(answer, SessionShape):
            self._csrf = {"X-CSRF-Token": answer.csrf_token}
        return answer

    async def session(self) -> SessionShape | Refusal:
        """Who is signed in."""
        return await self._ask(SessionShape, "GET", "/v1/session")

    async def sign_out(self, *, everywhere: bool = False) -> SignedOut | Refusal:
        """Sign out, here or everywhere."""
        query = {"everywhere": "true"} if everywhere else None
        return await self._ask(SignedOut, "DELETE", "/v1/session", query=query)

    async def change_password(self, password: str, new_password: str) -> SessionShape | Refusal:
        """Change one's password; one's other sessions end."""
        body = {"password": password, "new_password": new_password}
        return await self._ask(SessionShape, "POST", "/v1/session/password", body)

    async def add_member(
        self, email: str, name: str, role: str = "staff", *, idempotency_key: Key = None
    ) -> Member | Refusal:
        """Add a member of staff, with an invitation."""
        body = {"email": email, "name": name, "role": role}
        return await self._ask(Member, "POST", "/v1/members", body, idempotency_key=idempotency_key)

    async def members(self, *, cursor: str = "", limit: int = 100) -> Page[Member] | Refusal:
        """The members of staff."""
        query = {"cursor": cursor, "limit": limit}
        return await self._ask(Page[Member], "GET", "/v1/members", query=query)

    async def member(self, member: str) -> Member | Refusal:
        """A member of staff, by their id."""
        return await self._ask(Member, "GET", "/v1/members/{member}", member=member)

    async def change_member(
        self,
        member: str,
        *,
        email: str | None = None,
        name: str | None = None,
        role: str | None = None,
        idempotency_key: Key = None,
    ) -> Member | Refusal:
        """Change a member; what is not said stays."""
        path = "/v1/members/{member}"
        body = {"email": email, "name": name, "role": role}
        return await self._ask(Member, "PATCH", path, body, idempotency_key=idempotency_key, member=member)

    async def invite_member(self, member: str, *, idempotency_key: Key = None) -> Member | Refusal:
        """Invite a member anew, to choose a password."""
        path = "/v1/members/{member}/invite"
        return await self._ask(Member, "POST", path, idempotency_key=idempotency_key, member=member)

    async def remove_member(self, member: str, *, idempotency_key: Key = None) -> Removed | Refusal:
        """Remove a member; they are signed out everywhere."""
        path = "/v1/members/{member}"
        return await self._ask(Removed, "DELETE", path, idempotency_key=idempotency_key, member=member)

    async def sign_out_member(self, member: str) -> SignedOut | Refusal:
        """Sign a member out everywhere."""
        return await self._ask(SignedOut, "DELETE", "/v1/members/{member}/sessions", member=member)

    # Keys.

    async def create_key(self, role: str, name: str, *, idempotency_key: Key = None) -> ApiKey | Refusal:
        """Make a key of a role; the answer has its secret, which is never shown again."""
        body = {"role": role, "name": name}
        return await self._ask(ApiKey, "POST", "/v1/keys", body, idempotency_key=idempotency_key)

    async def keys(self, *, cursor: str = "", limit: int = 100) -> Page[ApiKey] | Refusal:
        """The keys, and when each was last used."""
        return await self._ask(Page[ApiKey], "GET", "/v1/keys", query={"cursor": cursor, "limit": limit})

    async def revoke_key(self, key: str) -> ApiKey | Refusal:
        """End a key, by its id."""
        return await self._ask(ApiKey, "DELETE", "/v1/keys/{key}", key=key)
