"""Replies of other servers as received, kept for a while for callers that ask for the original."""

import os
import stat
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from time import time
from typing import Final

import msgspec

_SECONDS: Final = 600.0
_MAX_BYTES: Final = 64 * 1024 * 1024
_ID_BYTES: Final = 16


class Original(msgspec.Struct, frozen=True):
    """One reply, with its time and the digest of its caller."""

    caller: str
    created: float
    reply: bytes


class Originals:
    """Keeps replies for ten minutes, up to a number of bytes; the oldest are dropped.

    With `folder`, they are files in it, which the other workers of the server read too.
    """

    def __init__(
        self,
        folder: Path | None = None,
        *,
        seconds: float = _SECONDS,
        max_bytes: int = _MAX_BYTES,
        clock: Callable[[], float] = time,
    ) -> None:
        self._folder = folder
        self._seconds = seconds
        self._max_bytes = max_bytes
        self._clock = clock
        self._kept: dict[str, Original] = {}
        self._size = 0

    def put(self, reply: bytes, principal: bytes | None) -> str | None:
        """Keep a reply for its caller and return its id; None if it is larger than all room."""
        if len(reply) > self._max_bytes:
            return None
        original_id = os.urandom(_ID_BYTES).hex()
        original = Original(_digest(principal), self._clock(), reply)
        self._kept[original_id] = original
        self._size += len(reply)
        self._drop()
        if self._folder is not None:
            self._write(self._folder, original_id, original)
        return original_id

    def get(self, original_id: str, principal: bytes | None) -> bytes | None:
        """Return a reply of this caller; None if it is not kept any more."""
        original = self._kept.get(original_id) or self._read(original_id)
        if original is None or original.caller != _digest(principal):
            return None
        return original.reply if self._is_fresh(original) else None

    def _is_fresh(self, original: Original) -> bool:
        return self._clock() - original.created <= self._seconds

    def _drop(self) -> None:
        """Drop the oldest beyond the limits; they are in the order of their time."""
        while self._kept:
            oldest = next(iter(self._kept))
            original = self._kept[oldest]
            if self._size <= self._max_bytes and self._is_fresh(original):
                return
            del self._kept[oldest]
            self._size -= len(original.reply)

    # Files, for other workers

    def _write(self, folder: Path, original_id: str, original: Original) -> None:
        """Write a reply to a file, whole or not at all; without it, only this process has it."""
        with suppress(OSError):
            folder.mkdir(mode=0o700, exist_ok=True)
            if not _is_own(folder):
                return
            self._drop_files(folder)
            part = folder / f".{original_id}"
            descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(msgspec.msgpack.encode(original))
            part.rename(folder / original_id)

    def _drop_files(self, folder: Path) -> None:
        found = sorted(
            (each.stat().st_mtime, each.stat().st_size, each) for each in folder.iterdir()
        )
        size = sum(each for _, each, _ in found)
        for modified, bytes_, file in found:
            if size <= self._max_bytes and self._clock() - modified <= self._seconds:
                return
            file.unlink(missing_ok=True)
            size -= bytes_

    def _read(self, original_id: str) -> Original | None:
        if self._folder is None or not original_id.isalnum():
            return None
        with suppress(OSError, msgspec.MsgspecError):
            if _is_own(self._folder):
                encoded = (self._folder / original_id).read_bytes()
                return msgspec.msgpack.decode(encoded, type=Original)
        return None


def shared_folder(key: bytes) -> Path:
    """Return the folder for the originals of all workers that have the same key."""
    return Path(tempfile.gettempdir()) / f"accord-{os.getuid()}-{_digest(key)}"


def _digest(data: bytes | None) -> str:
    from hashlib import blake2b  # a server starts without it, and faster

    return "" if data is None else blake2b(data, digest_size=16).hexdigest()


def _is_own(folder: Path) -> bool:
    """True if a folder is ours alone: another user may have made one of that name."""
    found = folder.lstat()
    is_private = stat.S_ISDIR(found.st_mode) and not found.st_mode & 0o077
    return is_private and found.st_uid == os.getuid()
