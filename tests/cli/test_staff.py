"""Members of staff at the command line."""

from __future__ import annotations

import asyncio
import subprocess
import sys

from tests.cli.conftest import Cli
from tests.database import ask, opened


def test_members_are_added_listed_changed_and_removed(cli: Cli) -> None:
    said = cli("staff", "add", "Olga@example.org", "--name", "Olga", "--role", "admin")
    assert said.startswith("Olga (olga@example.org) has the role admin in default. With this they choose")
    assert said.splitlines()[-1].startswith("m")
    assert cli("staff", "list").splitlines()[1].split() == [
        "olga@example.org", "Olga", "admin", "invited", "never",
    ]  # fmt: skip
    assert "refused (exists)" in cli("staff", "add", "olga@example.org", "--name", "Eve", code=1)
    assert "refused (invalid)" in cli("staff", "add", "eve", "--name", "Eve", code=1)
    cli("staff", "add", "eve@example.org", "--name", "Eve", "--org", "salon")
    assert cli("staff", "list", "--org", "salon").count("\n") == 1
    assert "refused (not_possible)" in cli("staff", "remove", "olga@example.org", code=1)
    cli("staff", "add", "bea@example.org", "--name", "Bea")
    assert cli("staff", "role", "bea@example.org", "admin") == "Bea has the role admin."
    again = cli("staff", "invite", "olga@example.org").splitlines()[-1]
    assert again != said.splitlines()[-1]
    assert cli("staff", "sign-out", "olga@example.org") == "0 sessions ended."
    assert cli("staff", "remove", "olga@example.org") == "Removed olga@example.org."
    assert "fairhold staff list shows" in cli("staff", "remove", "olga@example.org", code=1)
    assert cli("staff", "list", "--org", "nowhere") == "nowhere has no members of staff."


async def put_passkey(url: str) -> None:
    """As a browser would have made it, as far as the command line can tell."""
    async with opened(url) as hf:
        [(member,)] = await hf.store.reader().rows("lock_admins", "default")
        tx = await hf.store.begin()
        await tx.rows("put_passkey", "k0123456789abcdef", member, b"credential", b"key", 0, "Phone", 0)
        await tx.commit()


def test_passkeys_are_listed_and_removed(cli: Cli) -> None:
    cli("staff", "add", "olga@example.org", "--name", "Olga", "--role", "admin")
    cli("staff", "add", "bea@example.org", "--name", "Bea")
    assert cli("staff", "passkeys", "olga@example.org") == "olga@example.org has no passkeys."
    asyncio.run(put_passkey(cli.url))
    assert cli("staff", "passkeys", "olga@example.org").splitlines()[1].split() == [
        "k0123456789abcdef", "Phone", "1970-01-01", "00:00", "never",
    ]  # fmt: skip
    remove = ("staff", "remove-passkey")
    assert "refused (unknown)" in cli(*remove, "bea@example.org", "k0123456789abcdef", code=1)
    assert "refused (unknown)" in cli(*remove, "cyd@example.org", "k0123456789abcdef", code=1)
    assert cli(*remove, "olga@example.org", "k0123456789abcdef").startswith("Removed k0123456789abcdef")
    assert cli.json("staff", "passkeys", "olga@example.org") == []


def fairhold(url: str, *words: str, piped: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "fairhold", *words, "--database", url]
    return subprocess.run(command, input=piped, capture_output=True, text=True, timeout=60)


async def test_a_password_is_piped_in_and_never_said(database_url: str) -> None:
    words = ("staff", "add", "olga@example.org", "--name", "Olga", "--role", "admin", "--password")
    weak = fairhold(database_url, *words, piped="short\n")
    assert (weak.returncode, weak.stderr.split(":")[0]) == (1, "refused (invalid)")
    common = fairhold(database_url, *words, piped="password123\n")
    assert (common.returncode, common.stderr.split(":")[0]) == (1, "refused (common_password)")
    assert await ask(database_url, "SELECT count(*) FROM fairhold_members") == [(0,)]
    made = fairhold(database_url, *words, piped="correct horse battery\n")
    assert made.returncode == 0, made.stderr
    assert (
        made.stdout
        == "Olga (olga@example.org) has the role admin in default, and a password to sign in with.\n"
    )
    [(before,)] = await ask(database_url, "SELECT password FROM fairhold_members")
    assert before.startswith("$argon2id$")
    words = ("staff", "invite", "olga@example.org", "--password")
    assert fairhold(database_url, *words, piped="another long password\n").returncode == 0
    assert await ask(database_url, "SELECT password FROM fairhold_members") != [(before,)]
