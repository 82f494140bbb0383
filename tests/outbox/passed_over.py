"""A pool whose offers reach some and not others, and what became of them."""

from __future__ import annotations

from fairhold import granted
from tests.outbox.conftest import Post

NO_SUCH = "550 5.1.1 <ann@example.org>: no such mailbox"


async def state(post: Post, booking: str) -> str:
    return granted(await post.hf.booking(booking)).state


async def offers_said(post: Post) -> list[tuple[str, str]]:
    """How it stands with the letters that bring offers, and why."""
    return [(it.state, it.error) for it in granted(await post.hf.messages("lesson")) if it.kind == "offer"]


async def from_page(post: Post, name: str, pool: str = "lesson", **contacts: str) -> str:
    """Somebody who came by the public page."""
    party = {"id": name.lower(), "name": name, "contacts": contacts}
    return granted(await post.hf.book(pool, party, door="page")).id


async def reach(post: Post, booking: str) -> str:
    return granted(await post.hf.booking(booking)).reach
