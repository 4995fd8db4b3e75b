"""The command line: imports the module of one verb, and prints errors as one line."""

import argparse
import contextlib
import gc
import importlib
import io
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from accord.cli.parsing import Parser, write_out
from accord.errors import AccordError, LifespanError, did_you_mean

COMMANDS: Final = {
    "Serve tools": {
        "serve": "Serve tools over stdio or HTTP",
        "install": "Add a server to the configuration of an MCP client",
        "token": "Create bearer tokens for the clients of a server",
    },
    "Use a server": {
        "tools": "List the tools of servers",
        "call": "Call a tool and print its result",
        "resources": "List the resources of servers",
        "read-resource": "Read a resource",
        "prompts": "List the prompts of servers",
        "get-prompt": "Print the messages of a prompt",
        "task": "Wait for a task, or cancel it",
        "inspect": "Open a web page to try a server on",
    },
    "Sign in": {
        "login": "Sign in to a server",
        "logout": "Sign out of a server",
        "whoami": "Show where you are signed in, and as whom",
    },
    "Read and fill": {
        "read": "Normalise the replies of any server into one JSON shape",
        "schema": "Print the JSON Schema of a response format",
        "sheet": "Fill D&D 5e character sheets",
    },
    "This installation": {
        "doctor": "Check the installation, and the MCP clients that use it",
        "completion": "Print a completion script for a shell",
    },
}
VERBS: Final = {verb: summary for group in COMMANDS.values() for verb, summary in group.items()}
"""The commands with their summaries; each is the module of that name."""
_SUMMARY: Final = (
    "Serve tools to MCP clients, call the tools of any MCP server, and read their replies in one"
    " JSON shape."
)
_EXAMPLES: Final = """\
  accord serve shop.py                         # the Server in a Python file, over stdio
  accord serve shop.db --http 127.0.0.1:8000   # a database, over HTTP, with a web page
  accord tools 'npx -y some-server'            # the tools of any MCP server
  accord call shop.py price item=rope count:=3
  accord install claude-desktop shop.py
  accord help call                             # the options of a command
"""
_HELP: Final = ("-h", "--help", "help")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    argv = sys.argv[1:] if arguments is None else list(arguments)
    _escape_unencodable()
    if len(argv) > 1 and argv[0] == "help":
        argv = [argv[1], "--help"]
    if not argv or argv[0] not in VERBS:
        return _without_command(argv)
    verb, *options = argv
    try:
        with gc_disabled():
            _module(verb)
        parsed = parser_of(verb).parse_args(options, argparse.Namespace(argv=options))
        code = run_parsed(verb, parsed)
    except KeyboardInterrupt:  # end by the signal, so that a shell sees it
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
        raise
    if arguments is None and hasattr(parsed, "grace"):
        end_in_time(parsed.grace, code)
    return code


def end_in_time(grace: float, code: int) -> None:
    """Exit within the grace period, also if a thread of a user's library does not end."""
    from accord.serve.shutdown import exit_within

    with contextlib.suppress(AttributeError, OSError, ValueError):  # it is closed
        sys.stderr.flush()
    exit_within(grace, code)


@contextlib.contextmanager
def gc_disabled() -> Iterator[None]:
    """Disable garbage collection: loading modules leaves no garbage to collect."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def run_parsed(
    verb: str,
    options: argparse.Namespace,
    run: Callable[[argparse.Namespace], int] | None = None,
) -> int:
    """Run a verb, or `run` in its place; print errors as one line, and return the exit code."""
    try:
        code: int = (run or _module(verb).run)(options)
        with contextlib.suppress(AttributeError, ValueError):  # a tool may have closed it
            sys.stdout.flush()
    except AccordError as error:
        from accord.cli.terminal import visible  # an error may quote a server

        print(f"accord {verb}: {visible(str(error), keeps_lines=True)}", file=sys.stderr)
        return 1 if isinstance(error, LifespanError) else 2
    except OSError as error:  # the pipe is closed, or the disk is full
        discard_stdout()
        if not isinstance(error, BrokenPipeError):
            print(f"accord {verb}: {error.strerror or error}", file=sys.stderr)
        return 1
    return code


def discard_stdout() -> None:
    """Send what is left for standard output nowhere: its reader has left."""
    with contextlib.suppress(AttributeError, OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def parser_of(verb: str) -> Parser:
    """Return the parser for the arguments of a command."""
    module = _module(verb)
    parser = Parser(
        prog=f"accord {verb}", description=f"{VERBS[verb]}.", epilog=module.EXAMPLES, add_help=False
    )
    module.add_arguments(parser)
    parser.add_argument("-h", "--help", action="help", help="show this help")
    return parser


def _module(verb: str) -> Any:
    """Import the module of a command, which imports only what it needs."""
    return importlib.import_module(f"accord.cli.{verb.replace('-', '_')}")


def _escape_unencodable() -> None:
    """Escape characters that the encoding of an output lacks, instead of raising."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _without_command(argv: Sequence[str]) -> int:
    """Answer `accord` without a command: help, the version, or what is wrong."""
    if not argv or argv[0] in _HELP:
        from accord.cli.help import overview

        write_out(overview(_SUMMARY, COMMANDS, _EXAMPLES))
        return 0
    if argv[0] in ("-V", "--version"):
        from accord.extras import version_text

        write_out(version_text())
        return 0
    is_option = argv[0].startswith("-")
    kind = "option" if is_option else "command"
    known = ("--help", "--version") if is_option else VERBS
    guess = did_you_mean(argv[0], known) or f"; one of {', '.join(known)}"
    print(f"accord: there is no {kind} {argv[0]!r}{guess} (see accord --help)", file=sys.stderr)
    return 2
