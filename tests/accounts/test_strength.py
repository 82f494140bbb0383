"""What nobody may guess is long enough, and thrown with dice that nobody can foresee."""

from __future__ import annotations

import ast
import base64
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import fairhold
from fairhold import granted, tokens
from fairhold.accounts import oidc
from fairhold.accounts.challenges import Challenges
from fairhold.accounts.members import Members
from fairhold.accounts.passwords import Passwords
from fairhold.accounts.sessions import Sessions, Started
from fairhold.keys import CHECKSUM_LENGTH, Keys
from tests.database import opened

SOURCES = sorted(Path(fairhold.__file__).parent.rglob("*.py"))
BITS_MIN = 128
PASSWORD = "correct horse battery"

BOOKING, MEMBER = "b0123456789abck7pm2x", "m0123456789abcdef"
# What is made of the secret, by what stays of it when its own name is taken away.
MADE: dict[str, Callable[[str], str]] = {
    "edit": lambda secret: tokens.edit_token(secret, BOOKING).removeprefix(BOOKING),
    "offer": lambda secret: tokens.offer_token(secret, BOOKING, 7).rpartition(".")[2],
    "form": lambda secret: tokens.form_token(secret, "yoga", "book").rpartition(".")[2],
    "invitation": lambda secret: tokens.invitation_token(secret, MEMBER, 1).rpartition(".")[2],
    "csrf": lambda secret: tokens.csrf_token(secret, bytes(32)),
}


def bits(text: str) -> int:
    """How many bits a text holds, by the alphabet that it is written in."""
    if re.fullmatch("[0-9a-f]+", text):
        return 4 * len(text)
    return 8 * len(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))


@pytest.mark.parametrize("kind", MADE)
def test_what_is_made_of_the_secret_has_128_bits(kind: str) -> None:
    made = [MADE[kind](tokens.new_secret()) for _ in range(300)]
    assert {bits(it) for it in made} == {BITS_MIN}
    assert_even(bytes.fromhex(it) for it in made)


def test_the_secret_and_those_of_webhooks_are_longer() -> None:
    secrets = [tokens.new_secret() for _ in range(300)]
    assert {bits(it) for it in secrets} == {256}
    assert_even(base64.urlsafe_b64decode(it + "=") for it in secrets)
    hook = tokens.webhook_secret(secrets[0], "default", "wh1", 1).removeprefix("whsec_")
    assert len(base64.b64decode(hook)) * 8 == 192


async def test_keys_sessions_and_challenges_have_256_bits(database_url: str) -> None:
    async with opened(database_url) as hf:
        members = Members(hf.store, hf.clock, hf.secret)
        granted(await members.add("default", "olga@example.org", "Olga", "admin"))
        granted(await members.set_password("default", "olga@example.org", PASSWORD, Passwords()))
        sessions = Sessions(hf.store, hf.clock, hf.secret, Passwords())
        found = []
        for number in range(2):
            key = granted(
                await Keys(hf.store, hf.clock, hf.secret).create("default", "read", f"key {number}")
            )
            started = await sessions.sign_in("default", "olga@example.org", PASSWORD)
            assert isinstance(started, Started)
            assert key.secret is not None
            challenge = await Challenges(hf.store, hf.clock).put("sign_in")
            random = key.secret.removeprefix("fh_")[:-CHECKSUM_LENGTH]
            found += [random, started.token.removeprefix("fhs_"), challenge.hex()]
    assert [bits(it) for it in found] == [256] * 6
    assert len(set(found)) == 6


def assert_even(raws: Iterator[bytes]) -> None:
    """At every place stand many bytes, and none far more often than others: there is no pattern to see."""
    for place in zip(*raws, strict=True):
        counted = Counter(place)
        assert len(counted) > 100
        assert max(counted.values()) < 15


def test_dice_and_hashes_are_those_that_hold() -> None:
    """Numbers that could be foreseen are for pauses and for the order of hosts, and for nothing else."""
    unsafe, hashes = set(), set()
    for path in SOURCES:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.Import) and any(name.name in ("random", "uuid") for name in node.names):
                unsafe.add(path.name)
            elif isinstance(node, ast.ImportFrom):
                assert node.module not in ("random", "uuid", "hashlib", "md5"), path
            elif isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "hashlib":
                hashes.add(node.attr)
            elif isinstance(node, ast.Call) and ast.unparse(node.func) == "hmac.digest":
                hashes.add(ast.literal_eval(node.args[2]))
    assert unsafe == {"hosts.py", "loop.py", "asking.py", "said.py"}
    assert hashes == {"sha256", "blake2b"}


def test_signatures_are_those_that_hold() -> None:
    """Of public keys alone, and over nothing shorter than SHA-256."""
    for name in oidc.ALGORITHMS:
        assert re.fullmatch("(RS|PS|ES)(256|384|512)|EdDSA|Ed25519", name)


# What takes a pattern, or fills something in: only what we have written ourselves.
PATTERNS = {"compile", "match", "fullmatch", "search", "sub", "subn", "split", "findall", "finditer"}


def test_patterns_are_ours() -> None:
    """Nothing that somebody said is in a regular expression, unless it is escaped."""
    seen = 0
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            if getattr(node.func.value, "id", "") == "re" and node.func.attr in PATTERNS:
                seen += 1
                assert is_ours(node.args[0]), (path.name, node.lineno)
    assert seen > 20


def is_ours(part: ast.AST) -> bool:
    """A text of ours, the name of one, or escaped. A variable's name would have small letters."""
    if isinstance(part, ast.Name):
        return part.id.isupper()
    if isinstance(part, ast.Call):
        return ast.unparse(part.func) == "re.escape"
    known = ast.Constant | ast.BinOp | ast.Add | ast.JoinedStr | ast.FormattedValue
    return isinstance(part, known) and all(is_ours(it) for it in ast.iter_child_nodes(part))
