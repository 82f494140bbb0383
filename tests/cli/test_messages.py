"""Messages, webhooks and contacts of staff at the command line."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.notifiers.servers import mail_server
from tests.patience import PATIENCE_S, wait_until

ROOT = Path(__file__).parents[2]
FROM = "Seats <seats@example.org>"


def waiting(cli: Cli) -> None:
    cli("pool", "create", "yoga", "--preset", "class_waitlist", "--size", "1")
    cli.book("yoga", "Olga", "--confirmed", "--staff", "Eve", "--email", "olga@example.org")


def test_what_is_due_is_sent_and_a_dead_letter_replayed(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    waiting(cli)
    with mail_server() as server:
        monkeypatch.setenv("FAIRHOLD_SMTP_URL", server.url)
        monkeypatch.setenv("FAIRHOLD_MAIL_FROM", FROM)
        server.answers["olga@example.org"] = "550 5.1.1 no such mailbox"
        assert cli("outbox", "--once") == "1 message tried."
        (dead,) = cli.json("message", "dead")
        assert "550 5.1.1 no such mailbox" in cli("message", "dead")
        assert cli("message", "show", dead["id"]).startswith("confirmed to party: dead, 1 try\nemail  dead")
        server.answers.clear()
        assert cli("message", "dismiss", dead["id"], "--staff", "Eve").startswith("Dismissed.")
        assert cli("message", "dead") == "No messages."
        shown = cli("message", "show", dead["id"])
        assert shown.startswith("confirmed to party: dead, 1 try, dismissed by staff:Eve\nemail  dead")
        assert cli("message", "replay", dead["id"]) == "1 message will be sent again."
        assert cli.json("message", "show", dead["id"])["dismissed"] is None
        assert cli("outbox", "--once") == "1 message tried."
        cli.book("yoga", "Bea", "--email", "bea@example.org")
        server.answers["bea@example.org"] = "550 5.1.1 no such mailbox"
        assert cli("outbox", "--once") == "1 message tried."
        server.answers.clear()
        assert cli("message", "replay", "--all") == "1 message will be sent again."
        assert cli("outbox", "--once") == "1 message tried."
        assert len(server.letters) == 2
    assert cli("message", "dead") == "No messages."
    for act in ("replay", "dismiss"):
        assert "refused (not_possible)" in cli("message", act, dead["id"], code=1)
    assert "sent" in cli("message", "list", "yoga")
    assert "refused (unknown)" in cli("message", "show", "nonsense", code=1)
    for wrong in (("message", "replay"), ("message", "replay", "x", "--all")):
        cli(*wrong, code=2)


def test_a_dead_letter_of_which_nothing_is_kept_is_not_replayed_for_ever(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting(cli)
    with mail_server() as server:
        monkeypatch.setenv("FAIRHOLD_SMTP_URL", server.url)
        monkeypatch.setenv("FAIRHOLD_MAIL_FROM", FROM)
        server.answers["olga@example.org"] = "550 5.1.1 no such mailbox"
        cli("outbox", "--once")
        cli("person", "erase", "olga", "--cancel", "--yes")
        cli.book("yoga", "Bea", "--confirmed", "--staff", "Eve", "--email", "bea@example.org")
        server.answers["bea@example.org"] = "550 5.1.1 no such mailbox"
        cli("outbox", "--once")
        assert len(cli.json("message", "dead")) == 1, "who was forgotten needs nobody"
        assert cli("message", "replay", "--all") == "1 message will be sent again."


def test_words_are_shown_and_changed(cli: Cli) -> None:
    cli("pool", "create", "yoga", "--preset", "class_waitlist", "--size", "1")
    assert "Subject: Ein Platz für Sie" in cli("message", "preview", "offer", "--language", "de")
    assert cli("message", "preview", "confirmed", "--html").startswith("<!doctype html>")
    cli("message", "say", "offer", "subject", "Quick, {{ name }}!", "--staff", "Olga")
    assert "Subject: Quick, Ann!" in cli("message", "preview", "offer")
    assert "refused (invalid): Not known: nmae" in cli(
        "message", "say", "offer", "subject", "{{ nmae }}", code=1
    )
    assert cli("message", "say", "offer", "subject") == "Back to Fairhold's words."
    assert cli("message", "say", "offer", "subject") == "These were Fairhold's words already."


def test_programs_and_staff_are_told(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    cli("pool", "create", "yoga", "--preset", "class_waitlist", "--size", "1")
    secret = cli("webhook", "add", "https://example.org/in", "--kind", "offer").splitlines()[-1]
    assert secret.startswith("whsec_")
    (webhook,) = cli.json("webhook", "list")
    assert webhook["secret"] == secret
    assert "https://example.org/in  full  offer" in cli("webhook", "list")
    assert cli("webhook", "rotate", webhook["id"]).splitlines()[-1] != secret
    assert "thin, offer." in cli("webhook", "change", webhook["id"], "--thin")
    assert "thin, all kinds." in cli("webhook", "change", webhook["id"], "--kind", "all")
    assert cli.json("webhook", "change", webhook["id"], "--full", "--kind", "joined")["kinds"] == ["joined"]
    assert "refused (invalid)" in cli("webhook", "change", webhook["id"], "--kind", "song", code=1)
    inner = ("webhook", "change", webhook["id"], "--url", "https://127.0.0.1/")
    assert "refused (invalid): A webhook goes to a public address" in cli(*inner, code=1)
    monkeypatch.setenv("FAIRHOLD_WEBHOOKS_TO_PRIVATE", "yes")
    cli(*inner)
    monkeypatch.delenv("FAIRHOLD_WEBHOOKS_TO_PRIVATE")
    assert "failed: the address is not a public one" in cli("webhook", "test", webhook["id"], code=1)
    assert cli.json("webhook", "test", webhook["id"], code=1)["state"] == "failed"
    assert cli("webhook", "deliveries", webhook["id"]) == "Nothing was sent there."
    assert "refused (unknown)" in cli("webhook", "replay", webhook["id"], "p0000000000000-1-0", code=1)
    assert cli("webhook", "remove", webhook["id"]) == "Removed."
    assert cli("webhook", "remove", webhook["id"]) == "There was no such."
    assert "refused (invalid)" in cli("webhook", "add", "http://example.org", code=1)
    cli("staff-contact", "add", "email", "desk@example.org", "--locale", "fi")
    (contact,) = cli.json("staff-contact", "list")
    assert (contact["address"], contact["locale"]) == ("desk@example.org", "fi")
    assert cli("staff-contact", "remove", contact["id"]) == "Removed."
    assert cli("staff-contact", "list") == "Nobody of staff is told."
    assert "refused (invalid)" in cli("staff-contact", "add", "pigeon", "loft", code=1)
    assert "This is no e-mail address" in cli("staff-contact", "add", "email", "notmail", code=1)
    for asked in (
        ("webhook", "test", "nope"),
        ("webhook", "deliveries", "nope"),
        ("webhook", "rotate", "nope"),
        ("webhook", "replay", "nope", "p0000000000000-1-0"),
    ):
        assert cli(*asked, code=1).endswith("fairhold webhook list shows the webhooks there are.")
    for asked in (("message", "replay", "nope"), ("message", "show", "nope")):
        assert cli(*asked, code=1).endswith(
            "fairhold message list POOL shows a pool's messages, fairhold message dead the dead letters."
        )
    assert cli("key", "revoke", "nope", code=1).endswith("fairhold key list shows the keys there are.")


def test_the_outbox_runs_until_it_is_stopped(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    waiting(cli)
    with mail_server() as server:
        monkeypatch.setenv("FAIRHOLD_SMTP_URL", server.url)
        monkeypatch.setenv("FAIRHOLD_MAIL_FROM", FROM)
        monkeypatch.setenv("FAIRHOLD_DATABASE_URL", cli.url)
        running = subprocess.Popen([sys.executable, "-m", "fairhold", "outbox"], cwd=ROOT)
        try:
            wait_until(lambda: server.letters)
            cli.book("yoga", "Ann", "--email", "ann@example.org")
            wait_until(lambda: len(server.letters) == 2)
            running.send_signal(signal.SIGTERM)
            assert running.wait(PATIENCE_S) == 0
        finally:
            running.kill()
            running.wait()
    assert [letter["To"] for letter in server.letters] == ["olga@example.org", "ann@example.org"]
