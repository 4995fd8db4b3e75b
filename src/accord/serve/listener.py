"""The edge of a call whose caller only listens."""

from collections.abc import Callable

from accord.serve.blocking import OneWay


class Listener(OneWay):
    """Hands on what is said on the way to a result. There is nobody to ask, and none to leave."""

    def __init__(self, push: Callable[[bytes], None]) -> None:
        super().__init__()
        self._push = push

    def push(self, message: bytes) -> None:
        """Hand on a message that belongs to the call."""
        self._push(message)
