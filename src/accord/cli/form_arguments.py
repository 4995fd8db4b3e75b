"""What can be said of a form on the command line: which it is, and what its fields are for."""

import argparse
from pathlib import Path
from typing import Any, Final

_NAMES: Final = ("template", "map", "paper", "font")


def add_form_arguments(parser: argparse._ArgumentGroup) -> None:
    """The options that `accord serve sheets` and `accord sheet` share."""
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
        " Chinese and Japanese); may be repeated",
    )


def form_options(options: argparse.Namespace) -> dict[str, Any]:
    """Those that were given."""
    said = {name: getattr(options, name) for name in _NAMES}
    return {name: value for name, value in said.items() if value is not None}
