"""`Scope`: the state and middleware that the features of one server share."""

from collections.abc import Callable
from typing import Any


class Scope:
    """The lifespan, state and middleware of a server, for the features that are registered on it.

    Features of an included server keep the scope of that server.
    """

    __slots__ = ("_observers", "lifespan", "middleware", "state")

    def __init__(self, lifespan: Callable[[], Any] | None = None) -> None:
        self.lifespan = lifespan
        """Returns a context manager, async or not, to enter before the first call."""
        self.state: Any = None
        """The value that the context manager yields, while the server is served."""
        self.middleware: tuple[Callable[..., Any], ...] = ()
        """The middleware, outermost first."""
        self._observers: list[Callable[[], None]] = []

    def use(self, middleware: Callable[..., Any]) -> None:
        """Add middleware inside the present one."""
        self.middleware = (*self.middleware, middleware)
        for observer in self._observers:
            observer()

    def observe(self, observer: Callable[[], None]) -> None:
        """Call a function when middleware is added."""
        self._observers.append(observer)
