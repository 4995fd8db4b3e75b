"""`Scope`: the state, middleware and overrides that the features of one server share."""

from collections.abc import Callable
from typing import Any, Protocol


class Lifespan(Protocol):
    """The lifespan of a server: called, it returns a new context manager, async or not."""

    @property
    def name(self) -> str:
        """The name of the server."""

    @property
    def function(self) -> Callable[..., Any]:
        """The function of the server's author."""

    def __call__(self) -> Any: ...


class Scope:
    """The lifespan, state, middleware and overrides that apply to the features of a server.

    Features of an included server keep the scope of that server.
    """

    __slots__ = ("_observers", "lifespan", "lifespan_run", "middleware", "overrides", "state")

    def __init__(self) -> None:
        self.lifespan: Lifespan | None = None
        """Returns the context manager to enter before the first call."""
        self.lifespan_run: Any = None
        """The context manager that is entered: see `accord.serve.lifespan`."""
        self.state: Any = None
        """The value that the context manager yields, while the server is served."""
        self.middleware: tuple[Callable[..., Any], ...] = ()
        """The middleware, outermost first."""
        self.overrides: dict[Callable[..., Any], Callable[..., Any]] = {}
        """Functions that replace dependencies."""
        self._observers: list[Callable[[], None]] = []

    def use(self, middleware: Callable[..., Any]) -> None:
        """Add middleware inside the present one."""
        self.middleware = (*self.middleware, middleware)
        self._notify()

    def override(
        self, dependency: Callable[..., Any], replacement: Callable[..., Any] | None
    ) -> None:
        """Use another function for a dependency; None for its own."""
        others = {name: each for name, each in self.overrides.items() if name != dependency}
        self.overrides = others if replacement is None else others | {dependency: replacement}
        self._notify()

    def _notify(self) -> None:
        for observer in self._observers:
            observer()

    def observe(self, observer: Callable[[], None]) -> None:
        """Call a function when middleware is added or a dependency is replaced."""
        self._observers.append(observer)
