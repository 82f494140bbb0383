"""Answers and rows of a tree, in neutral names, without sentences and without what is drawn at random."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from net import vocabulary
from net.histories import Json
from net.mapping import TreeNames

_ERASED: Final = re.compile(rb"erased-[0-9a-f]{16}")


class Neutral:
    """Turns what one tree says into neutral JSON."""

    def __init__(self, names: TreeNames) -> None:
        self._names = names

    def answer(self, said: Any) -> Json:
        """Return the answer to a command: what kind of answer it is, and its fields."""
        if isinstance(said, BaseException):
            return {"error": type(said).__name__}
        kind = self._names["answers"].neutral(type(said).__name__)
        fields = msgspec.to_builtins(said)
        if kind == "Refusal":
            fields = {
                "code": self._names["refusals"].neutral(said.code),
                "field": said.field,
                "facts": fields["facts"],
                "status": said.status,
            }
        elif kind == "Outcome":
            fields = self._outcome(fields)
        elif kind == "Booking":
            fields["state"] = self._names["booking states"].neutral(fields["state"])
        return anonymous({kind: fields})

    def view(self, said: Any) -> Json:
        """Return what a read shows: bookings, or a pool."""
        if isinstance(said, list):
            return [self.answer(one) for one in said]
        return self.answer(said)

    def _outcome(self, fields: dict[str, Any]) -> dict[str, Any]:
        events = []
        for event in fields["events"]:
            kind = self._names["events"].neutral(event["event"])
            rest = {name: value for name, value in event.items() if name != "event"}
            events.append({"event": kind, **self.event(kind, rest)})
        messages = [
            {**message, "kind": self._names["messages"].neutral(message["kind"])}
            for message in fields["messages"]
        ]
        answer = fields["answer"]
        if answer is not None:
            answer = {name: value for name, value in answer.items() if name != "sentence"}
        return {"events": events, "messages": messages, "answer": answer}

    def event(self, kind: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return the body of an event; the names of states in it are neutral."""
        made = dict(body)
        if kind == "OpeningEnded":
            made["how"] = self._names["opening states"].neutral(made["how"])
        elif "state" in made:
            made["state"] = self._names["booking states"].neutral(made["state"])
        if kind == "Erased":
            # With each entry there is a digest of what stands there since, and that names the party anew.
            made["entries"] = [entry[0] for entry in made["entries"]]
        return made

    def row(self, table: str, row: Mapping[str, Any]) -> list[Json]:
        """Return the values of a row in the order of COLUMNS."""
        made = {column: _value(table, column, row[column]) for column in vocabulary.COLUMNS[table]}
        if table == "log":
            made["kind"] = self._names["events"].neutral(made["kind"])
            made["body"] = self.event(made["kind"], made["body"])
        elif table == "outbox":
            made["kind"] = self._names["messages"].neutral(made["kind"])
        elif table == "bookings":
            made["state"] = self._names["booking states"].neutral(made["state"])
        elif table == "openings":
            made["state"] = self._names["opening states"].neutral(opening_state(row))
        elif table == "offers" and made["outcome"] is not None:
            made["outcome"] = self._names["offer outcomes"].neutral(made["outcome"])
        values: list[Json] = anonymous([made[column] for column in vocabulary.COLUMNS[table]])
        return values


def opening_state(row: Mapping[str, Any]) -> str:
    """Return the state of an opening, with the reason why it is over where the tree stores one apart."""
    why = row.get("why")
    return f"{row['state']}/{why}" if why else str(row["state"])


def _value(table: str, column: str, value: Any) -> Json:
    if isinstance(value, bool):
        return int(value)
    is_json = column in vocabulary.JSON_COLUMNS or (column == "units" and table in vocabulary.LISTS_OF_UNITS)
    return msgspec.json.decode(value) if is_json and isinstance(value, str) else value


def anonymous(said: Json) -> Json:
    """Return the same, with the ids of forgotten parties all alike: they are drawn at random."""
    text = msgspec.json.encode(said)
    return msgspec.json.decode(_ERASED.sub(b"erased", text)) if b"erased-" in text else said
