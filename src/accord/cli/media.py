"""Saves images, audio and other binary content of replies to files."""

import re
from base64 import b64decode
from collections.abc import Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any, Final, NamedTuple

from accord.errors import ContractError

_SUFFIXES: Final[Mapping[str, str]] = {
    "application/gzip": ".gz",
    "application/json": ".json",
    "application/pdf": ".pdf",
    "application/zip": ".zip",
    "audio/aac": ".aac",
    "audio/flac": ".flac",
    "audio/mp4": ".m4a",
    "audio/mpeg": ".mp3",
    "audio/ogg": ".ogg",
    "audio/wav": ".wav",
    "audio/webm": ".webm",
    "audio/x-wav": ".wav",
    "image/avif": ".avif",
    "image/bmp": ".bmp",
    "image/gif": ".gif",
    "image/jpeg": ".jpg",
    "image/png": ".png",
    "image/svg+xml": ".svg",
    "image/tiff": ".tiff",
    "image/webp": ".webp",
    "text/csv": ".csv",
    "text/html": ".html",
    "text/markdown": ".md",
    "text/plain": ".txt",
    "video/mp4": ".mp4",
    "video/webm": ".webm",
}
_UNKNOWN: Final = ".bin"
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9_-]+")
_MAX_STEM: Final = 60
_MAX_FILES: Final = 10_000


class Media(NamedTuple):
    """Binary content, its media type, and a name for its file."""

    data: bytes
    mime_type: str
    name: str


def media_in(result: Any, name: str) -> Iterator[Media]:
    """Yield the binary content of a tool result; what is not valid Base64 is left out."""
    content = result.get("content") if isinstance(result, dict) else None
    for block in content if isinstance(content, list) else ():
        if not isinstance(block, dict):
            continue
        inner = block.get("resource") if block.get("type") == "resource" else block
        holder = inner if isinstance(inner, dict) else {}
        text = holder.get("data", holder.get("blob"))
        try:
            data = b64decode(text, validate=True) if isinstance(text, str) else None
        except ValueError:
            continue
        if data is not None:
            yield Media(data, str(holder.get("mimeType") or ""), name)


def save(media: Media, folder: Path) -> Path:
    """Write content to a new file in a folder, and return its path.

    The name is made of letters, digits, `-` and `_`, with the suffix of the media type; a file
    that exists is not replaced.
    """
    stem = _UNSAFE.sub("-", media.name)[:_MAX_STEM].strip("-") or "content"
    kind = media.mime_type.partition(";")[0].strip().lower()
    suffix = _SUFFIXES.get(kind, _UNKNOWN)
    try:
        for number in count(1):
            path = folder / (f"{stem}{suffix}" if number == 1 else f"{stem}-{number}{suffix}")
            try:
                with path.open("xb") as file:
                    file.write(media.data)
            except FileExistsError:
                if number == _MAX_FILES:
                    raise
                continue
            return path
    except OSError as error:
        raise ContractError(
            f"could not save {stem}{suffix} in {folder}: {error.strerror}; use --save-to DIR"
        ) from error
    raise AssertionError


def saved_line(media: Media, path: Path) -> str:
    """Return a line that names a saved file."""
    kind = media.mime_type or "unknown type"
    return f"saved: {path} ({kind}, {len(media.data):,} bytes)"
