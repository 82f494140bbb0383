"""E-mail by SMTP, with TLS: plain text and HTML, a calendar entry and a code, nothing from elsewhere."""

from __future__ import annotations

from email.errors import HeaderParseError
from email.headerregistry import Address
from email.utils import parseaddr

from fairhold.notifiers.base import Outgoing, Permanent, Temporary
from fairhold.notifiers.email.address import MailServer
from fairhold.notifiers.email.codes import is_permanent
from fairhold.notifiers.email.mime import Letter, content, header


class EmailNotifier:
    """Hands e-mails to one mail server."""

    def __init__(self, server: MailServer, sender: str) -> None:
        # Only those who send e-mail pay for importing what does it.
        from fairhold.notifiers.email.lines import Lines

        self._sender = sender
        # The header, for addresses in ASCII and for others.
        self._from: dict[bool, bytes] = {}
        self._lines = Lines(server)

    async def send(self, message: Outgoing) -> None:
        import aiosmtplib

        try:
            await self._lines.send(self.letter(message))
        except aiosmtplib.SMTPRecipientsRefused as refused:
            answer = refused.recipients[0]
            raise _judged(answer.code, answer.message, at_recipient=True) from refused
        except aiosmtplib.SMTPAuthenticationError as error:
            # Ours to mend, and no reason to give up on anybody.
            raise Temporary(f"the mail server does not let us in: {error.code}") from error
        except aiosmtplib.SMTPResponseException as error:
            at_recipient = isinstance(error, aiosmtplib.SMTPDataError)
            raise _judged(error.code, error.message, at_recipient=at_recipient) from error
        except (aiosmtplib.SMTPException, OSError) as error:
            raise Temporary(f"the mail server cannot be used: {type(error).__name__}: {error}") from error

    async def close(self) -> None:
        """Hang up on the mail server; the next letter opens a line anew."""
        await self._lines.close()

    def letter(self, message: Outgoing) -> Letter:
        """The e-mail itself. Raises Permanent if the address is none."""
        to = _recipient(message.address)
        sender = parseaddr(self._sender)[1]
        utf8 = not (to.addr_spec + sender).isascii()
        if utf8 not in self._from:
            self._from[utf8] = header("From", self._sender, utf8=utf8)
        head = (
            self._from[utf8],
            header("To", to, utf8=utf8),
            header("Subject", " ".join(message.subject.split()), utf8=utf8),
            header("Message-ID", f"<{message.id}@{sender.rpartition('@')[2]}>", utf8=utf8),
            b"Auto-Submitted: auto-generated\r\n",
            header("X-Fairhold-Kind", message.kind, utf8=utf8),
        )
        whole = b"".join(head) + content(message.text, message.html, message.attachments)
        return Letter(sender, to.addr_spec, whole, utf8)


def _recipient(address: str) -> Address:
    try:
        found = Address(addr_spec=address)
    except (ValueError, IndexError, HeaderParseError) as error:
        raise Permanent("this is no e-mail address") from error
    if not found.username or not found.domain:
        raise Permanent("this is no e-mail address")
    return found


def _judged(code: int, answer: str, *, at_recipient: bool) -> Exception:
    text = f"{code} {' '.join(answer.split())}"
    return Permanent(text) if at_recipient and is_permanent(code, answer) else Temporary(text)
