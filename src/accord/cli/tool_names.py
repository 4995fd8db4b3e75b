"""Warnings about names of tools and parameters that some clients refuse."""

import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

log: logging.Logger = logging.getLogger("accord")

MAX_LENGTH: Final = 64
_NAME: Final = re.compile(r"[A-Za-z0-9_-]*")
_PARAMETER: Final = re.compile(r"[A-Za-z0-9_.-]*")
_MAX_SHOWN: Final = 80


def warn_of_names(tools: Iterable[tuple[str, Mapping[str, Any]]]) -> None:
    """Log a warning for each name that some clients refuse; tools are names and input schemas."""
    for name, schema in tools:
        for warning in name_warnings(name, schema):
            log.warning("%s", warning)


def name_warnings(name: str, schema: Mapping[str, Any]) -> Iterator[str]:
    """Yield a warning for a tool's name, and for each parameter of its input schema.

    The APIs of models take 1 to 64 letters, digits, `_` and `-` as the name of a tool, and a dot in
    that of a parameter. MCP itself allows 128 characters and dots in both.
    """
    fault = _fault(name, _NAME, "letters, digits, _ and -")
    if fault is not None:
        yield f"some clients refuse tool {_shown(name)}: its name {fault}"
    properties = schema.get("properties")
    for parameter in properties if isinstance(properties, dict) else ():
        fault = _fault(str(parameter), _PARAMETER, "ASCII letters, digits, _ . and -")
        if fault is not None:
            yield (
                f"some clients refuse tool {_shown(name)}:"
                f" the name of its parameter {_shown(str(parameter))} {fault}"
            )


def _fault(name: str, allowed: re.Pattern[str], characters: str) -> str | None:
    faults = []
    if not name:
        faults.append("is empty")
    if allowed.fullmatch(name) is None:
        faults.append(f"must have {characters} only")
    if len(name) > MAX_LENGTH:
        faults.append(f"has {len(name):,} characters, and the most is {MAX_LENGTH}")
    return ", and ".join(faults) or None


def _shown(name: str) -> str:
    return repr(name if len(name) <= _MAX_SHOWN else f"{name[:_MAX_SHOWN]}…")
