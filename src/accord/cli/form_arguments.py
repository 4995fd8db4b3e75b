"""What can be said of a form on the command line: which it is, and what its fields are for."""

import argparse
from pathlib import Path
from typing import Any, Final

from accord.cli import targets
from accord.errors import ContractError

_NAMES: Final = ("template", "map", "paper", "font")


def add_form_arguments(parser: argparse._ArgumentGroup) -> None:
    """The options that the target `sheets` and `accord sheet` share."""
    parser.add_argument(
        "--template",
        type=Path,
        metavar="PDF",
        help="a fillable form to use instead of ours: the official one, or any with --map",
    )
    parser.add_argument(
        "--map",
        type=Path,
        metavar="TOML",
        help="what the fields of that form are for; `accord sheet --fields` lists them",
    )
    parser.add_argument(
        "--paper", choices=["a4", "letter"], help="the paper of our own form (default a4)"
    )
    parser.add_argument(
        "--font",
        action="append",
        type=Path,
        metavar="TTF",
        help="a font for letters that ours lack (we have Latin, Greek, Cyrillic, Hebrew, Arabic,"
        " Georgian, Armenian, Chinese and Japanese); may be repeated",
    )


def add_sheet_arguments(parser: argparse.ArgumentParser) -> None:
    """What can be said of the target `sheets`."""
    group = parser.add_argument_group("for the target `sheets`, which fills character sheets")
    group.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help="the folder that sheets are written to, and never outside; made where it is not"
        " there (default: this one)",
    )
    add_form_arguments(group)


def said_of_sheets(options: argparse.Namespace, *names: str) -> dict[str, Any]:
    """What was said of sheets; an error where none of the targets fills any."""
    said = form_options(options)
    if options.out is not None:
        said["out"] = options.out
    if said and not any(map(targets.is_sheets, names)):
        raise ContractError(f"--{next(reversed(said))} is for the target sheets")
    return said


def form_options(options: argparse.Namespace) -> dict[str, Any]:
    """Those that were given."""
    said = {name: getattr(options, name) for name in _NAMES}
    return {name: value for name, value in said.items() if value is not None}
