"""Commands of a tree, made from the plain JSON of a step."""

from __future__ import annotations

from typing import Any

from net import vocabulary
from net.histories import History, Json, Step
from net.mapping import TreeNames


class Builder:
    """Makes a tree's commands. Its modules are handed over, for each tree has its own."""

    def __init__(self, names: TreeNames, *, commands: Any, model: Any, policies: Any) -> None:
        self._names = names
        self._commands = commands
        self._model = model
        self._policies = policies
        self.kinds = tuple(
            getattr(commands, names["commands"].theirs(name)) for name in sorted(vocabulary.COMMANDS)
        )

    def command(self, history: History, step: Step) -> Any:
        """Return the command that a step asks; or a refusal, if its policy is none."""
        kind = getattr(self._commands, self._names["commands"].theirs(step["do"]))
        said: dict[str, Any] = {}
        for name, value in step["say"].items():
            made = self._value(name, value, history, step)
            if name == "pool" and not isinstance(made, self._model.Pool):
                return made
            said[name] = made
        return kind(**said)

    def _value(self, name: str, value: Json, history: History, step: Step) -> Any:
        if name == "party":
            return self.party(value)
        if name == "pool":
            return self.pool(value, history, step["pool"])
        if name == "changes":
            return self._changes(value)
        if name == "units":
            return tuple(value)
        if name == "price" and value is not None:
            return self._model.Price(**value)
        if name == "wants" and value is not None:
            return self._model.Wants(**value)
        return value

    def party(self, said: Json) -> Any:
        return self._model.Party(**{**said, "tags": tuple(said.get("tags", ()))})

    def pool(self, said: Json, history: History, index: int) -> Any:
        """Return the pool, or the refusal of its policy."""
        policy = self._policies.make(said["policy"]["preset"], said["policy"]["changes"])
        if not isinstance(policy, self._policies.Policy):
            return policy
        fields = {name: value for name, value in said.items() if name != "policy"}
        made = self._changes(fields)
        return self._model.Pool(
            id=history["pools"][index], org=history["org"], policy=policy, **{"title": "", **made}
        )

    def _changes(self, said: Json) -> dict[str, Any]:
        made = dict(said)
        if "quotas" in made:
            made["quotas"] = tuple(self._model.Quota(**quota) for quota in made["quotas"])
        if made.get("price") is not None:
            made["price"] = self._model.Price(**made["price"])
        if "questions" in made:
            made["questions"] = tuple(made["questions"])
        return made
