"""Texts to phones, by a POST as Twilio takes it; other services and gateways speak the same."""

from __future__ import annotations

from typing import Final
from urllib.parse import unquote, urlunsplit

from fairhold.addresses import read
from fairhold.errors import SettingsWrong
from fairhold.notifiers.base import Outgoing, Permanent, Temporary
from fairhold.unlogged import unlogged

_TIMEOUT_S: Final = 15.0

# What the service says of the receiver: no number, none that takes texts, or one that wants none of ours.
PERMANENT_CODES: Final = frozenset({21211, 21214, 21217, 21610, 21612, 21614, 30003, 30005, 30006})


class SmsNotifier:
    """Sends texts through one account: https://SID:TOKEN@host."""

    def __init__(self, url: str, sender: str, region: str = "") -> None:
        parts = read(url, "the address for texts (FAIRHOLD_SMS_URL)")
        if parts.scheme not in ("http", "https") or not parts.hostname or not parts.username:
            raise SettingsWrong("not an account for texts: https://SID:TOKEN@host")
        host = parts.netloc.rpartition("@")[2]
        self._account = (unquote(parts.username), unquote(parts.password or ""))
        path = f"{parts.path.rstrip('/')}/2010-04-01/Accounts/{self._account[0]}/Messages.json"
        self._url = urlunsplit((parts.scheme, host, path, "", ""))
        self._sender = sender
        self._region = region

    async def send(self, message: Outgoing) -> None:
        # Only those who send texts pay for importing it.
        import httpx2

        number = international(message.address, message.region or self._region)
        form = {"To": number, "From": self._sender, "Body": message.short}
        try:
            async with httpx2.AsyncClient(timeout=_TIMEOUT_S, auth=self._account) as client:
                with unlogged():
                    answer = await client.post(self._url, data=form, headers={"Idempotency-Key": message.id})
        except (httpx2.HTTPError, OSError) as error:
            raise Temporary(f"the text service cannot be used: {type(error).__name__}") from error
        if not answer.is_success:
            raise _judged(answer.status_code, answer.text)


def international(number: str, region: str) -> str:
    """The number as the world dials it. Raises Permanent if it is none."""
    import phonenumbers

    try:
        parsed = phonenumbers.parse(number, region or None)
    except phonenumbers.NumberParseException as error:
        raise Permanent("this is no phone number") from error
    if not phonenumbers.is_valid_number(parsed):
        raise Permanent("this is no phone number")
    return phonenumbers.format_number(parsed, phonenumbers.PhoneNumberFormat.E164)


def _judged(status: int, body: str) -> Exception:
    import msgspec

    try:
        said = msgspec.json.decode(body)
        code, text = said.get("code"), str(said.get("message", ""))
    except (msgspec.DecodeError, AttributeError):
        code, text = None, ""
    sentence = f"{status} {code or ''} {text}".strip()
    return Permanent(sentence) if status < 500 and code in PERMANENT_CODES else Temporary(sentence)
