"""The command line: find the verb, load only what it needs, and turn errors into one line."""

import argparse
import contextlib
import importlib
import io
import os
import signal
import sys
from collections.abc import Sequence
from typing import Any, Final, NoReturn

from accord.cli.startup import uncollected
from accord.errors import AccordError

VERBS: Final = {
    "serve": "serve tools over stdio, as MCP clients start a server, or over HTTP",
    "tools": "show the tools of a server",
    "call": "call one tool and print its answer",
    "inspect": "look at somebody else's server on a page",
    "read": "print anybody's reply as the generic response",
    "sheet": "fill character sheets, and list the fields of a form",
    "schema": "print the JSON Schema of what a tool answers",
    "install": "write a server into the configuration of an MCP client",
    "completion": "print what a shell needs to complete these words",
}
_EXAMPLES: Final = """\
examples:
  accord serve shop:server                  the object `server` of module shop
  accord serve shop:server other:server     several targets as one server
  accord serve shop.py --http 127.0.0.1:8000
  accord serve shop.db --read-only          a database as tools
  accord tools shop:server                  what tools there are
  accord call shop:server add '{"a": 2, "b": 3}'
  accord inspect 'npx some-server'          a page to try its tools on
  accord read reply.json --table            anybody's reply in one structure
  accord sheet thorin.json -o thorin.pdf    fill a character sheet
  accord schema generic --for n8n           for its Structured Output Parser
"""


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line."""

    def error(self, message: str) -> NoReturn:
        print(f"{self.prog}: {message} (see {self.prog} --help)", file=sys.stderr)
        sys.exit(2)


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """As wide as the terminal, which argparse would load a few modules to know."""

    def __init__(self, prog: str, **settings: Any) -> None:
        super().__init__(prog, **{"width": _width()} | settings)


def _width() -> int:
    """Columns for a text, two less than there are."""
    said = os.environ.get("COLUMNS", "")
    if said.isdecimal() and int(said):
        return int(said) - 2
    with contextlib.suppress(OSError, ValueError):
        if sys.__stdout__ is not None:
            return (os.get_terminal_size(sys.__stdout__.fileno()).columns or 80) - 2
    return 78


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and give back its exit code."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    if not words or words[0] not in VERBS:
        overview = _overview()
        overview.parse_args(words)
        overview.error("the verb comes first")
    verb, *rest = words
    try:
        with uncollected():
            _module(verb)
        return _run(verb, rest)
    except KeyboardInterrupt:  # end as Ctrl-C ends others, so that a shell knows
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
        raise


def _run(verb: str, words: Sequence[str]) -> int:
    options = parser_of(verb).parse_args(words)
    _show_anything()
    try:
        code: int = _module(verb).run(options)
        with contextlib.suppress(AttributeError, ValueError):  # a served tool may have closed it
            sys.stdout.flush()
    except AccordError as error:
        from accord.cli.visible import visible  # what went wrong may be told in a peer's words

        print(f"accord {verb}: {visible(str(error), keeps_lines=True)}", file=sys.stderr)
        return 2
    except OSError as error:  # whoever reads our output has seen enough, or has no room for it
        with contextlib.suppress(AttributeError, OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            print(f"accord {verb}: {error.strerror or error}", file=sys.stderr)
        return 1
    return code


def parser_of(verb: str) -> argparse.ArgumentParser:
    """What understands the words that follow a verb."""
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
    return importlib.import_module(f"accord.cli.{verb}")  # a verb loads what it needs, no more


def _show_anything() -> None:
    """A character that the terminal's encoding lacks is shown as an escape, not as an error."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _overview() -> argparse.ArgumentParser:
    """The command without a verb: help, version, or a word that is no verb."""
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
