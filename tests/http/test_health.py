"""What /readyz says of a service by which no letter goes out: it can serve, and names what is missing."""

from __future__ import annotations

from pathlib import Path

from tests.http.server import serving
from tests.notifiers.servers import mail_server

MAIL = ("FAIRHOLD_SMTP_URL", "FAIRHOLD_MAIL_FROM")


def ready(tmp_path: Path, **environment: str) -> tuple[list[str], str]:
    """The warnings of a service that was set up so, and its log."""
    with serving(f"sqlite:///{tmp_path}/health.db", **environment) as server, server.client() as anybody:
        answer = anybody.ask("GET", "/readyz")
        assert answer["status"] == "ready"
        assert anybody.ask("GET", "/healthz")["warnings"] == []
        return answer["warnings"], server.log(until="ready to serve")


def test_on_ones_own_machine_letters_are_kept_and_it_says_so(tmp_path: Path) -> None:
    (warning,), log = ready(tmp_path)
    assert warning.startswith("No mail server is set up: letters are kept in a drawer, for trying out")
    assert warning.endswith(".")
    assert all(name in warning for name in MAIL)
    assert "letters are kept in a drawer" in log


def test_where_others_come_and_nothing_can_send_it_says_what_to_set(tmp_path: Path) -> None:
    (warning,), log = ready(tmp_path, fairhold_base_url="https://seats.example.org")
    assert warning.startswith("No letter can be sent: no mail server and no text service is set up.")
    assert all(name in warning for name in (*MAIL, "FAIRHOLD_SMS_URL", "FAIRHOLD_SMS_FROM"))
    assert warning[1:-1] in log, "the log says the same"


def test_where_letters_go_out_it_warns_of_nothing(tmp_path: Path) -> None:
    with mail_server() as server:
        mail = {"fairhold_smtp_url": server.url, "fairhold_mail_from": "seats@example.org"}
        warnings, log = ready(tmp_path, **mail)
    assert warnings == []
    assert "FAIRHOLD_SMTP_URL" not in log


def test_a_text_service_alone_will_do(tmp_path: Path) -> None:
    texts = {"fairhold_sms_url": "https://sid:token@texts.example.org", "fairhold_sms_from": "Seats"}
    assert ready(tmp_path, **texts)[0] == []
