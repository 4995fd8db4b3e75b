"""The error tree, and the JSON-RPC error codes.

    AccordError
    ├── ContractError    a server, tool or answer violates the contract
    │   └── TooDeep      a value is nested too deeply for a message
    ├── LifespanError    the lifespan of a server failed, or did not end in time
    ├── StoreError       the store of tasks cannot be reached, or refuses
    ├── PeerError        a peer cannot be reached, or its messages are not valid
    │   ├── MCPError     a server answered a request with a JSON-RPC error
    │   └── SignInError  signing in to a server failed
    │       └── SignInRequired  a server requires a sign-in, which only a person can start
    └── Rejected         a request ends with a JSON-RPC error of another server

A tool raises `Problem` instead (see model/answer.py). These errors are not sent to a peer: the
reply to an invalid message is a `Reject`, which is data.
"""

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Final

import msgspec

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
HEADER_MISMATCH: Final = -32020
MISSING_CLIENT_CAPABILITY: Final = -32021
UNSUPPORTED_PROTOCOL_VERSION: Final = -32022
URL_ELICITATION_REQUIRED: Final = -32042  # of 2025-11-25

_INSTALLED: Final = frozenset({"site-packages", "dist-packages"})


class AccordError(Exception):
    """Base class of all errors that Accord raises."""


class ContractError(AccordError):
    """A server, tool or answer violates the contract.

    `at` is the function or class that does; the message ends with its file and line.
    """

    location: str | None = None
    """The `FILE:LINE` at the end of the message."""

    def __init__(self, message: str, *, at: Any = None) -> None:
        super().__init__(message)
        if at is not None:
            self.locate(at)

    def locate(self, at: Any) -> None:
        """Add the file and line of a function or class to the message, unless it has one."""
        if self.location is None and callable(at):
            self.location = location_of(at)
            self.args: tuple[Any, ...] = (f"{self} ({self.location})",)


class TooDeep(ContractError):
    """A value is nested deeper than `values.MAX_DEPTH`, or contains itself."""


class LifespanError(AccordError):
    """The lifespan of a server failed when it started or ended, or did not end in time."""


class StoreError(AccordError):
    """The store of tasks cannot be reached, or refuses."""


class PeerError(AccordError):
    """A server cannot be reached, or has sent a message that is not valid."""


class MCPError(PeerError):
    """A server answered a request with a JSON-RPC error: its `code`, `message` and `data`."""

    def __init__(self, description: str, code: int, message: str, data: Any = None) -> None:
        super().__init__(description)
        self.code = code
        self.message = message
        self.data = data


class SignInError(PeerError):
    """Signing in to a server failed; the message says at which step, and never has a token."""


class SignInRequired(SignInError):
    """A server requires a sign-in, which only a person can start: `accord login URL`."""


class Reject(msgspec.Struct, frozen=True, omit_defaults=True):
    """A JSON-RPC error to send instead of a result: `code`, `message` and optional `data`."""

    code: int
    message: str
    data: Any = None


class Rejected(AccordError):
    """Raised to answer a request with the JSON-RPC error of another server."""

    def __init__(self, reject: Reject) -> None:
        super().__init__(reject.message)
        self.reject = reject


class Unavailable(Reject, frozen=True):
    """An error that is not the request's: `data.retryAfter` are seconds to wait; HTTP says 503."""


def require_known(given: Collection[str], known: Collection[str], what: str) -> None:
    """Raise ContractError with a suggestion if one of the given names is unknown."""
    unknown = [name for name in given if name not in known]
    if unknown:
        guess = did_you_mean(unknown[0], known) or ";"
        options = ", ".join(sorted(known))
        raise ContractError(f"{what} has no option {unknown[0]!r}{guess} options: {options}")


def did_you_mean(name: str, known: Iterable[str], likeness: float = 0.6) -> str:
    """Return `; did you mean 'near'?` if a known name is near, else an empty string.

    `likeness` is what names must have in common, from 0 to 1.
    """
    from difflib import get_close_matches  # slow to import, rarely needed

    meant = get_close_matches(name, list(known), 1, likeness)
    return f"; did you mean {meant[0]!r}?" if meant else ""


@contextmanager
def located(at: Any) -> Iterator[None]:
    """Add the file and line of a function or class to every ContractError raised inside."""
    try:
        yield
    except ContractError as error:
        error.locate(at)
        raise


def location_of(source: Any) -> str:
    """Return `FILE:LINE` of a function, method, callable object or class: `shop.py:12`.

    The file is relative to the current folder if it is below. The line is the first one, that of a
    decorator if there is one. Returns the full name (`builtins.len`) if there is no Python source.
    """
    from inspect import getsourcefile, getsourcelines, isclass  # slow to import, seldom needed

    source = source if isclass(source) else _function_in(source)
    try:
        code = getattr(source, "__code__", None)
        file = code.co_filename if code else getsourcefile(source)
        line = code.co_firstlineno if code else getsourcelines(source)[1]
    except (OSError, TypeError):  # built in, or made by a function such as `make_dataclass`
        file = None
    if file is None:
        named = source if hasattr(source, "__qualname__") else type(source)
        return f"{named.__module__}.{named.__qualname__}"
    return f"{relative_path(file)}:{line}"


def _function_in(source: Any) -> Any:
    """Return the function inside of decorators, partials, methods and callable objects."""
    from inspect import isroutine, unwrap

    while True:
        inner = unwrap(source.func if isinstance(source, partial) else source)
        inner = getattr(inner, "__func__", inner)
        if callable(inner) and not isroutine(inner) and not isinstance(inner, partial):
            inner = type(inner).__call__
        if inner is source:
            return source
        source = inner


def reason_of(error: BaseException) -> str:
    """Return the first line of an error, and the last line of the user's own code in it."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    text = f"{type(error).__name__}: {error}".partition("\n")[0].removesuffix(": ")
    if isinstance(error, SyntaxError) or getattr(error, "location", None):
        return text  # it has the line
    *_, location = ["", *_own_frames(error)]
    return f"{text} ({location})" if location else text


def _own_frames(error: BaseException) -> Iterator[str]:
    """Yield `FILE:LINE` of the frames that are not in accord, Python or an installed package."""
    import sysconfig  # slow to import, seldom needed
    import traceback
    from pathlib import Path

    foreign = (str(Path(__file__).parent), sysconfig.get_paths()["stdlib"])
    for frame, line in traceback.walk_tb(error.__traceback__):
        name = frame.f_code.co_filename
        is_installed = not _INSTALLED.isdisjoint(Path(name).parts)
        if not is_installed and not name.startswith(("<", *foreign)):
            yield f"{relative_path(name)}:{line}"


def relative_path(file: str) -> str:
    """Return a path relative to the current folder if it is below."""
    from pathlib import Path

    try:
        folder = Path.cwd()
    except OSError:  # it was deleted
        return file
    return str(Path(file).relative_to(folder)) if Path(file).is_relative_to(folder) else file
