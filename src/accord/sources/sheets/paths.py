"""Files in one folder, and nowhere else: whole or absent, whatever happens in the middle.

Every step of a path is opened relative to the step before and never through a symbolic link, so
nothing that changes meanwhile can lead outside. A file is written beside its target, read back by
whoever asks, synced, and renamed over it.
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
_LONGEST_STEM: Final = 60
_LONGEST_STEP: Final = 255
_LONGEST_PATH: Final = 1024  # bytes: a tree that is deeper can hardly be deleted
_NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_BETWEEN_WORDS: Final = re.compile(r"[\W_]+")
_DRIVE: Final = re.compile("[A-Za-z]:")
_OUTSIDE: Final = "must be a relative path inside the output folder"
_SHORTER: Final = "must have shorter names"
_NO_LINKS: Final = "must not lead through a symbolic link or to anything but a plain file"


class Folder:
    """The one folder that files are written to."""

    def __init__(self, root: Path) -> None:
        if not root.is_dir():
            raise ContractError(f"there is no folder {root}")
        self.root = root.resolve()

    def path(self, name: str) -> Path:
        """Where a file of that name is."""
        return self.root / name

    def write(self, name: str, data: bytes, check: Callable[[bytes], None]) -> None:
        """Write a file, in place of one that is there; `check` sees it as it was stored."""
        *folders, file = _steps(name)
        try:
            with _opened(self.root, folders) as folder:
                _require_plain(folder, file)
                _replace(folder, file, data, check)
        except OSError as error:
            raise _problem(error) from error


def file_name(given: str | None, character: str) -> str:
    """The name of the file: as given, or after the character; always a PDF."""
    if given is None:
        return f"{_stem(character)}.pdf"
    is_named = given.rpartition("/")[2] not in ("", ".", "..")  # else it is refused as it is
    return f"{given}.pdf" if is_named and not given.lower().endswith(".pdf") else given


def _stem(character: str) -> str:
    letters = unicodedata.normalize("NFC", character).casefold()
    words = _BETWEEN_WORDS.sub("_", letters).strip("_")[:_LONGEST_STEM]
    while len(words.encode()) > 3 * _LONGEST_STEM:
        words = words[:-1]
    return words or "character"


def _steps(name: str) -> tuple[str, ...]:
    path = PurePosixPath(name)
    steps = name.split("/")
    if path.is_absolute() or not path.name or "\\" in name or _has_controls(name):
        raise _refused(_OUTSIDE)
    if any(step in ("", ".", "..") for step in steps) or _DRIVE.match(name):
        raise _refused(_OUTSIDE)
    if len(name.encode()) > _LONGEST_PATH or any(len(s.encode()) > _LONGEST_STEP for s in steps):
        raise _refused(_SHORTER)
    return tuple(steps)


def _has_controls(name: str) -> bool:
    return any(unicodedata.category(character) in ("Cc", "Cs") for character in name)


def _refused(reason: str) -> Problem:
    return invalid(TOOL, [FieldError("output_path", reason)])


@contextmanager
def _opened(root: Path, folders: list[str]) -> Iterator[int]:
    """The last folder of a path, made where it is not there."""
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


def _require_plain(folder: int, file: str) -> None:
    with suppress(FileNotFoundError):
        found = os.stat(file, dir_fd=folder, follow_symlinks=False)
        if not stat.S_ISREG(found.st_mode):
            raise _refused(_NO_LINKS)


def _replace(folder: int, file: str, data: bytes, check: Callable[[bytes], None]) -> None:
    beside = f".accord-{secrets.token_hex(8)}.tmp"
    descriptor = os.open(beside, _NEW, 0o666, dir_fd=folder)
    try:
        with os.fdopen(descriptor, "w+b") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
            stream.seek(0)
            check(stream.read())
        os.replace(beside, file, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(OSError):
            os.unlink(beside, dir_fd=folder)
        raise
    os.fsync(folder)


def _problem(error: OSError) -> Problem:
    """What a failed write means to the caller, without a path of this machine."""
    if error.errno in _NO_ROOM:
        return Problem.unavailable("The sheet could not be written: there is no room left")
    if error.errno in (errno.ELOOP, errno.ENOTDIR, errno.EISDIR):
        return _refused(_NO_LINKS)
    if error.errno in (errno.ENAMETOOLONG, errno.EINVAL):
        return _refused(_SHORTER)
    return Problem.unavailable(
        f"The sheet could not be written: {(error.strerror or 'unknown error').lower()}",
        retryable=False,
    )
