"""An edge for callers that take notifications but cannot be asked."""

from collections.abc import Callable, Mapping

from accord.model.answer import Problem
from accord.model.questions import Question
from accord.protocol import Call
from accord.serve.blocking import OneWay


class Listener(OneWay):
    """Passes notifications of a call to a callback."""

    def __init__(self, push: Callable[[bytes], None]) -> None:
        super().__init__()
        self._push = push

    def push(self, message: bytes) -> None:
        """Pass on a notification of the call."""
        self._push(message)

    def tell(self, change: bytes) -> None:
        """Pass on a notification of a change."""
        self._push(change)

    async def ask(self, call: Call, questions: Mapping[str, Question]) -> Mapping[str, bytes]:
        """Refuse: there is no client to ask."""
        raise Problem.unavailable("The client cannot be asked", retryable=False)
