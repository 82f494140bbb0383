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
    """Takes mail. `answers` says what it answers to RCPT for an address, `at_data` to any message.

    What goes to an address in `held` waits for as long as it is there.
    """

    def __init__(self, tls: ssl.SSLContext | None = None, **options: Any) -> None:
        self.port = free_port()
        self.answers: dict[str, str] = {}
        self.at_data = ""
        self.stall_s = 0.0
        self.stalls: dict[str, float] = {}
        self.held: set[str] = set()
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
            self._controller.stop()
            self._controller = None

    def ids(self) -> list[str]:
        return [str(letter["Message-ID"]) for letter in self.letters]

    def to(self, address: str) -> list[EmailMessage]:
        return [letter for letter in self.letters if address in str(letter["To"])]

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
            await asyncio.sleep(0.01)
        if self.at_data:
            return self.at_data
        assert isinstance(envelope.content, bytes)
        letter = message_from_bytes(envelope.content, policy=default)
        assert isinstance(letter, EmailMessage)
        self.letters.append(letter)
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
