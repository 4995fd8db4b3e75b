"""`accord serve`: tools over stdio."""

import argparse
import gc
import logging
import os
import threading
from typing import Final

import msgspec

from accord.cli import targets
from accord.serve import stdio
from accord.serve.pipes import take_pipes

EXAMPLES: Final = """\
examples:
  accord serve shop:server
  accord serve shop.py:server other:server --name shops
"""
_LAST_BREATH: Final = 1.0  # seconds for Python to end by itself once the grace period is over


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the verb takes."""
    parser.add_argument("targets", nargs="+", metavar="TARGET", help=targets.HELP)
    parser.add_argument("--name", help="what the server calls itself")
    parser.add_argument("--server-version", metavar="VERSION", help="the version it says it has")
    parser.add_argument(
        "--grace",
        type=_seconds,
        default=stdio.Settings().grace,
        metavar="SECONDS",
        help="how long open calls may go on once the input has ended (default %(default)s)",
    )


def run(options: argparse.Namespace) -> int:
    """Serve until the input ends."""
    logging.basicConfig(format="%(levelname)s %(name)s: %(message)s")
    pipes = take_pipes()
    server = targets.load(options.targets)
    changes = {"name": options.name, "version": options.server_version}
    given = {key: value for key, value in changes.items() if value is not None}
    server.identify(msgspec.structs.replace(server.identity, **given))
    _collect_less()
    stdio.serve(server, pipes, stdio.Settings(grace=options.grace), on_end=Watchdog(options.grace))
    return 0


def _collect_less() -> None:
    """What is loaded by now stays, and a burst of calls leaves nothing behind to search for."""
    gc.freeze()
    gc.set_threshold(20_000, 50, 50)


class Watchdog:
    """Ends the process in any case, a while after the first call and at once on the second.

    A tool may block the loop, hold on to a thread, or refuse to be cancelled.
    """

    def __init__(self, grace: float) -> None:
        self._timer = threading.Timer(grace + _LAST_BREATH, os._exit, [0])
        self._timer.daemon = True

    def __call__(self) -> None:
        if self._timer.ident is not None:
            os._exit(0)
        self._timer.start()


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 <= seconds < threading.TIMEOUT_MAX:
        raise ValueError(text)
    return seconds
