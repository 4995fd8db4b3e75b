"""The options of commands for foreign servers."""

import argparse
from collections.abc import Sequence
from typing import Any, Final, get_args

from accord.cli.targets import Target, is_foreign
from accord.cli.values import count
from accord.errors import ContractError
from accord.model.tool import Replies

_OPTIONS: Final = ("only", "replies", "max_name")


def add_foreign_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options for foreign servers."""
    group = parser.add_argument_group("Other MCP servers")
    group.add_argument(
        "--only",
        action="append",
        metavar="PATTERN",
        help="serve only tools and prompts whose names match; may be repeated",
    )
    group.add_argument(
        "--replies",
        choices=get_args(Replies),
        help="forward replies as-is, repaired (default: faults in the protocol are corrected), or"
        " normalised by the reader (default with --profile)",
    )
    group.add_argument(
        "--max-name",
        type=count,
        metavar="CHARACTERS",
        help="maximum length of the names of tools and prompts (default 64)",
    )


def foreign_options(options: argparse.Namespace, given: Sequence[Target]) -> dict[str, Any]:
    """Return the options for foreign servers; raise if there are none of these."""
    found = {name: getattr(options, name, None) for name in _OPTIONS}
    found = {name: value for name, value in found.items() if value is not None}
    has_foreign = any(map(is_foreign, given))
    if found and not has_foreign:
        names = ", ".join(f"--{name.replace('_', '-')}" for name in found)
        raise ContractError(f"{names}: only for foreign servers, and no target is one")
    if has_foreign and getattr(options, "read_only", False):
        found["read_only"] = True
    return found
