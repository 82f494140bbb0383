"""What people say of themselves: names, contacts and answers. No rule looks at them, and no log keeps them.

They are written beside the lane, in a transaction of their own: seats, order and deadlines are not touched.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import msgspec

from holdfast import inputs
from holdfast.answers import decode_answer, encode_answer
from holdfast.core.model import IN_PLAY, Party
from holdfast.core.questions import wrong_answer
from holdfast.core.refusals import Refusal, idempotency_mismatch, unknown
from holdfast.door import Door
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
        shown = await self.reads.booking(*key)
        if shown is None:
            return unknown("booking", booking)
        if "answers" in said:
            asked = (await self.reads.view(key[0])).pool.questions
            if refused := wrong_answer(asked, said["answers"]):
                return refused
        if self._rehearses:
            return shown
        digest = hashlib.sha256(msgspec.json.encode(("change_booking", key, said))).digest()
        tx = await self.store.begin()
        try:
            answer = await self._change(tx, key, said, shown, idempotency_key, digest)
            await tx.commit()
        finally:
            await tx.rollback()
        return answer

    async def _change(
        self,
        tx: Transaction,
        key: tuple[int, int],
        said: Mapping[str, Any],
        shown: Booking,
        request: str | None,
        digest: bytes,
    ) -> Booking | Refusal:
        known = await tx.each("requests_by_key", [(self.org, request)]) if request is not None else ()
        if known:
            if bytes(known[0][2]) != digest:
                return idempotency_mismatch()
            before = decode_answer(known[0][3])
            assert isinstance(before, Booking | Refusal)
            return before
        answer = await self._changed(tx, key, said, shown)
        if request is not None:
            row = (self.org, request, digest, encode_answer(answer), self.clock.now())
            await tx.many("insert_requests", [row])
        return answer

    async def _changed(
        self, tx: Transaction, key: tuple[int, int], said: Mapping[str, Any], shown: Booking
    ) -> Booking | Refusal:
        row = rows.booking_of((await tx.each("bookings_by_number", [key]))[0])
        if row.state not in IN_PLAY:
            sentence = f"A booking that is {row.state} cannot be changed."
            return Refusal("not_possible", sentence, None, {"booking": shown.id, "state": row.state})
        party: Party = replace(row.party, **{name: said[name] for name in said if name != "answers"})
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
