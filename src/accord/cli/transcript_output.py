"""Where `accord read` writes: standard output or a file; as text, CSV, Arrow or Parquet."""

import contextlib
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Final, Literal, Protocol

from accord.cli.terminal import visible
from accord.cli.transcript_encoding import csv_header, require_arrow
from accord.errors import ContractError

Target = Literal["json", "table", "csv", "arrow", "parquet"]
BINARY: Final = ("arrow", "parquet")
_UTF_8: Final = ("utf-8", "utf8")


class Output(Protocol):
    """What encoded readings are written to."""

    def write(self, body: bytes) -> None:
        """Write a part."""

    def finish(self) -> None:
        """Write what comes after the last part."""

    def abandon(self) -> None:
        """Write nothing more."""


@contextlib.contextmanager
def open_output(to: Target, name: str | None) -> Iterator[Output]:
    """Open standard output or a file for readings; a file is complete, or stays as it was."""
    if to in BINARY:
        require_arrow()
    if name is None:
        output = _binary(to, _stdout(to), is_file=False) if to in BINARY else _Printed()
        yield from _written(to, output)
        return
    with _replaced(Path(name)) as (file, is_file):
        output = _binary(to, file, is_file=is_file) if to in BINARY else _Text(file)
        yield from _written(to, output)


def _written(to: Target, output: Output) -> Iterator[Output]:
    if to == "csv":
        output.write(csv_header())
    try:
        yield output
        output.finish()
    except BaseException:
        output.abandon()
        raise


@contextlib.contextmanager
def _replaced(path: Path) -> Iterator[tuple[IO[bytes], bool]]:
    """Open `NAME.part`, which replaces the file at the end; a pipe or device is opened itself."""
    is_file = path.is_file() or not path.exists()
    beside = path.with_name(f"{path.name}.part") if is_file else path
    try:
        with _opened(beside, path) as file, _terminated_as_exit():
            yield file, is_file
        if is_file:
            beside.replace(path)
    except BaseException:
        if is_file:
            beside.unlink(missing_ok=True)
        raise


def _binary(to: Target, file: IO[bytes], *, is_file: bool) -> Output:
    from accord.integrations.arrow import ArrowWriter, ParquetWriter

    return ParquetWriter(file) if to == "parquet" else ArrowWriter(file, is_stream=not is_file)


def _opened(path: Path, name: Path) -> IO[bytes]:
    try:
        return path.open("wb")
    except OSError as error:
        raise ContractError(f"could not write {name}: {error.strerror}") from error


@contextlib.contextmanager
def _terminated_as_exit() -> Iterator[None]:
    """Let SIGTERM raise SystemExit, so that an incomplete file is removed."""
    before = signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _stdout(to: Target) -> IO[bytes]:
    if sys.stdout is None:
        raise ContractError("standard output is closed; name a file with --output")
    if sys.stdout.isatty():
        raise ContractError(f"{to} is binary; name a file with --output, or write to a pipe")
    return sys.stdout.buffer


class _Text:
    """Text in UTF-8, which is written as it comes."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def write(self, body: bytes) -> None:
        self._file.write(body)
        self._file.flush()

    def finish(self) -> None:
        """Nothing comes after the last part."""

    def abandon(self) -> None:
        """Nothing is kept back."""


class _Printed:
    """Text on standard output, in its encoding; escaped on a terminal."""

    def write(self, body: bytes) -> None:
        stream = sys.stdout
        if stream is None:
            return
        if stream.isatty():
            stream.write(visible(body.decode().replace("\r\n", "\n"), keeps_lines=True))
        elif stream.encoding.lower() not in _UTF_8:
            stream.write(body.decode())
        else:
            stream.buffer.write(body)
        stream.flush()

    def finish(self) -> None:
        """Nothing comes after the last part."""

    def abandon(self) -> None:
        """Nothing is kept back."""
