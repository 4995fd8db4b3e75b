"""Tables with two columns, as wide as the terminal: signatures or URIs, and descriptions."""

import shutil
import textwrap
from collections.abc import Iterable, Iterator
from itertools import zip_longest
from typing import Any, Final

from accord.cli.terminal import visible

_GAP: Final = "  "
_MIN_COLUMNS: Final = 40

Row = tuple[str, str]


def print_json(value: Any) -> None:
    """Print a value as indented JSON."""
    from accord.reader.reading import to_json  # slow to import

    print(visible(to_json(value, indent=2).decode(), keeps_lines=True), flush=True)


def print_table(title: str, rows: list[Row]) -> None:
    """Print a heading, and a row for each entry."""
    print(visible(title))
    for line in table(rows):
        print(line)


def counted(number: int, what: str) -> str:
    """Return a number with its noun: `1 tool`, `2 tools`."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def table(rows: list[Row]) -> Iterator[str]:
    """Yield two columns that fit the terminal; a signature that is too long is not broken."""
    columns = max(shutil.get_terminal_size().columns, _MIN_COLUMNS)
    longest = max((len(call) for call, _ in rows), default=0)
    width = min(longest, columns // 2 - len(_GAP))
    room = columns - width - 2 * len(_GAP)
    for call, description in rows:
        calls = textwrap.wrap(
            call, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
        )
        texts = textwrap.wrap(description, room, break_on_hyphens=False)
        if max(map(len, calls), default=0) > width:
            texts = [""] * len(calls) + texts
        for left, right in zip_longest(calls, texts, fillvalue=""):
            yield f"{_GAP}{left:{width}}{_GAP}{right}".rstrip()


def signature(name: str, arguments: Iterable[tuple[str, bool]]) -> str:
    """Return the signature of a tool or prompt; `?` is after what can be left out."""
    takes = ", ".join(each if is_needed else f"{each}?" for each, is_needed in arguments)
    return visible(f"{name}({takes})")


def described(description: str, *marks: str) -> str:
    """Return the first paragraph of a description in one line, and marks."""
    return visible(" ".join([*description.partition("\n\n")[0].split(), *marks]))
