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
from typing import Any, Final, NoReturn

from accord.errors import AccordError, LifespanError

VERBS: Final = {
    "serve": "serve tools over stdio, as MCP clients start a server, or over HTTP",
    "tools": "show the tools of a server",
    "call": "call one tool and print its answer",
    "task": "wait for a task of a remote server, or cancel it",
    "inspect": "show a remote server on a web page",
    "login": "sign in to a remote server, once",
    "logout": "sign out of a remote server",
    "whoami": "show the sign-in at a remote server, or list all",
    "read": "print the reply of any server as the generic response",
    "sheet": "fill character sheets, and list the fields of a form",
    "schema": "print the JSON Schema of what a tool answers",
    "token": "make a bearer token for the callers of a server",
    "install": "write a server into the configuration of an MCP client",
    "completion": "print a completion script for a shell",
}
_EXAMPLES: Final = """\
examples:
  accord serve shop:server                  the object `server` of module shop
  accord serve shop:server other:server     several targets as one server
  accord serve shop.py --http 127.0.0.1:8000
  accord serve shop.db --read-only          a database as tools
  accord tools shop:server                  list its tools
  accord call shop:server add '{"a": 2, "b": 3}'
  accord inspect 'npx some-server'          a page to try its tools on
  accord login https://mcp.example.com/mcp  sign in before calling its tools
  accord read reply.json --table            any reply in one structure
  accord sheet thorin.json -o thorin.pdf    fill a character sheet
  accord schema generic --for n8n           for its Structured Output Parser
"""


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        print(f"{self.prog}: {message} (see {self.prog} --help)", file=sys.stderr)
        sys.exit(2)


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """A formatter as wide as the terminal; argparse would import shutil to find that out."""

    def __init__(self, prog: str, **settings: Any) -> None:
        super().__init__(prog, **{"width": _width()} | settings)


def _width() -> int:
    """Return the columns of the terminal, less two."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns):
        return int(columns) - 2
    with contextlib.suppress(OSError, ValueError):
        if sys.__stdout__ is not None:
            return (os.get_terminal_size(sys.__stdout__.fileno()).columns or 80) - 2
    return 78


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    argv = sys.argv[1:] if arguments is None else list(arguments)
    if not argv or argv[0] not in VERBS:
        parser = _top_level_parser()
        parser.parse_args(argv)
        parser.error("the verb must come first")
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
    _escape_unencodable()
    try:
        code: int = (run or _module(verb).run)(options)
        with contextlib.suppress(AttributeError, ValueError):  # a tool may have closed it
            sys.stdout.flush()
    except AccordError as error:
        from accord.cli.terminal import visible  # an error may quote a server

        print(f"accord {verb}: {visible(str(error), keeps_lines=True)}", file=sys.stderr)
        return 1 if isinstance(error, LifespanError) else 2
    except OSError as error:  # the pipe is closed, or the disk is full
        with contextlib.suppress(AttributeError, OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            print(f"accord {verb}: {error.strerror or error}", file=sys.stderr)
        return 1
    return code


def parser_of(verb: str) -> argparse.ArgumentParser:
    """Return the parser for the arguments of a verb."""
    module = _module(verb)
    parser = _Parser(
        prog=f"accord {verb}",
        description=VERBS[verb],
        epilog=module.EXAMPLES,
        formatter_class=_Formatter,
    )
    module.add_arguments(parser)
    return parser


def _module(verb: str) -> Any:
    return importlib.import_module(f"accord.cli.{verb}")  # a verb imports only what it needs


def _escape_unencodable() -> None:
    """Escape characters that the encoding of an output lacks, instead of raising."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _top_level_parser() -> argparse.ArgumentParser:
    """Return the parser for `accord` without a verb: --help and --version."""
    verbs = "\n".join(f"  {verb:10} {summary}" for verb, summary in VERBS.items())
    parser = _Parser(
        prog="accord",
        description="One response contract for MCP tools: serve them, call them, read them.",
        epilog=f"verbs:\n{verbs}\n\n{_EXAMPLES}",
        formatter_class=_Formatter,
    )
    parser.add_argument("--version", action="version", version=f"accord {_version()}")
    parser.add_argument("verb", choices=list(VERBS), metavar="VERB", help="one of the verbs below")
    return parser


def _version() -> str:
    from importlib.metadata import version  # 20 ms that only --version and --help need

    return version("accord-mcp")
