"""Many letters over few lines to a real mail server, which may hang up whenever it likes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace

import pytest

from fairhold.notifiers.base import Outgoing, Permanent, Temporary
from fairhold.notifiers.email import EmailNotifier
from fairhold.notifiers.email import lines as kept
from fairhold.notifiers.email.address import mail_server as address_of
from tests.notifiers.servers import MailServer, mail_server
from tests.patience import PATIENCE_S, until

HELLO = Outgoing("p1-7-0", "joined", "ann@example.org", "Hello", "plain", "<p>rich</p>")


def letter_to(name: str) -> Outgoing:
    return replace(HELLO, id=f"p1-{name}-0", address=f"{name}@example.org")


@pytest.fixture
def server() -> Iterator[MailServer]:
    with mail_server() as server:
        yield server


@pytest.fixture
async def post(server: MailServer, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[EmailNotifier]:
    # However slow the machine is: a line ends for the reason that a test is about.
    for limit in ("_IDLE_S", "_LOOK_S", "_TIMEOUT_S", "_GOODBYE_S"):
        monkeypatch.setattr(kept, limit, 10 * PATIENCE_S)
    notifier = EmailNotifier(address_of(server.url), "Seats <seats@example.org>")
    yield notifier
    await notifier.close()


async def test_many_letters_go_over_few_lines(server: MailServer, post: EmailNotifier) -> None:
    await asyncio.gather(*(post.send(letter_to(f"p{n}")) for n in range(60)))
    assert len(server.letters) == len(set(server.ids())) == 60
    assert len(server.lines) <= kept.LINES_MAX


async def test_a_line_carries_so_many_letters_and_no_more(
    server: MailServer, post: EmailNotifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept, "_LETTERS_MAX", 2)
    for n in range(6):
        await post.send(letter_to(f"p{n}"))
    assert len(server.lines) == 3
    await until(lambda: server.open_lines() == 0)


async def test_a_server_that_hangs_up_between_letters_gets_the_next_over_another_line(
    server: MailServer, post: EmailNotifier
) -> None:
    await post.send(letter_to("ann"))
    server.hang_up()
    await post.send(letter_to("bea"))
    server.at_reset = "421 4.4.2 you were silent for too long"
    await post.send(letter_to("cyd"))
    assert server.ids() == [f"<p1-{name}-0@example.org>" for name in ("ann", "bea", "cyd")]
    assert len(server.lines) == 3


async def test_a_server_that_takes_no_more_over_a_line_takes_it_over_another(
    server: MailServer, post: EmailNotifier
) -> None:
    """Only where it says so before the letter, and only for a line that was used before."""
    server.over_a_line = 1
    for name in ("ann", "bea", "cyd"):
        await post.send(letter_to(name))
    assert len(server.letters) == len(server.lines) == 3
    server.at_mail = "451 4.3.0 not now"
    with pytest.raises(Temporary, match="451"):
        await post.send(letter_to("dan"))
    assert len(server.lines) == 4


async def test_after_a_recipient_that_is_refused_the_line_goes_on(
    server: MailServer, post: EmailNotifier
) -> None:
    server.answers["bea@example.org"] = "550 5.1.1 no such user"
    await post.send(letter_to("ann"))
    with pytest.raises(Permanent):
        await post.send(letter_to("bea"))
    server.at_data = "452 4.3.1 no room"
    with pytest.raises(Temporary):
        await post.send(letter_to("dan"))
    server.at_data = ""
    await post.send(letter_to("cyd"))
    assert server.ids() == ["<p1-ann-0@example.org>", "<p1-cyd-0@example.org>"]
    assert len(server.lines) == 1


async def test_a_letter_without_an_answer_is_not_sent_anew_but_tried_later(
    server: MailServer, post: EmailNotifier
) -> None:
    """Whether the server has it nobody knows: so it is not said to be sent, and tried again later."""
    await post.send(letter_to("ann"))
    server.dropped.add("bea@example.org")
    with pytest.raises(Temporary):
        await post.send(letter_to("bea"))
    assert len(server.to("bea@example.org")) == 1
    await post.send(letter_to("cyd"))
    assert len(server.to("cyd@example.org")) == 1


async def test_an_answer_that_comes_late_is_not_taken_for_that_to_the_next(
    server: MailServer, post: EmailNotifier
) -> None:
    server.held.add("ann@example.org")
    given_up = asyncio.create_task(post.send(letter_to("ann")))
    await until(lambda: server.holding)
    given_up.cancel()
    await asyncio.wait([given_up])
    server.held.clear()
    server.answers["bea@example.org"] = "550 5.1.1 no such user"
    with pytest.raises(Permanent):
        await post.send(letter_to("bea"))
    assert len(server.lines) == 2


async def test_a_line_that_nobody_needs_is_closed(
    server: MailServer, post: EmailNotifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept, "_IDLE_S", 0.05)
    await post.send(letter_to("ann"))
    await until(lambda: server.open_lines() == 0)
    await post.send(letter_to("bea"))
    assert len(server.lines) == 2


async def test_whoever_stops_hangs_up(server: MailServer, post: EmailNotifier) -> None:
    await asyncio.gather(*(post.send(letter_to(f"p{n}")) for n in range(5)))
    assert server.open_lines() > 0
    await post.close()
    await until(lambda: server.open_lines() == 0)
    await post.send(letter_to("ann"))
    assert len(server.to("ann@example.org")) == 1
