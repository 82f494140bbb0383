"""Real servers on loopback that fail, stall and recover on command: one for mail, one for HTTP."""

from __future__ import annotations

import asyncio
import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, Session

from testbed.ports import free_port


class MailServer:
    """Takes mail. `answers` says what it answers to RCPT for an address, `at_data` to any message, `at_mail`
    and `at_reset` to the commands of these names; over a connection it takes as many as `over_a_line` says.

    What goes to an address in `held` waits for as long as it is there; who sends to one in `dropped` is left
    without an answer.
    """

    def __init__(self, tls: ssl.SSLContext | None = None, **options: Any) -> None:
        self.port = free_port()
        self.answers: dict[str, str] = {}
        self.at_data = self.at_mail = self.at_reset = ""
        self.over_a_line = 1_000
        self.stall_s = 0.0
        self.stalls: dict[str, float] = {}
        self.held: set[str] = set()
        self.holding = False
        self.dropped: set[str] = set()
        # The connections over which something was to be sent, by where they come from.
        self.lines: dict[Any, asyncio.Transport] = {}
        self.letters: list[EmailMessage] = []
        self._tls = tls
        self._options = options
        self._controller: Controller | None = None

    @property
    def url(self) -> str:
        return f"smtp://127.0.0.1:{self.port}?tls=none"

    def up(self) -> None:
        options = dict(self._options)
        if self._tls is not None:
            options["tls_context"] = self._tls
        self._controller = Controller(self, hostname="127.0.0.1", port=self.port, **options)
        self._controller.start()

    def down(self) -> None:
        if self._controller is not None:
            asyncio.run_coroutine_threadsafe(self._hang_up(), self._controller.loop).result()
            self._controller.stop()
            self._controller = None

    def open_lines(self) -> int:
        return sum(not line.is_closing() for line in list(self.lines.values()))

    def hang_up(self) -> None:
        """Say nothing, and close every connection."""
        assert self._controller is not None
        asyncio.run_coroutine_threadsafe(self._hang_up(), self._controller.loop).result()

    async def _hang_up(self) -> None:
        for line in self.lines.values():
            line.abort()
        # The loop closes them in its next turn.
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    def ids(self) -> list[str]:
        return [str(letter["Message-ID"]) for letter in self.letters]

    def to(self, address: str) -> list[EmailMessage]:
        return [letter for letter in self.letters if address in str(letter["To"])]

    async def handle_MAIL(  # noqa: N802
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        assert server.transport is not None
        self.lines[session.peer] = server.transport
        session.letters = getattr(session, "letters", 0) + 1  # type: ignore[attr-defined]
        if self.at_mail or session.letters > self.over_a_line:  # type: ignore[attr-defined]
            return self.at_mail or "451 4.7.0 too many over one line"
        envelope.mail_from = address
        return "250 OK"

    async def handle_RSET(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802
        return self.at_reset or "250 OK"

    async def handle_RCPT(  # noqa: N802
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        answer = self.answers.get(address, "250 OK")
        if answer.startswith("2"):
            envelope.rcpt_tos.append(address)
        return answer

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802
        if stall_s := max([self.stall_s, *(self.stalls.get(it, 0.0) for it in envelope.rcpt_tos)]):
            await asyncio.sleep(stall_s)
        while self.held & set(envelope.rcpt_tos):
            self.holding = True
            await asyncio.sleep(0.01)
        if self.at_data:
            return self.at_data
        assert isinstance(envelope.content, bytes)
        letter = message_from_bytes(envelope.content, policy=default)
        assert isinstance(letter, EmailMessage)
        self.letters.append(letter)
        if self.dropped & set(envelope.rcpt_tos):
            assert server.transport is not None
            server.transport.abort()
        return "250 OK"


@contextmanager
def mail_server(**options: Any) -> Iterator[MailServer]:
    server = MailServer(**options)
    server.up()
    try:
        yield server
    finally:
        server.down()


def only(user: str, password: str) -> Any:
    """An authenticator that lets one user in."""

    def check(server: Any, session: Any, envelope: Any, mechanism: str, data: Any) -> AuthResult:
        known = (data.login, data.password) == (user.encode(), password.encode())
        return AuthResult(success=known, handled=False)

    return check


@dataclass(slots=True)
class Received:
    """One request as it came."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def form(self) -> dict[str, str]:
        return {name: values[0] for name, values in parse_qs(self.body.decode()).items()}

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(slots=True)
class Receiver:
    """Takes requests, and answers with `status` and `answer` until told otherwise."""

    url: str = ""
    status: int = 200
    answer: bytes = b"{}"
    headers: dict[str, str] = field(default_factory=dict)
    stall_s: float = 0.0
    received: list[Received] = field(default_factory=list)


@contextmanager
def receiver(tls: ssl.SSLContext | None = None) -> Iterator[Receiver]:
    """An HTTP server in a thread of its own."""
    state, stopping = Receiver(), threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length", 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            state.received.append(Received("POST", self.path, headers, self.rfile.read(length)))
            if state.stall_s:
                stopping.wait(state.stall_s)
            with suppress(OSError):
                self.send_response(state.status)
                for name, value in state.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(state.answer)))
                self.end_headers()
                self.wfile.write(state.answer)

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    state.url = f"{'https' if tls else 'http'}://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield state
    finally:
        stopping.set()
        server.shutdown()
        thread.join()
        server.server_close()
