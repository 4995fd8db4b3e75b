"""Options that several verbs share, and how their values are read."""

import argparse
import threading
from typing import Final

_PATIENCE: Final = 30.0
"""Seconds that somebody else's server has for each answer, unless told otherwise."""


def add_peer_options(parser: argparse.ArgumentParser, *, timeout: str = "") -> None:
    """What can be said of somebody else's server; `timeout` is what else that may be for."""
    group = parser.add_argument_group("for somebody else's server")
    group.add_argument(
        "--header",
        action="append",
        default=[],
        type=header,
        metavar="NAME:VALUE",
        help="send this header along to a URL; may be repeated",
    )
    group.add_argument(
        "--timeout",
        type=seconds,
        metavar="SECONDS",
        help=f"how long to wait for each answer (default {_PATIENCE:g}{timeout})",
    )


def patience(options: argparse.Namespace) -> float:
    """Seconds that somebody else's server has for each answer."""
    return _PATIENCE if options.timeout is None else float(options.timeout)


def header(text: str) -> tuple[str, str]:
    """`Authorization: Bearer …` as a name and a value."""
    name, colon, value = text.partition(":")
    if not colon or not name.strip():
        raise ValueError(text)
    return name.strip(), value.strip()


def seconds(text: str) -> float:
    """A time that one can wait."""
    number = float(text)
    if not 0 <= number < threading.TIMEOUT_MAX:
        raise ValueError(text)
    return number
