"""Asks a server's questions at the terminal: a form field by field, a page by its URL.

`dialogue` does no I/O: it yields what to show, and is sent the lines that are typed.
"""

import asyncio
import sys
from collections.abc import Callable, Generator, Mapping
from math import isfinite
from typing import TYPE_CHECKING, Any, Final

from accord.cli.terminal import StatusLine, visible
from accord.errors import ContractError
from accord.model.answer import FieldError
from accord.model.arguments import Checker
from accord.model.questions import Elicited

if TYPE_CHECKING:
    from accord.client import ElicitRequest

Dialogue = Generator[str, str | None, Elicited[Any]]
"""Yields prompts; is sent a line for each, or None at the end of the input."""

_LEAVE: Final = ":d declines, :c cancels"
_INVALID: Final = FieldError("", "is not valid")
_YES: Final = {"yes": True, "y": True, "true": True, "no": False, "n": False, "false": False}


class _Left(Exception):
    """The user declined or cancelled."""

    def __init__(self, response: Elicited[Any]) -> None:
        super().__init__()
        self.response = response


def dialogue(request: "ElicitRequest") -> Dialogue:
    """Ask one question; return the user's response."""
    message = visible(request.message, keeps_lines=True)
    try:
        if request.url is not None:
            _take((yield f"{message}\nOpen {visible(request.url)}, then press Enter; {_LEAVE}: "))
            return Elicited("accept")
        return Elicited("accept", (yield from _fill(message, request.schema or {})))
    except _Left as left:
        return left.response


def _fill(message: str, schema: Mapping[str, Any]) -> Generator[str, str | None, dict[str, Any]]:
    given, required = schema.get("properties"), schema.get("required")
    properties = given if isinstance(given, dict) else {}
    properties = {name: field for name, field in properties.items() if isinstance(field, dict)}
    if not properties:
        _take((yield f"{message}\nPress Enter to accept; {_LEAVE}: "))
        return {}
    content: dict[str, Any] = {}
    before = f"{message}\nAn empty line takes the default; {_LEAVE}.\n"
    for name, field in properties.items():
        is_required = isinstance(required, list) and name in required
        before += _description(field)
        prompt = _prompt(name, field, is_required)
        while True:
            line = _take((yield before + prompt))
            before = ""
            try:
                if line or not _may_be_empty(field, is_required):
                    content[name] = _value(line, field)
                elif "default" in field:
                    content[name] = field["default"]
                break
            except ValueError as error:
                before = f"{_label(name, field)} {error}\n"
    return content


def _take(line: str | None) -> str:
    """Return the line that was typed; raise if it ends the dialogue."""
    text = None if line is None else line.strip()
    if text is None or text.lower() == ":c":
        raise _Left(Elicited("cancel"))
    if text.lower() == ":d":
        raise _Left(Elicited("decline"))
    return text[1:] if text.startswith("::") else text


def _label(name: str, field: Mapping[str, Any]) -> str:
    return visible(str(field.get("title") or name))


def _description(field: Mapping[str, Any]) -> str:
    text = field.get("description")
    return f"{visible(text, keeps_lines=True)}\n" if isinstance(text, str) and text else ""


def _may_be_empty(field: Mapping[str, Any], is_required: bool) -> bool:
    return not is_required or "default" in field


def _prompt(name: str, field: Mapping[str, Any], is_required: bool) -> str:
    hints = _hints(field)
    if not is_required and "default" not in field:
        hints.append("optional")
    separator = "; " if field.get("type") == "array" else ", "
    hint = f" ({separator.join(hints)})" if hints else ""
    default = f" [{visible(_shown(field['default']))}]" if "default" in field else ""
    return f"{_label(name, field)}{hint}{default}: "


def _hints(field: Mapping[str, Any]) -> list[str]:
    if field.get("type") == "array":
        return [f"any of {_named(_choices(field.get('items')))}", "separated by commas"]
    choices = _choices(field)
    if choices:
        return [_named(choices)]
    if field.get("type") == "boolean":
        return ["yes or no"]
    if field.get("type") in ("integer", "number"):
        return [str(field["type"])]
    return [visible(str(field["format"]))] if "format" in field else []


def _choices(field: Any) -> dict[str, str]:
    """Return the values that a field allows, with their titles; empty if it allows any."""
    if not isinstance(field, dict):
        return {}
    for key in ("oneOf", "anyOf"):
        if isinstance(field.get(key), list):
            each = [option for option in field[key] if isinstance(option, dict)]
            return {str(o["const"]): str(o.get("title", o["const"])) for o in each if "const" in o}
    values = field.get("enum")
    if not isinstance(values, list):
        return {}
    titles = field.get("enumNames")
    names = titles if isinstance(titles, list) and len(titles) == len(values) else values
    return {str(value): str(title) for value, title in zip(values, names, strict=True)}


def _named(choices: Mapping[str, str]) -> str:
    each = (v if v == title else f"{v}: {title}" for v, title in choices.items())
    return visible(", ".join(each))


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _value(line: str, field: Mapping[str, Any]) -> Any:
    """Return the value that a line stands for; raise ValueError with the reason if none."""
    if not line:
        raise ValueError("is required")
    if field.get("type") == "array":
        value: Any = _several(line, _choices(field.get("items")))
    elif choices := _choices(field):
        value = _choice(line, choices)
        if value is None:
            raise ValueError(f"must be one of {visible(', '.join(choices))}")
    else:
        value = _PARSERS.get(str(field.get("type")), str)(line)
    checker = Checker(dict(field))
    try:
        if checker.fits(value):
            return value
        (error, *_) = checker.explain(value, _INVALID)
    except ContractError:  # the server's schema is not valid; it checks the answer itself
        return value
    raise ValueError(error.error)


def _several(line: str, choices: Mapping[str, str]) -> list[str]:
    found = [_choice(each.strip(), choices) for each in line.split(",") if each.strip()]
    values = [each for each in found if each is not None]
    if len(values) < len(found):
        raise ValueError(f"must be of {visible(', '.join(choices))}")
    return values


def _choice(text: str, choices: Mapping[str, str]) -> str | None:
    """Return the value that a text names, by itself or by its title."""
    if text in choices:
        return text
    folded = text.casefold()
    named = (v for v, title in choices.items() if folded in (v.casefold(), title.casefold()))
    return next(named, None)


def _integer(line: str) -> int:
    try:
        return int(line)
    except ValueError:
        raise ValueError("must be an integer") from None


def _number(line: str) -> float:
    try:
        value = float(line)
    except ValueError:
        raise ValueError("must be a number") from None
    if not isfinite(value):
        raise ValueError("must be a number")
    return value


def _boolean(line: str) -> bool:
    if line.lower() not in _YES:
        raise ValueError("must be yes or no")
    return _YES[line.lower()]


_PARSERS: Final[Mapping[str, Callable[[str], Any]]] = {
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
}


# At the terminal


def is_possible() -> bool:
    """True if a person can be asked: standard input is a terminal."""
    return sys.stdin is not None and sys.stdin.isatty()


def decline(request: "ElicitRequest") -> Elicited[Any]:
    """Decline a question, and say so on standard error."""
    print(
        f"accord: declined {visible(request.message)!r}: "
        "standard input is not a terminal, so it cannot be asked",
        file=sys.stderr,
        flush=True,
    )
    return Elicited("decline")


def ask(request: "ElicitRequest", line: StatusLine) -> Elicited[Any]:
    """Ask one question, blocking; decline it if that is not possible."""
    if not is_possible():
        return decline(request)
    with line.paused():
        asking = dialogue(request)
        try:
            text = next(asking)
            while True:
                _show(text)
                text = asking.send(_typed(sys.stdin.readline()))
        except StopIteration as stop:
            return _ended(stop)


class TerminalUser:
    """Answers the questions of a remote server, one after the other."""

    def __init__(self, line: StatusLine) -> None:
        self._line = line
        self._lock = asyncio.Lock()

    async def elicit(self, request: "ElicitRequest") -> Elicited[Any]:
        """Ask one question; the connection goes on meanwhile."""
        if not is_possible():
            return decline(request)
        async with self._lock:
            with self._line.paused():
                asking = dialogue(request)
                try:
                    text = next(asking)
                    while True:
                        _show(text)
                        text = asking.send(await _read_line())
                except StopIteration as stop:
                    return _ended(stop)


async def _read_line() -> str | None:
    """Read a line without a thread, which could not be cancelled."""
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(sys.stdin.fileno(), ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(sys.stdin.fileno())
    return _typed(sys.stdin.readline())


def _typed(line: str) -> str | None:
    """Return a line as read; None at the end of the input, and the cursor goes to a new line."""
    if line:
        return line
    _show("\n")
    return None


def _show(text: str) -> None:
    print(text, end="", file=sys.stderr, flush=True)


def _ended(stop: StopIteration) -> Elicited[Any]:
    response: Elicited[Any] = stop.value
    return response
