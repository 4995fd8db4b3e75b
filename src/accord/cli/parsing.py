"""The parser of a command line: its errors are one line, with a suggestion where one is near."""

import argparse
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from accord.errors import did_you_mean


class Parser(argparse.ArgumentParser):
    """An argument parser with the help of `accord.cli.help`."""

    targets = False
    """True if the help lists what a target can be."""

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse all arguments; an unknown option is an error with the nearest known one."""
        parsed, rest = self.parse_known_args(args, namespace)
        if not rest:
            return parsed
        return self.error(self._unknown(rest))

    def _unknown(self, words: Sequence[str]) -> str:
        """Return a message for words that are not understood."""
        name = words[0].partition("=")[0]
        if not name.startswith("-"):
            return f"too many arguments: {' '.join(words)}"
        known = [option for action in self._actions for option in action.option_strings]
        return f"there is no option {name}{did_you_mean(name, known)}"

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is None or value in action.choices:
            return
        known = list(map(str, action.choices))
        wanted = f"must be one of {', '.join(known)}, not {str(value)!r}"
        raise argparse.ArgumentError(action, wanted + did_you_mean(str(value), known))

    def format_help(self) -> str:
        """Return the help, coloured if standard output is a terminal."""
        from accord.cli.help import render  # only for --help

        return render(self)

    def print_help(self, file: Any = None) -> None:
        """Print the help to standard output."""
        write_out(self.format_help())

    def error(self, message: str) -> NoReturn:
        """Print one line, and exit with code 2."""
        from accord.cli.terminal import visible  # it may quote what was typed

        text = visible(message).removeprefix("argument ").replace(": must be ", " must be ", 1)
        print(f"{self.prog}: {text} (see {self.prog} --help)", file=sys.stderr)
        sys.exit(2)


def write_out(text: str) -> None:
    """Print a text to standard output; a reader that has left is not an error."""
    from accord.cli.main import discard_stdout

    try:
        print(text, end="", flush=True)
    except (OSError, ValueError):
        discard_stdout()
