"""Parses the values of options; an ArgumentTypeError says what an invalid one must be."""

import argparse
import os
import re
import threading
from typing import Final

_MAX_COUNT: Final = 1_000
_MAX_PORT: Final = 65_535
_MAX_SIZE: Final = 10**18 - 1
_WHOLE: Final = re.compile(r"-?[0-9]{1,18}")


def header(text: str) -> tuple[str, str]:
    """Parse `Authorization: Bearer …` into name and value."""
    name, colon, value = text.partition(":")
    if not colon or not name.strip():
        raise invalid(text, "a header, NAME:VALUE")
    return name.strip(), value.strip()


def seconds(text: str) -> float:
    """Parse a number of seconds."""
    try:
        number = float(text)
    except ValueError:
        number = -1
    if not 0 <= number < threading.TIMEOUT_MAX:
        raise invalid(text, "a number of seconds")
    return number


def count(text: str) -> int:
    """Parse a number of things, at least one."""
    return _whole(text, 1, _MAX_COUNT)


def port(text: str) -> int:
    """Parse a port number."""
    return _whole(text, 1, _MAX_PORT)


def size(text: str) -> int:
    """Parse a number of bytes or rows; the server checks its limits."""
    return _whole(text, -_MAX_SIZE, _MAX_SIZE)


def processes(text: str) -> int:
    """Parse a number of processes; 0 is one for each core that this process may use."""
    number = _whole(text, 0, _MAX_COUNT)
    if number:
        return number
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _whole(text: str, least: int, most: int) -> int:
    """Parse a whole number within limits."""
    is_number = _WHOLE.fullmatch(text) is not None
    if not is_number or not least <= int(text) <= most:
        limits = "" if most == _MAX_SIZE else f" from {least:,} to {most:,}"
        raise invalid(text, f"a whole number{limits}")
    return int(text)


def invalid(text: str, wanted: str) -> argparse.ArgumentTypeError:
    """Return the error for a value of an option that is not what it must be."""
    return argparse.ArgumentTypeError(f"must be {wanted}, not {text!r}")
