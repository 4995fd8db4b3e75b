"""A Python that has imported accord: it forks one process for each command that it is given.

Started by `commands.py` with a socket as its only argument. A request is one byte with five
descriptors: standard input, output and error of the command, a pipe to report to, and a file with
the words, the folder and the environment, as JSON. The report is two lines: the process id, and the
exit code once the process has ended. The end of the socket ends this process.
"""

import atexit
import ctypes
import gc
import importlib
import io
import json
import os
import select
import signal
import socket
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

import accord

PARTS = 5
"""The descriptors of a request."""
_LATER = ("accord.django", "accord.sources.drf", "accord.testing", "accord.__main__")
"""What needs the settings of a project, or runs when it is imported."""


def preload() -> None:
    """Import all of accord, and what it imports late."""
    root = Path(accord.__path__[0])
    for file in root.rglob("*.py"):
        name = ".".join(("accord", *file.relative_to(root).with_suffix("").parts))
        if not name.startswith(_LATER):
            importlib.import_module(name.removesuffix(".__init__"))
    for name in ("apsw", "httptools", "pikepdf", "psycopg", "uvicorn", "uvloop"):
        importlib.import_module(name)
    gc.freeze()


def serve(requests: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """Fork a process for each request; returns in that process, with what it has to run."""
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    reports: dict[int, int] = {}
    while True:
        ready, _, _ = select.select([requests.fileno(), woken], [], [])
        if woken in ready:
            os.read(woken, 4096)
            report_ends(reports)
        if requests.fileno() in ready:
            data, parts, _, _ = socket.recv_fds(requests, 1, PARTS)
            if not data:
                sys.exit(0)
            *streams, report, task = parts
            with os.fdopen(task) as file:
                given = json.load(file)
            if not (pid := os.fork()):
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                requests.close()
                for descriptor in (woken, wake, report, *reports.values()):
                    os.close(descriptor)
                return given, streams
            reports[pid] = report
            tell(report, pid)
            for stream in streams:
                os.close(stream)


def report_ends(reports: dict[int, int]) -> None:
    """Report the exit code of each process that has ended."""
    for pid in list(reports):
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            report = reports.pop(pid)
            tell(report, os.waitstatus_to_exitcode(status))
            os.close(report)


def tell(report: int, number: int) -> None:
    with suppress(BrokenPipeError):  # the test is over
        os.write(report, b"%d\n" % number)


def become(given: dict[str, Any], streams: list[int]) -> None:
    """Make this process the one that the command would have begun as."""
    for number, descriptor in enumerate(streams):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.chdir(given["cwd"])
    os.environ.clear()
    os.environ.update(given["env"])
    sys.argv = given["words"]
    sys.path[0] = str(Path(sys.argv[0]).parent)
    for name, mode in (("stdin", "rb"), ("stdout", "wb"), ("stderr", "wb")):
        stream = opened(getattr(sys, name), mode)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    signal.signal(signal.SIGINT, signal.default_int_handler)


def opened(stream: Any, mode: str) -> io.TextIOWrapper:
    """A standard stream as Python opens it, on what its descriptor is now."""
    number = stream.fileno()
    raw = os.fdopen(number, mode, closefd=False)
    by_line = number == 2 or os.isatty(number)
    return io.TextIOWrapper(raw, stream.encoding, stream.errors, line_buffering=by_line)


def run() -> int:
    """Run the command; an error that it lets through is shown as Python shows it."""
    from accord.cli import main

    try:
        return main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0
    except BaseException as error:  # noqa: BLE001
        sys.excepthook(type(error), error, error.__traceback__)
        return 1


def end(code: int) -> NoReturn:
    """End as Python does, but leave the memory to the system: to free it takes most of the time."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, OSError, ValueError):  # closed, or nobody reads it
            stream.flush()
    ctypes.CDLL(None).fflush(None)  # what libraries in C have written
    os._exit(code)


if __name__ == "__main__":
    preload()
    become(*serve(socket.socket(fileno=int(sys.argv[1]))))
    end(run())
