"""However servers change, each has its own tools and those of the servers that it includes."""

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

import wire
from accord import Context, ContractError, Server
from laws import examples
from peer import Peer

NAMES = st.sampled_from(["a", "b", "p_a", "q_b"])
PREFIXES = st.sampled_from(["", "p_", "q_"])
COUNT = 4
SERVERS = st.integers(0, COUNT - 1)


class Model:
    """What a server should have: its own tools, its rules, and the servers that it includes."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.own: list[str] = []
        self.rules: dict[str, bool] = {}
        self.parts: list[tuple[str, Model]] = []

    def every(self) -> list[tuple[str, int]]:
        """All names, with the server that has the function."""
        found = [(name, self.number) for name in self.own]
        for prefix, part in self.parts:
            found += [(prefix + name, number) for name, number in part.shown()]
        return found

    def shown(self) -> list[tuple[str, int]]:
        return [(name, number) for name, number in self.every() if self.rules.get(name, True)]

    def reaches(self, other: "Model") -> bool:
        return self is other or any(part.reaches(other) for _, part in self.parts)


def told(number: int) -> Any:
    def tool(context: Context) -> str:
        """The server, by its state."""
        assert context.state == number
        return str(number)

    return tool


class Inclusions(RuleBasedStateMachine):
    """Servers that add, remove, enable, disable and include in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.servers = [Server(str(number)) for number in range(COUNT)]
        self.models = [Model(number) for number in range(COUNT)]
        for number, server in enumerate(self.servers):
            server.registry.scope.state = number

    def _try(self, change: Any, undo: Any, apply: Any) -> None:
        """Change the model; the servers change if and only if no server has a name twice."""
        apply()
        is_valid = all(
            len({name for name, _ in model.every()}) == len(model.every()) for model in self.models
        )
        if not is_valid:
            undo()
        try:
            change()
        except ContractError:
            assert not is_valid
        else:
            assert is_valid

    @rule(number=SERVERS, name=NAMES)
    def add(self, number: int, name: str) -> None:
        model, server = self.models[number], self.servers[number]
        if name in model.rules:
            return
        self._try(
            lambda: server.tool(name=name)(told(number)),
            lambda: model.own.remove(name),
            lambda: model.own.append(name),
        )

    @rule(number=SERVERS, data=st.data())
    def remove(self, number: int, data: st.DataObject) -> None:
        model, server = self.models[number], self.servers[number]
        shown = [name for name in model.own if model.rules.get(name, True)]
        if shown:
            name = data.draw(st.sampled_from(shown))
            server.remove(server.tools[name])
            model.own.remove(name)

    @rule(number=SERVERS, part=SERVERS, prefix=PREFIXES)
    def include(self, number: int, part: int, prefix: str) -> None:
        model, other = self.models[number], self.models[part]
        if other.reaches(model) or (prefix, other) in model.parts:
            return
        inclusion = (prefix, other)
        self._try(
            lambda: self.servers[number].include(self.servers[part], prefix=prefix),
            lambda: model.parts.remove(inclusion),
            lambda: model.parts.append(inclusion),
        )

    @precondition(lambda self: any(model.every() for model in self.models))
    @rule(number=SERVERS, is_enabled=st.booleans(), data=st.data())
    def switch(self, number: int, is_enabled: bool, data: st.DataObject) -> None:
        model, server = self.models[number], self.servers[number]
        names = [name for name, _ in model.every()]
        if not names:
            return
        name = data.draw(st.sampled_from(names))
        before = dict(model.rules)

        def undo() -> None:
            model.rules = before

        self._try(
            lambda: (server.enable if is_enabled else server.disable)(name),
            undo,
            lambda: model.rules.update({name: is_enabled}),
        )

    @rule(number=SERVERS, data=st.data())
    def call(self, number: int, data: st.DataObject) -> None:
        model, server = self.models[number], self.servers[number]
        if model.shown():
            name, owner = data.draw(st.sampled_from(model.shown()))
            reply = Peer(server, wire.STATELESS).call(name)
            assert reply["result"]["content"][0]["text"] == str(owner)

    @rule(number=SERVERS, profile=st.sampled_from(["plain", "prose"]))
    def configure(self, number: int, profile: str) -> None:
        self.servers[number].configure(profile=profile)

    @invariant()
    def each_has_its_own_and_those_of_its_parts(self) -> None:
        for model, server in zip(self.models, self.servers, strict=True):
            shown = dict(model.shown())
            assert set(server.tools) == set(shown)
            assert all(name == tool.name for name, tool in server.tools.items())


TestInclusions = Inclusions.TestCase
TestInclusions.settings = settings(max_examples=examples(100), stateful_step_count=25)
