"""Options that several commands share, and the parsing of their values."""

import argparse
import logging
import os
from pathlib import Path
from typing import Any, Final

from accord.cli import targets
from accord.cli.values import header, seconds
from accord.errors import ContractError
from accord.serve.shutdown import DEFAULT_GRACE
from accord.signing import Key, Signer

log: logging.Logger = logging.getLogger("accord")

GRACE_HELP: Final = "time for the lifespan and remaining threads to end after the output"
"""The help of --grace for commands that call a server in this process."""
_KEY_BYTES: Final = 32
FORM_OPTIONS: Final = ("template", "map", "paper", "font")
_REPLY_TIMEOUT: Final = 30.0
"""Default seconds to wait for each reply of a remote server."""


def add_remote_options(parser: argparse.ArgumentParser, *, timeout: str = "") -> None:
    """Add the options of a connection; `timeout` is appended to the help of --timeout."""
    group = parser.add_argument_group("Servers at a URL or command line")
    group.add_argument(
        "--header",
        action="append",
        default=[],
        type=header,
        metavar="NAME:VALUE",
        help="header of each request to a URL; may be repeated",
    )
    group.add_argument(
        "--timeout",
        type=seconds,
        metavar="SECONDS",
        help=f"time limit for each reply (default {_REPLY_TIMEOUT:g}{timeout})",
    )


def reply_timeout(options: argparse.Namespace) -> float:
    """Return the seconds to wait for each reply of a remote server."""
    return _REPLY_TIMEOUT if options.timeout is None else float(options.timeout)


def add_grace_argument(parser: argparse.ArgumentParser, purpose: str) -> None:
    """Add the option --grace."""
    parser.add_argument(
        "--grace",
        type=seconds,
        default=DEFAULT_GRACE,
        metavar="SECONDS",
        help=f"{purpose} (default %(default)s)",
    )


def add_key_argument(parser: argparse.ArgumentParser) -> None:
    """Add the option --key-file."""
    parser.add_argument(
        "--key-file",
        type=Path,
        action="append",
        metavar="FILE",
        help="file with the key that signs cursors and session ids and encrypts stored tasks;"
        " created if it does not exist. May be repeated: what older keys have signed stays valid",
    )


def key_from(options: argparse.Namespace) -> bytes | None:
    """Return the key of --key-file, with the older ones; None without that option."""
    return Key.of([*map(_read_key, options.key_file)]) if options.key_file else None


def _read_key(path: Path) -> bytes:
    """Return the key in a file; a missing file is created, readable by its owner only."""
    try:
        return _valid_key(path, path.read_bytes() if path.exists() else _create_key(path))
    except OSError as error:
        raise ContractError(f"could not use the key file {path}: {error.strerror}") from error


def _create_key(path: Path) -> bytes:
    """Create a key file atomically and return its key."""
    from tempfile import mkstemp  # slow to import, seldom needed

    key = os.urandom(_KEY_BYTES).hex().encode()
    number, beside = mkstemp(dir=path.parent, prefix=f".{path.name}.")  # mode 0600
    try:
        with os.fdopen(number, "wb") as file:
            file.write(key)
        path.hardlink_to(beside)
    except FileExistsError:  # another process created it
        return path.read_bytes()
    finally:
        Path(beside).unlink()
    return key


def _valid_key(path: Path, content: bytes) -> bytes:
    key = content.strip()
    try:
        Signer(key)
    except ContractError as error:
        raise ContractError(f"the key file {path} does not hold a key: {error}") from error
    if path.stat().st_mode & 0o077:
        log.warning("the key file %s is readable by others; run chmod 600 on it", path)
    return key


def add_form_arguments(parser: argparse._ArgumentGroup) -> None:
    """Add the options of a form, for the target `sheets` and `accord sheet`."""
    parser.add_argument(
        "--template",
        type=Path,
        metavar="PDF",
        help="fillable PDF form to use instead of the bundled one: the official sheet, or any form"
        " with --map",
    )
    parser.add_argument(
        "--map",
        type=Path,
        metavar="TOML",
        help="mapping file for the fields of that form; `accord sheet --fields` prints a draft",
    )
    parser.add_argument(
        "--paper", choices=["a4", "letter"], help="paper size of the bundled form (default a4)"
    )
    parser.add_argument(
        "--font",
        action="append",
        type=Path,
        metavar="TTF",
        help="font for characters that the bundled fonts lack (they have Latin, Greek, Cyrillic,"
        " Hebrew, Arabic, Georgian, Armenian, Chinese and Japanese); may be repeated",
    )


def add_sheet_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the target `sheets`."""
    group = parser.add_argument_group("The target sheets")
    group.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help="folder for the sheets; created if it does not exist (default: this folder)",
    )
    add_form_arguments(group)


def sheet_options(options: argparse.Namespace, *names: str) -> dict[str, Any]:
    """Return the options given for `sheets`; raise if that is not among the targets."""
    given = form_options(options)
    if options.out is not None:
        given["out"] = options.out
    if given and not any(map(targets.is_sheets, names)):
        raise ContractError(f"--{next(reversed(given))} is for the target sheets")
    return given


def form_options(options: argparse.Namespace) -> dict[str, Any]:
    """Return the form options that were given."""
    values = {name: getattr(options, name) for name in FORM_OPTIONS}
    return {name: value for name, value in values.items() if value is not None}
