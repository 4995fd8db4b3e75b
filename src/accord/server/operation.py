"""The protocol of a call that can be run, and its outcome."""

from collections.abc import Coroutine
from typing import Any, Final, Protocol

import msgspec

from accord.errors import ContractError, Reject
from accord.model.answer import Answer, Problem, Value
from accord.protocol import Call, messages
from accord.server.outcome import Outcome

GIVEN: Final[Answer[Value]] = Answer("given")
"""How a call ended that is no call of a tool, and went well."""


class Done(msgspec.Struct, frozen=True, eq=False, gc=False):
    """A call that has been run: how it ended, and the reply that says so."""

    outcome: Outcome
    reply: bytes


def rejected(call: Call, reject: Reject) -> Done:
    """A call that cannot be run at all."""
    return Done(reject, messages.failure(call.id, reject))


class Operation(Protocol):
    """A call that can be run: on a loop if it is async, else wherever it may block."""

    @property
    def call(self) -> Call: ...

    @property
    def is_async(self) -> bool:
        """Whether `run` has to be awaited on a loop; else it never waits: see `drive`."""

    def run(self) -> Coroutine[Any, Any, Done]:
        """Run it. Whatever goes wrong is part of how it ends."""

    def refuse(self, problem: Problem) -> Done:
        """How it ends when it cannot be run after all."""


def drive(coroutine: Coroutine[Any, Any, Done]) -> Done:
    """Run a coroutine that never waits, such as `run` of what is not async."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        finished: Done = done.value
        return finished
    raise ContractError("a tool that is not async has waited")
