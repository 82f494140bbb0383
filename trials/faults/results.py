"""Keep what came of each fault, one line of JSON each, so that a long trial can go on where it ended."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from trials.faults.spot import Fault


@dataclass(frozen=True, slots=True)
class Result:
    """The outcome of a fault. `noticed` is yes, no or time-out; None as long as it was only judged alone."""

    id: str
    place: str
    operator: str
    before: str
    after: str
    noticed: str | None
    by: str
    seconds: float

    def sentence(self) -> str:
        """Return the result on one line."""
        said = {"yes": "noticed", "no": "NOT NOTICED", "time-out": "time is up", None: "not yet noticed"}
        by = f" by {self.by}" if self.by else ""
        return f"{self.id} {self.place} {self.operator}: {said[self.noticed]}{by}, {self.seconds:.0f} s"


class Results:
    """The results in a file; the last line of a fault is the one that counts."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._by_id: dict[str, Result] = {}
        if path.exists():
            for line in path.read_text().splitlines():
                result = Result(**json.loads(line))
                self._by_id[result.id] = result

    def __contains__(self, name: str) -> bool:
        return name in self._by_id

    def __getitem__(self, name: str) -> Result:
        return self._by_id[name]

    def add(self, fault: Fault, noticed: str | None, by: str, seconds: float) -> None:
        """Write down what came of a fault."""
        place = f"{fault.spot.path}:{fault.line}"
        result = Result(fault.id, place, fault.spot.operator, fault.before, fault.after, noticed, by, seconds)
        self._by_id[fault.id] = result
        with self._path.open("a") as file:
            file.write(json.dumps(asdict(result), ensure_ascii=False) + "\n")

    def summary(self) -> str:
        """Return the share that was noticed in each room, and the faults that were not."""
        paragraphs = []
        rooms = sorted({name.partition("-")[0] for name in self._by_id})
        for room in rooms:
            judged = [
                it for it in self._by_id.values() if it.id.startswith(f"{room}-") and it.noticed is not None
            ]
            missed = [it for it in judged if it.noticed == "no"]
            noticed = len(judged) - len(missed)
            share = f"{noticed / len(judged):.0%}" if judged else "nothing"
            timed_out = sum(it.noticed == "time-out" for it in judged)
            told = f"{room}: {noticed} of {len(judged)} noticed ({share}), {timed_out} of them by a time-out"
            paragraphs.append(told)
            paragraphs += [_difference(result) for result in missed]
        return "\n\n".join(paragraphs)


def _difference(result: Result) -> str:
    lines = [f"{result.id} {result.place} {result.operator}"]
    lines += [f"  - {line}" for line in result.before.splitlines()]
    lines += [f"  + {line}" for line in result.after.splitlines()]
    return "\n".join(lines)
