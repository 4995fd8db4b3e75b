"""Renders help texts: sections with aligned columns, coloured on a terminal."""

import argparse
import os
import re
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from shutil import get_terminal_size
from typing import Final

from accord.cli.parsing import Parser
from accord.cli.targets import FORMS

MAX_INLINE_CHOICES: Final = 20
"""Characters; longer choices follow the help text instead of the option."""
_MAX_WIDTH: Final = 100
_MIN_WIDTH: Final = 40
_MAX_LEFT: Final = 28  # of the column with names; a longer name has a line of its own
_MIN_RIGHT: Final = 30  # less room than this, and texts go below the names
_INDENT: Final = "  "
_COMMENT: Final = re.compile(r"(?<=\s)# .*$")


class Style:
    """The colours of a terminal, or none."""

    def __init__(self, *, has_colour: bool) -> None:
        self._has_colour = has_colour

    def heading(self, text: str) -> str:
        """Return a text as a heading."""
        return self.coloured(text, "1")

    def name(self, text: str) -> str:
        """Return the name of a command or an option."""
        return self.coloured(text, "36")

    def value(self, text: str) -> str:
        """Return what stands for a value."""
        return self.coloured(text, "2")

    def coloured(self, text: str, code: str) -> str:
        """Return a text with a code of ECMA-48."""
        return f"\x1b[{code}m{text}\x1b[0m" if self._has_colour and text else text


def style() -> Style:
    """Return the style of standard output: colours on a terminal, unless NO_COLOR is set."""
    is_terminal = sys.stdout is not None and sys.stdout.isatty()
    is_wanted = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return Style(has_colour=is_terminal and is_wanted)


def overview(summary: str, commands: Mapping[str, Mapping[str, str]], examples: str) -> str:
    """Return the help of `accord`: its commands in groups."""
    page = _Page()
    names = [name for group in commands.values() for name in group]
    page.text(summary)
    page.usage("accord COMMAND [ARGUMENT …]")
    left = max(map(len, names))
    for title, group in commands.items():
        page.section(title, list(group.items()), left)
    options = [("-h, --help", "Show this help, or with a command its own")]
    options.append(("-V, --version", "Show the version, and which extras are installed"))
    page.section("Options", options, left)
    page.examples(examples)
    return str(page)


def render(parser: argparse.ArgumentParser) -> str:
    """Return the help of one command."""
    page = _Page()
    page.text(parser.description or "")
    arguments, options, *groups = parser._action_groups
    positional = shown_actions(arguments)
    words = [*map(_in_usage, positional), "[OPTION …]"]
    page.usage(" ".join([parser.prog, *words]))
    rows = {
        "Arguments": positional,
        "Options": shown_actions(options),
        **{capitalised(group.title or ""): shown_actions(group) for group in groups},
    }
    tables = {title: [(name_of(a), help_of(a)) for a in actions] for title, actions in rows.items()}
    if isinstance(parser, Parser) and parser.targets:
        tables = {"Arguments": tables.pop("Arguments"), "Targets": list(FORMS), **tables}
    lengths = [len(name) for table in tables.values() for name, _ in table]
    left = max((each for each in lengths if each <= _MAX_LEFT), default=0)
    for title, table in tables.items():
        page.section(title, table, left)
    page.examples(parser.epilog or "")
    return str(page)


def shown_actions(group: argparse._ArgumentGroup) -> list[argparse.Action]:
    """Return the arguments and options of a group, without hidden ones."""
    return [each for each in group._group_actions if each.help != argparse.SUPPRESS]


def capitalised(text: str) -> str:
    """Return a text with its first letter in upper case."""
    return text[:1].upper() + text[1:]


def name_of(action: argparse.Action) -> str:
    """Return an argument or option with its value: `-o, --output FILE`."""
    choices = _choices(action) if _is_inline(action) else ""
    value = str(action.metavar or choices or action.dest.upper())
    if not action.option_strings:
        return value
    names = ", ".join(action.option_strings)
    return names if action.nargs == 0 else f"{names} {value}"


def help_of(action: argparse.Action) -> str:
    """Return the help text of an argument or option, with its default and its choices."""
    text = (action.help or "") % {"default": action.default, "prog": "accord"}
    if action.metavar is None and _choices(action) and not _is_inline(action):
        text += f"; one of {', '.join(map(str, action.choices or ()))}"
    return text


def _choices(action: argparse.Action) -> str:
    return "{" + ",".join(map(str, action.choices)) + "}" if action.choices else ""


def _is_inline(action: argparse.Action) -> bool:
    return len(_choices(action)) <= MAX_INLINE_CHOICES


def _in_usage(action: argparse.Action) -> str:
    name = name_of(action)
    name = f"{name} …" if action.nargs in ("*", "+") else name
    return f"[{name}]" if action.nargs in ("*", "?") else name


class _Page:
    """A help text, written section by section."""

    def __init__(self) -> None:
        self._style = style()
        self._lines: list[str] = []
        columns = get_terminal_size((80, 24)).columns
        self._width = max(min(columns, _MAX_WIDTH), _MIN_WIDTH)

    def __str__(self) -> str:
        return "\n".join(self._lines).strip("\n") + "\n"

    def text(self, text: str) -> None:
        """Add a paragraph."""
        self._lines += [*_wrap(text, self._width), ""]

    def usage(self, line: str) -> None:
        """Add the form of the command line."""
        indent = " " * len("Usage: ")
        first, *rest = textwrap.wrap(
            line, self._width - len(indent), break_long_words=False, break_on_hyphens=False
        )
        self._lines.append(self._style.heading("Usage:") + f" {first}")
        self._lines += [*(indent + each for each in rest), ""]

    def section(self, title: str, rows: Sequence[tuple[str, str]], left: int) -> None:
        """Add a table of names and texts."""
        if rows:
            self._lines.append(self._style.heading(f"{title}:"))
            for name, text in rows:
                self._lines += self._row(name, text, left)
            self._lines.append("")

    def examples(self, text: str) -> None:
        """Add the examples, a line each."""
        if text:
            self._lines.append(self._style.heading("Examples:"))
            self._lines += [
                _COMMENT.sub(lambda found: self._style.value(found[0]), line)
                for line in text.rstrip("\n").split("\n")
            ]

    def _row(self, name: str, text: str, left: int) -> Iterator[str]:
        right = self._width - left - 2 * len(_INDENT)
        if right < _MIN_RIGHT:
            yield _INDENT + self._coloured(name)
            yield from (_INDENT * 3 + each for each in _wrap(text, self._width - 6))
            return
        first, *rest = _wrap(text, right) or [""]
        margin = " " * (left + 2 * len(_INDENT))
        if len(name) > left:
            yield _INDENT + self._coloured(name)
            yield margin + first
        else:
            gap = " " * (left - len(name)) + _INDENT if first else ""
            yield _INDENT + self._coloured(name) + gap + first
        yield from (margin + each for each in rest)

    def _coloured(self, name: str) -> str:
        """Return a name with its value in another colour."""
        names, metavar = name, ""
        if name.startswith("-"):
            words = name.split(" ")
            at = max(i for i, word in enumerate(words) if word.startswith("-"))
            names, metavar = " ".join(words[: at + 1]), " ".join(words[at + 1 :])
        return self._style.name(names) + (f" {self._style.value(metavar)}" if metavar else "")


def _wrap(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)
