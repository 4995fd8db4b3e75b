"""The lifespan of a server: the author's function, checked, with the server to call it with."""

import inspect
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import TYPE_CHECKING, Any

from accord.errors import ContractError

if TYPE_CHECKING:
    from accord.server.server import Server

Manager = AbstractAsyncContextManager[Any] | AbstractContextManager[Any]


class ServerLifespan:
    """Calls the author's function with the server, and checks what it returns."""

    __slots__ = ("_server", "function")

    def __init__(self, function: Callable[["Server"], Manager], server: "Server") -> None:
        _require_function(function)
        self.function: Callable[[Server], Manager] = function
        self._server = server

    @property
    def name(self) -> str:
        """The name of the server."""
        return self._server.identity.name

    def __call__(self) -> Manager:
        """Return a new context manager; raise if the function returns something else."""
        manager = self.function(self._server)
        if is_async_manager(manager) or _is_sync_manager(manager):
            return manager
        raise ContractError(
            f"lifespan {_name(self.function)} {_fault(manager)}", at=_place(self.function)
        )


def is_async_manager(manager: object) -> bool:
    """True for an async context manager, also if it can be used with a plain `with`."""
    kind = type(manager)
    return hasattr(kind, "__aenter__") and hasattr(kind, "__aexit__")


def _is_sync_manager(manager: object) -> bool:
    return hasattr(type(manager), "__enter__") and hasattr(type(manager), "__exit__")


def _require_function(function: Any) -> None:
    """Raise if a lifespan cannot be a function that returns a context manager for a server."""
    is_manager = is_async_manager(function) or _is_sync_manager(function)
    if is_manager or not callable(function):  # those of contextlib can be called, as decorators
        found = "a context manager that exists already" if is_manager else repr(function)
        raise ContractError(
            f"lifespan must be a function that takes the server, not {found}; decorate one with"
            " @asynccontextmanager and pass it: lifespan=open_shop"
        )
    called = _called(function)
    fault = None
    if inspect.isasyncgenfunction(called):
        fault = "is an async generator function; decorate it with @asynccontextmanager"
    elif inspect.isgeneratorfunction(called):
        fault = "is a generator function; decorate it with @contextmanager"
    elif inspect.iscoroutinefunction(called):
        fault = "is a coroutine function; decorate it with @asynccontextmanager and yield the state"
    elif not _takes_server(function):
        fault = "must take the server and nothing else: write `async def open_shop(server)`"
    if fault is not None:
        raise ContractError(f"lifespan {_name(function)} {fault}", at=_place(function))


def _called(function: Any) -> Any:
    """Return the function that a call runs: not the one inside of a decorator."""
    while hasattr(function, "func") and hasattr(function, "keywords"):  # a partial
        function = function.func
    if inspect.isroutine(function) or inspect.isclass(function):
        return function
    return type(function).__call__


def _takes_server(function: Any) -> bool:
    try:
        inspect.signature(function).bind(object())
    except TypeError:
        return False
    except ValueError:  # a built-in function without a signature
        pass
    return True


def _fault(manager: Any) -> str:
    if inspect.iscoroutine(manager):
        manager.close()
        return "returned a coroutine; decorate it with @asynccontextmanager and yield the state"
    if inspect.isasyncgen(manager):
        return "returned an async generator; decorate the function with @asynccontextmanager"
    if inspect.isgenerator(manager):
        return "returned a generator; decorate the function with @contextmanager"
    return (
        f"returned {type(manager).__name__}, not a context manager; decorate the function with"
        " @asynccontextmanager and yield the state"
    )


def _name(function: Any) -> str:
    name: str = getattr(function, "__qualname__", type(function).__qualname__)
    return name.rpartition("<locals>.")[2]


def _place(function: Any) -> Any:
    """Return the function whose file and line an error names."""
    return function if inspect.isclass(function) else _called(function)
