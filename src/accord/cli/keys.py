"""The key that cursors are signed with, kept in a file so that they survive a restart."""

import argparse
import logging
import os
from pathlib import Path
from typing import Final

from accord.errors import ContractError
from accord.signing import Signer

log = logging.getLogger("accord")

_BYTES: Final = 32


def add_key_argument(parser: argparse.ArgumentParser) -> None:
    """Where the key is kept."""
    parser.add_argument(
        "--key-file",
        type=Path,
        metavar="FILE",
        help="the key that cursors are signed with; made if it is not there",
    )


def key_of(options: argparse.Namespace) -> bytes | None:
    """The key in the file that was named; None where none was."""
    return None if options.key_file is None else _read_key(options.key_file)


def _read_key(path: Path) -> bytes:
    """The key in a file; a file that is not there yet is made, for its owner alone."""
    try:
        return _checked(path, path.read_bytes() if path.exists() else _make(path))
    except OSError as error:
        raise ContractError(f"cannot use the key file {path}: {error.strerror}") from error


def _make(path: Path) -> bytes:
    """A new key, in a file that is whole as soon as it is there."""
    from tempfile import mkstemp  # which a server without a key file starts without

    key = os.urandom(_BYTES).hex().encode()
    number, beside = mkstemp(dir=path.parent, prefix=f".{path.name}.")  # its owner's alone
    try:
        with os.fdopen(number, "wb") as file:
            file.write(key)
        path.hardlink_to(beside)
    except FileExistsError:  # another worker was first
        return path.read_bytes()
    finally:
        Path(beside).unlink()
    return key


def _checked(path: Path, content: bytes) -> bytes:
    key = content.strip()
    try:
        Signer(key)
    except ContractError as error:
        raise ContractError(f"the key file {path} does not hold a key: {error}") from error
    if path.stat().st_mode & 0o077:
        log.warning("others can read the key file %s; chmod 600 would stop that", path)
    return key
