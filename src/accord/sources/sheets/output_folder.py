"""Atomic writes inside one output folder.

Each step of a path is opened relative to the one before and never through a symbolic link, so a
concurrent change cannot lead outside. A file is written beside its target, synced, read back by
the caller's check, and renamed over it.
"""

import errno
import os
import re
import secrets
import stat
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import Final

from accord.errors import ContractError
from accord.model.answer import FieldError, Problem
from accord.model.arguments import invalid
from accord.sources.sheets.request import TOOL

_STEP: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW: Final = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_MAX_STEM: Final = 60
_MAX_STEP: Final = 255
_MAX_PATH: Final = 1024  # bytes; a deeper tree can hardly be deleted
_NO_SPACE: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_BETWEEN_WORDS: Final = re.compile(r"[\W_]+")
_DRIVE: Final = re.compile("[A-Za-z]:")
_OUTSIDE: Final = "must be a relative path inside the output folder"
_SHORTER: Final = "must have shorter names"
_NO_LINKS: Final = "must not lead through a symbolic link or to anything but a regular file"


class OutputFolder:
    """The folder that files are written to."""

    def __init__(self, root: Path) -> None:
        if not root.is_dir():
            raise ContractError(f"folder {root} does not exist")
        self.root: Path = root.resolve()

    def path(self, name: str) -> Path:
        """Return the path of a file in the folder."""
        return self.root / name

    def write(self, name: str, data: bytes, check: Callable[[bytes], None]) -> None:
        """Write or replace a file; `check` gets the stored bytes before the rename."""
        *folders, file = _steps(name)
        try:
            with _opened(self.root, folders) as folder:
                _require_regular(folder, file)
                _replace(folder, file, data, check)
        except OSError as error:
            raise _problem(error) from error


def file_name(given: str | None, character: str) -> str:
    """Return the file name, given or after the character, with the suffix .pdf."""
    if given is None:
        return f"{_stem(character)}.pdf"
    is_named = given.rpartition("/")[2] not in ("", ".", "..")  # otherwise it is rejected later
    return f"{given}.pdf" if is_named and not given.lower().endswith(".pdf") else given


def _stem(character: str) -> str:
    letters = unicodedata.normalize("NFC", character).casefold()
    words = _BETWEEN_WORDS.sub("_", letters).strip("_")[:_MAX_STEM]
    while len(words.encode()) > 3 * _MAX_STEM:
        words = words[:-1]
    return words or "character"


def _steps(name: str) -> tuple[str, ...]:
    path = PurePosixPath(name)
    steps = name.split("/")
    if path.is_absolute() or not path.name or "\\" in name or _has_controls(name):
        raise _invalid_path(_OUTSIDE)
    if any(step in ("", ".", "..") for step in steps) or _DRIVE.match(name):
        raise _invalid_path(_OUTSIDE)
    if len(name.encode()) > _MAX_PATH or any(len(s.encode()) > _MAX_STEP for s in steps):
        raise _invalid_path(_SHORTER)
    return tuple(steps)


def _has_controls(name: str) -> bool:
    return any(unicodedata.category(character) in ("Cc", "Cs") for character in name)


def _invalid_path(reason: str) -> Problem:
    return invalid(TOOL, [FieldError("output_path", reason)])


@contextmanager
def _opened(root: Path, folders: list[str]) -> Iterator[int]:
    """Open the last folder of a path; create missing ones."""
    current = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for step in folders:
            with suppress(FileExistsError):
                os.mkdir(step, dir_fd=current)
            below = os.open(step, _STEP, dir_fd=current)
            os.close(current)
            current = below
        yield current
    finally:
        os.close(current)


def _require_regular(folder: int, file: str) -> None:
    with suppress(FileNotFoundError):
        found = os.stat(file, dir_fd=folder, follow_symlinks=False)
        if not stat.S_ISREG(found.st_mode):
            raise _invalid_path(_NO_LINKS)


def _replace(folder: int, file: str, data: bytes, check: Callable[[bytes], None]) -> None:
    temporary = f".accord-{secrets.token_hex(8)}.tmp"
    descriptor = os.open(temporary, _NEW, 0o666, dir_fd=folder)
    try:
        with os.fdopen(descriptor, "w+b") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
            stream.seek(0)
            check(stream.read())
        os.replace(temporary, file, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=folder)
        raise
    os.fsync(folder)


def _problem(error: OSError) -> Problem:
    """Return the Problem of a failed write, without local paths."""
    if error.errno in _NO_SPACE:
        return Problem.unavailable("The sheet could not be written: no space left")
    if error.errno in (errno.ELOOP, errno.ENOTDIR, errno.EISDIR):
        return _invalid_path(_NO_LINKS)
    if error.errno in (errno.ENAMETOOLONG, errno.EINVAL):
        return _invalid_path(_SHORTER)
    return Problem.unavailable(
        f"The sheet could not be written: {(error.strerror or 'unknown error').lower()}",
        retryable=False,
    )
