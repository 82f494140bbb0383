"""What an answer must be like, whatever was asked."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, field

from drills.fuzz.wire import Answer, Asked
from fairhold.http.problems import STATUSES

SLOW_S = 5.0
# Nobody waits longer than this before asking again.
AGAIN_MAX_S = 3.0
# All that falls due on the way happens first, as long as that takes; it is for tests alone.
_CLOCK = "POST /v1/clock"
_MEANT = ("unavailable", "outcome_unknown")
_LEVEL = re.compile(r'"level":\s*"(error|critical)"', re.IGNORECASE)
_UNHEARD = ("Traceback (most recent call last)", "was never retrieved", "was never awaited", "Exception in ")


@dataclass(slots=True)
class Fault:
    """Something that should not be: where, what, and how to ask for it again."""

    where: str
    what: str
    again: str


@dataclass(slots=True)
class Judge:
    """Counts, and keeps what is wrong."""

    base: str
    faults: list[Fault] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    codes: Counter[str] = field(default_factory=Counter)
    asked: Counter[str] = field(default_factory=Counter)
    granted: Counter[str] = field(default_factory=Counter)
    slow: list[Asked] = field(default_factory=list)
    """What took long; whether we were busy with it all that time is seen when it is asked alone."""
    unavailable: list[tuple[Asked, float]] = field(default_factory=list)
    """What was answered with "not now", and for how long; whether it was the moment or what was asked is seen
    when it is asked alone."""
    slowest: tuple[float, str] = (0.0, "")

    def judge(self, number: int, asked: Asked, answer: Answer) -> None:
        self.statuses[answer.status] += 1
        self.asked[asked.name] += 1
        if 200 <= answer.status < 400:
            self.granted[asked.name] += 1
        if answer.took_s > self.slowest[0]:
            self.slowest = (answer.took_s, asked.name)
        if answer.took_s > SLOW_S and asked.name != _CLOCK:
            self.slow.append(asked)
        if answer.status == 503:
            self.unavailable.append((asked, _pause_s(answer)))
        if wrong := self.wrong(asked, answer):
            self.faults.append(Fault(f"request {number}, {asked.name}", wrong, asked.as_curl(self.base)))

    def wrong(self, asked: Asked, answer: Answer) -> str:
        """What is wrong with an answer; nothing if it is as it should be."""
        if asked.name == _CLOCK and answer.error == "no answer":
            return ""
        if answer.status == 0:
            return f"no answer: {answer.error}" if asked.is_sound else ""
        if answer.status == 400 and answer.kind == b"text/plain":
            return "refused as no HTTP, which it is" if asked.is_sound else ""
        if b"Traceback (most recent" in answer.body:
            return "it shows a traceback"
        if answer.status < 400 or asked.method == b"HEAD":
            return "" if answer.status < 500 else f"{answer.status}"
        if answer.kind == b"application/problem+json":
            return self._wrong_problem(answer)
        if answer.status >= 500:
            return f"{answer.status} {answer.body[:300]!r}"
        if asked.target.startswith(b"/v1/"):
            return f"{answer.status} is no problem document: {answer.kind!r} {answer.body[:200]!r}"
        return "" if answer.kind == b"text/html" or not answer.body else f"{answer.status} as {answer.kind!r}"

    def _wrong_problem(self, answer: Answer) -> str:
        try:
            told = json.loads(answer.body)
        except ValueError:
            return f"a problem that is no JSON: {answer.body[:200]!r}"
        code = told.get("code")
        self.codes[str(code)] += 1
        if STATUSES.get(code) != answer.status or told.get("status") != answer.status:
            return f"{answer.status} with the code {code!r}"
        if not told.get("title") or not told.get("detail"):
            return f"{code} says nothing"
        if answer.status >= 500 and (code not in _MEANT or b"retry-after" not in answer.headers):
            return f"{answer.status} {code}: {told['detail']}"
        return ""

    def read(self, log: str) -> None:
        """Look through the service's log for what it did not answer for."""
        for line in log.splitlines():
            if _LEVEL.search(line) or any(word in line for word in _UNHEARD):
                self.faults.append(Fault("the log", _shortened(line), ""))


def _pause_s(answer: Answer) -> float:
    """For how long it says to stay away, as far as that can be waited for."""
    said = answer.headers.get(b"retry-after", b"")
    return min(float(said), AGAIN_MAX_S) if said.isdigit() else AGAIN_MAX_S


def _shortened(line: str) -> str:
    """What failed, and the end of the way there."""
    return line if len(line) < 1_500 else f"{line[:200]} … {line[-1_200:]}"
