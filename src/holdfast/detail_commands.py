"""What people say of themselves: names, contacts and answers. No rule looks at them, and no log keeps them.

They are written beside the lane, in a transaction of their own under the pool's lock. Seats, order and
deadlines are not touched.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import msgspec

from holdfast import ids, inputs
from holdfast.answers import decode_answer, encode_answer
from holdfast.core.model import IN_PLAY, Party
from holdfast.core.refusals import Refusal, idempotency_mismatch, unknown
from holdfast.door import Door
from holdfast.errors import HoldfastError
from holdfast.shapes import Booking
from holdfast.store import rows
from holdfast.store.base import Transaction


class DetailCommands(Door):
    """The command for details."""

    async def change_booking(
        self,
        booking: str,
        *,
        name: str | None = None,
        contacts: Mapping[str, str] | None = None,
        locale: str | None = None,
        answers: Mapping[str, Any] | None = None,
        idempotency_key: str | None = None,
    ) -> Booking | Refusal:
        """Change a booking's name, contacts, locale or answers; what is not said stays."""
        key = await self.reads.booking_key(booking, self.org)
        if isinstance(key, Refusal):
            return key
        try:
            said = _checked(name, contacts, locale, answers)
        except inputs.Bad as bad:
            return bad.refusal
        digest = hashlib.sha256(msgspec.json.encode(("change_booking", key, said))).digest()
        change = partial(self._change, key=key, said=said, request=idempotency_key, digest=digest)
        try:
            return await self.engine.keep(key[0], change, dry_run=self._rehearses)
        except HoldfastError:
            raise
        except Exception:  # noqa: BLE001  # if it is anything else, it comes again
            # Another process may have used the key at the same moment, in another pool.
            return await self.engine.keep(key[0], change, dry_run=self._rehearses)

    async def _change(
        self,
        tx: Transaction,
        key: tuple[int, int],
        said: Mapping[str, Any],
        request: str | None,
        digest: bytes,
    ) -> Booking | Refusal:
        """Under the pool's lock: what is not said stays as it is now, whoever else has just spoken."""
        known = await tx.each("requests_by_key", [(self.org, request)]) if request is not None else ()
        if known:
            if bytes(known[0][2]) != digest:
                return idempotency_mismatch()
            before = decode_answer(known[0][3])
            assert isinstance(before, Booking | Refusal)
            return before
        answer = await self._changed(tx, key, said)
        if request is not None:
            row = (self.org, request, digest, encode_answer(answer), self.clock.now())
            await tx.many("insert_requests", [row])
        return answer

    async def _changed(
        self, tx: Transaction, key: tuple[int, int], said: Mapping[str, Any]
    ) -> Booking | Refusal:
        shown = await self.reads.booking(*key)
        if shown is None:
            return unknown("booking", ids.booking_text(*key))
        if shown.state not in IN_PLAY:
            sentence = f"A booking that is {shown.state} cannot be changed."
            return Refusal("not_possible", sentence, None, {"booking": shown.id, "state": shown.state})
        party: Party = replace(shown.party, **{name: said[name] for name in said if name != "answers"})
        answers = said.get("answers", shown.answers)
        await tx.run("change_details", *key, rows.text(party), rows.text(answers))
        return msgspec.structs.replace(shown, party=party, answers=answers)


def _checked(
    name: str | None,
    contacts: Mapping[str, str] | None,
    locale: str | None,
    answers: Mapping[str, Any] | None,
) -> dict[str, Any]:
    said: dict[str, Any] = {}
    if name is not None:
        said["name"] = inputs.text(name, "name")
    if contacts is not None:
        found = inputs.mapping(contacts, "contacts")
        said["contacts"] = {kind: inputs.text(to, f"contacts.{kind}") for kind, to in found.items()}
    if locale is not None:
        said["locale"] = inputs.text(locale, "locale", 35)
    if answers is not None:
        said["answers"] = inputs.mapping(answers, "answers")
    return said
