"""No password out of an address is ever printed: not in a complaint, not in a traceback, not in a log."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from fairhold.cli.main import app
from fairhold.errors import SettingsWrong
from fairhold.http.settings import Settings
from fairhold.notifiers.choose import notifiers_for
from fairhold.outbox.settings import MessageSettings
from tests.cli.conftest import Command

# Words of passwords, as people choose them: none may come out, nor may a part.
PASSWORDS = ("hushhush", "hush/hush", "hush#hush", "hush?hush", "hush@hush", "hu℀sh", "[hush", "12/hush")
DATABASES = [
    "postgresql+asyncpg://ann:hushhush@127.0.0.1/seats",
    "ann:hushhush@127.0.0.1/seats",
    *(f"postgresql://ann:{it}@127.0.0.1:1/seats" for it in PASSWORDS),
    *(f"postgresql://ann:{it}@127.0.0.1:1,127.0.0.1:2/seats" for it in PASSWORDS),
    "postgresql://ann:hushhush@127.0.0.1:hush/seats",
    "postgresql://ann:hushhush@..:1/seats",
    "postgresql://ann:hushhush@127.0.0.1:1/seats?hush",
]


@pytest.mark.parametrize("url", DATABASES)
def test_a_wrong_address_of_a_database_is_said_in_one_line_without_its_password(url: str) -> None:
    result = CliRunner().invoke(app, ["pool", "list"], env={"FAIRHOLD_DATABASE_URL": url})
    assert result.exit_code in (2, 3), result.output
    assert result.output.strip().count("\n") == 0, result.output
    assert "hush" not in result.output
    # What is no SystemExit would be a traceback.
    assert isinstance(result.exception, SystemExit)


@pytest.mark.parametrize("url", [DATABASES[0], *DATABASES[3:5]])
def test_no_service_says_it_either(fairhold: Command, url: str) -> None:
    result = fairhold("serve", "--port", "0", database=url)
    assert result.returncode == 2, result.stderr
    assert "hush" not in result.stderr
    assert "Traceback" not in result.stderr


def test_the_scheme_is_named_and_what_to_write_instead(fairhold: Command) -> None:
    assert "postgresql+asyncpg://… (sqlite:///file.db" in fairhold("stats", database=DATABASES[0]).stderr
    said = fairhold("stats", database="postgresql://ann:hush/hush@127.0.0.1/seats").stderr
    assert "the database's address cannot be read: in a user's name or password, write" in said


def test_an_address_at_the_wrong_place_of_a_command_is_not_repeated_with_its_password(
    fairhold: Command,
) -> None:
    said = fairhold("stats", "--limit", "postgresql://ann:hush/hush@127.0.0.1/seats").stderr
    assert "hush" not in said
    said = fairhold("pool", "list", "postgresql://ann:hush/hush@127.0.0.1/seats").stderr
    assert "postgresql://…@127.0.0.1/seats" in said


OTHERS = [
    *(("FAIRHOLD_SMTP_URL", f"smtp://ann:{it}@mail.example.org:x") for it in PASSWORDS),
    *(("FAIRHOLD_SMTP_URL", f"smtp://ann:{it}@mail.example.org:587") for it in PASSWORDS[1:4]),
    ("FAIRHOLD_SMTP_URL", "mail://ann:hushhush@mail.example.org"),
    *(("FAIRHOLD_SMS_URL", f"https://AC1:{it}@sms.example.org:x") for it in PASSWORDS),
    ("FAIRHOLD_SMS_URL", "sms://AC1:hushhush@sms.example.org"),
    *(("FAIRHOLD_BASE_URL", f"https://ann:{it}@seats.example.org:x") for it in PASSWORDS),
    ("FAIRHOLD_BASE_URL", "seats://ann:hushhush@seats.example.org"),
]


@pytest.mark.parametrize(("name", "url"), OTHERS)
def test_a_wrong_address_of_another_kind_is_said_without_its_password(name: str, url: str) -> None:
    env = {"FAIRHOLD_MAIL_FROM": "seats@example.org", "FAIRHOLD_SMS_FROM": "Seats", name: url}
    with pytest.raises(SettingsWrong) as wrong:
        notifiers_for(MessageSettings.from_environment(env))
    assert "hush" not in str(wrong.value)
    # With the cause, it would be in the traceback of a program that uses the library.
    assert wrong.value.__cause__ is None
    assert wrong.value.__suppress_context__ or wrong.value.__context__ is None


@pytest.mark.parametrize(("name", "url"), [OTHERS[1], OTHERS[12], OTHERS[-1]])
def test_the_service_does_not_say_it_either(fairhold: Command, sqlite_url: str, name: str, url: str) -> None:
    env = {"FAIRHOLD_MAIL_FROM": "seats@example.org", "FAIRHOLD_SMS_FROM": "Seats", name: url}
    result = fairhold("serve", "--port", "0", database=sqlite_url, **env)
    assert result.returncode == 2
    assert "hush" not in result.stderr
    assert name in result.stderr


def test_the_providers_address_is_not_repeated_either(fairhold: Command, sqlite_url: str) -> None:
    for url in ("https://ann:hu/hush@id.example.org", "id://ann:hush@id.example.org"):
        result = fairhold("serve", "--port", "0", database=sqlite_url, FAIRHOLD_OIDC_ISSUER=url)
        assert (result.returncode, result.stderr.count("\n")) == (2, 1)
        assert "FAIRHOLD_OIDC_ISSUER" in result.stderr
        assert "hush" not in result.stderr


def test_settings_do_not_show_addresses_with_passwords() -> None:
    shown = repr(Settings(database=DATABASES[0])) + repr(
        MessageSettings(smtp_url="smtp://ann:hushhush@h", sms_url="https://AC1:hushhush@h")
    )
    assert "hush" not in shown
