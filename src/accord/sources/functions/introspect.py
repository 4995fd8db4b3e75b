"""Read a function's type hints, docstring and whether it is async."""

import functools
import inspect
import re
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, Final, NamedTuple, get_args, get_origin, get_type_hints

from accord.errors import ContractError
from accord.model.context import Context

_GOOGLE: Final = re.compile(
    r"(Args|Arguments|Parameters|Params|Keyword Args|Keyword Arguments|Other Parameters):"
)
_OTHER_GOOGLE: Final = re.compile(
    r"(Attributes|Examples?|Notes?|Raises|References|Returns?|See Also|Warnings?|Warns|Yields?):"
)
_NUMPY: Final = re.compile(r"(Other )?Parameters")
_UNDERLINE: Final = re.compile(r"-{3,}")
_SPHINX: Final = re.compile(r":[a-z]+\b[^:]*:")
_SPHINX_PARAM: Final = re.compile(r":param\s++(?:[^:]*\s)?(\w+):\s*(.*)")
_GOOGLE_PARAM: Final = re.compile(r"\*{0,2}(\w+)\s*(?:\(.*?\))?:\s*(.*)")


class Docstring(NamedTuple):
    """The description of a function, and of each parameter that has one."""

    text: str
    parameters: dict[str, str]


def parse_docstring(docstring: str | None) -> Docstring:
    """Split a docstring into the function's description and those of its parameters."""
    lines = [line.rstrip() for line in inspect.cleandoc(docstring or "").splitlines()]
    starts = [index for index in range(len(lines)) if _is_heading(lines, index)]
    summary = lines[: starts[0]] if starts else lines
    parameters: dict[str, list[str]] = {}
    for start in starts:
        for name, line in _parameters(lines[start], lines[start + 1 :]):
            parameters.setdefault(name, []).append(line)
    joined = {name: " ".join(" ".join(parts).split()) for name, parts in parameters.items()}
    described = {name: text for name, text in joined.items() if text}
    return Docstring("\n".join(summary).strip(), described)


def _is_heading(lines: list[str], index: int) -> bool:
    line = lines[index]
    if _GOOGLE.fullmatch(line) or _OTHER_GOOGLE.fullmatch(line):
        return True
    return bool(_SPHINX.match(line)) or (bool(line) and _is_underlined(lines, index))


def _is_underlined(lines: list[str], index: int) -> bool:
    return index + 1 < len(lines) and _UNDERLINE.fullmatch(lines[index + 1]) is not None


def _parameters(heading: str, below: list[str]) -> Iterator[tuple[str, str]]:
    """Yield (parameter, line) for each line of description in a section."""
    if _GOOGLE.fullmatch(heading):
        yield from _google(_indented(below))
    elif entry := _SPHINX_PARAM.match(heading):
        yield from ((entry[1], text) for text in [entry[2], *_paragraph(below)])
    elif _NUMPY.fullmatch(heading):
        yield from _numpy(below[1:])


def _indented(lines: list[str]) -> list[str]:
    """Return the lines below a heading, up to the first that is not indented."""
    end = next((i for i, line in enumerate(lines) if line and not line[0].isspace()), len(lines))
    return inspect.cleandoc("\n" + "\n".join(lines[:end])).splitlines()


def _paragraph(lines: list[str]) -> list[str]:
    """Return the leading indented lines, which continue a paragraph."""
    end = next((i for i, line in enumerate(lines) if not line[:1].isspace()), len(lines))
    return lines[:end]


def _google(lines: list[str]) -> Iterator[tuple[str, str]]:
    name = ""
    for line in lines:
        if entry := _GOOGLE_PARAM.fullmatch(line):
            name = entry[1]
            yield name, entry[2]
        elif name:
            yield name, line


def _numpy(lines: list[str]) -> Iterator[tuple[str, str]]:
    names: list[str] = []
    for index, line in enumerate(lines):
        if line[:1].isspace():
            yield from ((name, line) for name in names)
        elif _is_underlined(lines, index):
            return
        elif line:
            names = [name.strip(" *") for name in line.partition(":")[0].split(",")]


class FunctionInfo(NamedTuple):
    """A function's name, type hints, docstring, and whether it is async."""

    name: str
    what: str
    """The function's name in messages: `tool 'add'`."""
    types: dict[str, Any]
    docstring: Docstring
    is_async: bool
    is_wrapped_async: bool
    """True if the function is async inside a plain decorator, which may or may not await it."""

    def wrap_call(self, call: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        """Return the call, made awaitable if the function is async inside a plain decorator."""
        return _awaitable(call) if self.is_wrapped_async else call


def inspect_function(function: Callable[..., Any], kind: str, name: str | None) -> FunctionInfo:
    """Return the name, hints and docstring of a function; raise ContractError if it is unusable."""
    if isinstance(function, str):
        raise ContractError(
            f"{function!r} is not a function; to name a {kind} use name={function!r}"
        )
    name = name or str(getattr(function, "__name__", repr(function)))
    what = f"{kind} {name!r}"
    if inspect.isclass(function) or not callable(function):
        raise ContractError(f"{what} is not a function or a callable object")
    is_async = _is_async(function, what, kind)
    is_wrapped_async = not is_async and _is_async(inspect.unwrap(function), what, kind)
    docstring = parse_docstring(inspect.getdoc(function_body(function)))
    types = type_hints_of(function, what)
    return FunctionInfo(
        name, what, types, docstring, is_async or is_wrapped_async, is_wrapped_async
    )


def function_body(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function that has the hints and docstring: inside partials, or `__call__`."""
    while isinstance(function, functools.partial):
        function = function.func
    return function if inspect.isroutine(function) else type(function).__call__


def is_context(hint: Any) -> bool:
    """True for `Context`, `Context[Shop]` and an optional one."""
    kinds = (hint, get_origin(hint), *get_args(hint), *map(get_origin, get_args(hint)))
    return any(kind is Context for kind in kinds)


def type_hints_of(function: Callable[..., Any], what: str) -> dict[str, Any]:
    """Return the type hints of a function or of the constructor of a class."""
    source = function.__init__ if inspect.isclass(function) else function_body(function)
    try:
        return get_type_hints(source, include_extras=True)
    except (NameError, AttributeError, SyntaxError, TypeError) as error:
        reason = str(error).partition("\n")[0]
        raise ContractError(
            f"{what} has type hints that could not be resolved: {reason}"
        ) from error


def _is_async(function: Callable[..., Any], what: str, kind: str) -> bool:
    body = function_body(function)
    if inspect.isgeneratorfunction(body) or inspect.isasyncgenfunction(body):
        raise ContractError(f"{what} must return one value; it is a generator")
    return inspect.iscoroutinefunction(body)


def _awaitable(call: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Awaitable[Any]]:
    """Return a call that awaits the result if it is awaitable."""

    async def invoke(arguments: Any, context: Any) -> Any:
        value = call(arguments, context)
        return await value if inspect.isawaitable(value) else value

    return invoke
