"""From the first tap to the claimed place by the links that messages bring, through a real mail server."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlsplit

from tests.http.server import Server, make_key
from tests.notifiers.servers import MailServer, mail_server
from tests.pages.visitor import Visitor, heading, plain
from tests.patience import wait_until


def link_in(mail: MailServer, kind: str, address: str) -> str:
    """The path of the newest link of this kind to an address, once it has come."""

    def newest() -> str:
        for message in reversed(mail.to(address)):
            body = message.get_body(("plain",))
            found = body and re.search(rf"http\S+/{kind}/\S+", body.get_content())
            if found:
                return urlsplit(found[0]).path
        return ""

    return wait_until(newest)


def test_messages_lead_to_the_pages_and_the_pages_to_the_place(tmp_path: Path) -> None:
    """Nobody has said where the service is: links lead to where it listens."""
    url = f"sqlite:///{tmp_path}/links.db"
    key = make_key(url)
    with mail_server() as mail:
        server = Server(url, fairhold_smtp_url=mail.url, fairhold_mail_from="seats@example.org")
        with server, server.client(key) as admin, Visitor(base_url=server.base) as visitor:
            admin.pool("talk", 1, title="A talk")
            there = visitor.sign_up("talk")
            visitor.submit(f"{there}/confirm", {"name": "Olga", "email": "olga@example.org"})
            assert link_in(mail, "b", "olga@example.org") == there
            told = mail.to("olga@example.org")[-1].get_body(("plain",))
            assert told is not None
            assert f"{server.base}{there}" in told.get_content()
            waiting = visitor.sign_up("talk?lang=fi").partition("?")[0]
            said = {"name": "Ann", "email": "ann@example.org"}
            visitor.submit(f"{waiting}/details", said)
            visitor.submit(f"{there}/cancel")
            # As Ann signed up in Finnish, she is written to in it, and the page goes on in it.
            offer = link_in(mail, "o", "ann@example.org")
            assert heading(visitor.look(offer)) == "Sinulle on vapautunut paikka"
            visitor.submit(f"{offer}/claim")
            assert "Se on sinun" in plain(visitor.look(offer))
            assert link_in(mail, "b", "ann@example.org") == waiting
            assert heading(visitor.look(waiting)) == "Paikka on sinun"
