"""Lines to one mail server: each is opened when it is needed, carries many letters, and is closed soon after.

No letter is sent again here, unless the server has had nothing of it. Where it is not known how a letter
fared, whoever sends it hears so, and tries again later.
"""

from __future__ import annotations

import asyncio
from typing import Final

import aiosmtplib

from fairhold.notifiers.email.address import MailServer
from fairhold.notifiers.email.mime import Letter

# So many at once a mail server takes from one sender without taking offence, and so many letters over each.
LINES_MAX: Final = 8
_LETTERS_MAX: Final = 50
# Servers hang up on who says nothing, some after ten seconds.
_IDLE_S: Final = 5.0
_TIMEOUT_S: Final = 20.0
_LOOK_S: Final = 5.0
_GOODBYE_S: Final = 2.0


class Line:
    """A connection, and how many letters it has carried."""

    def __init__(self, smtp: aiosmtplib.SMTP) -> None:
        self.smtp = smtp
        self.letters = 0
        self.ends: asyncio.TimerHandle | None = None

    @property
    def is_worn(self) -> bool:
        return self.letters >= _LETTERS_MAX


class Lines:
    """Hands letters to one mail server."""

    def __init__(self, server: MailServer) -> None:
        self._server = server
        # Those at work, or saying goodbye; those that wait for a letter have none of these.
        self._places = asyncio.Semaphore(LINES_MAX)
        self._waiting: list[Line] = []
        self._leaving: set[asyncio.Task[None]] = set()

    async def send(self, letter: Letter) -> None:
        """Hand a letter over. Raises what aiosmtplib does."""
        await self._places.acquire()
        line: Line | None = None
        try:
            line = await self._waiting_one()
            if line is not None:
                try:
                    return await _carry(line, letter)
                except aiosmtplib.SMTPSenderRefused:
                    # Who takes only so many over a line says so before the letter, and takes it over another.
                    await _say_goodbye(line)
            line = Line(aiosmtplib.SMTP(timeout=_TIMEOUT_S, **self._server.options()))
            await line.smtp.connect()
            await _carry(line, letter)
        finally:
            self._put_down(line)

    async def close(self) -> None:
        """Hang up."""
        while self._waiting:
            self._leave(self._waiting[-1])
        if self._leaving:
            await asyncio.wait(self._leaving)

    async def _waiting_one(self) -> Line | None:
        """The line that was used last, if its server is still there; it may have hung up meanwhile."""
        while self._waiting:
            line = self._waiting.pop()
            assert line.ends is not None
            line.ends.cancel()
            try:
                await line.smtp.rset(timeout=_LOOK_S)
                return line
            except (aiosmtplib.SMTPException, OSError):
                line.smtp.close()
            except BaseException:
                line.smtp.close()
                raise
        return None

    def _put_down(self, line: Line | None) -> None:
        if line is None or not line.smtp.is_connected:
            self._places.release()
            return
        if line.is_worn:
            leaving = self._say_goodbye_beside(line)
            leaving.add_done_callback(lambda _: self._places.release())
            return
        line.ends = asyncio.get_running_loop().call_later(_IDLE_S, self._leave, line)
        self._waiting.append(line)
        self._places.release()

    def _leave(self, line: Line) -> None:
        self._waiting.remove(line)
        assert line.ends is not None
        line.ends.cancel()
        self._say_goodbye_beside(line)

    def _say_goodbye_beside(self, line: Line) -> asyncio.Task[None]:
        task = asyncio.create_task(_say_goodbye(line))
        self._leaving.add(task)
        task.add_done_callback(self._leaving.discard)
        return task


async def _carry(line: Line, letter: Letter) -> None:
    line.letters += 1
    asked = ["SMTPUTF8", "BODY=8BITMIME"] if letter.utf8 else []
    try:
        await line.smtp.sendmail(letter.sender, [letter.recipient], letter.content, mail_options=asked)
    except (aiosmtplib.SMTPResponseException, aiosmtplib.SMTPRecipientsRefused) as error:
        # It was answered in good order, and is good for the next letter.
        if getattr(error, "code", 0) < 0:
            line.smtp.close()
        raise
    except BaseException:
        # An answer may still come, and would be taken for that to the next letter.
        line.smtp.close()
        raise


async def _say_goodbye(line: Line) -> None:
    try:
        await line.smtp.quit(timeout=_GOODBYE_S)
    except (aiosmtplib.SMTPException, OSError):
        pass
    finally:
        line.smtp.close()
