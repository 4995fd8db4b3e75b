"""`accord read`: prints one reply, or many, as the generic response, a table, or the answer."""

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Final

import msgspec

from accord.cli.reading_table import available_columns
from accord.cli.terminal import StatusLine, for_stdout, visible
from accord.cli.transcript_encoding import Task, encode_reply, to_text
from accord.cli.transcript_input import Input
from accord.cli.transcript_output import Target, open_output
from accord.cli.transcripts import write_readings
from accord.errors import ContractError
from accord.reader import Reading
from accord.reader.report import to_json

EXAMPLES: Final = """\
examples:
  accord read reply.json --tool discord_list_channels
  accord read reply.json --tool discord_list_channels --table
  some-command | accord read -
  accord read replies.jsonl --lines > responses.jsonl
  accord read replies.jsonl --lines --jobs 8 --to parquet -o readings.parquet
  accord read replies.jsonl --to csv | head
"""
_STDIN: Final = "-"
_MAX_JOBS: Final = 1_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the verb."""
    parser.add_argument(
        "file",
        metavar="FILE",
        help="a reply, or JSON Lines of many; - reads standard input",
    )
    parser.add_argument("--tool", metavar="NAME", help="the tool that was called")
    parser.add_argument(
        "--arguments", metavar="JSON", help="the arguments it was called with, a JSON object"
    )
    parser.add_argument("--table", action="store_true", help="print a table for a person")
    parser.add_argument(
        "--full",
        action="store_true",
        help="print the origin, confidence, findings and rules, too",
    )
    parser.add_argument(
        "--lines",
        action="store_true",
        help="read each line as a reply, even if the first two are not JSON documents",
    )
    parser.add_argument(
        "--check", action="store_true", help="exit with code 1 if a reply is an error"
    )
    _add_transcript_arguments(parser.add_argument_group("for many replies"))


def _add_transcript_arguments(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--jobs",
        type=jobs,
        default=1,
        metavar="N",
        help="read lines in N processes at once, in order; 0 is one per core (default %(default)s)",
    )
    group.add_argument(
        "--to",
        choices=["json", "csv", "arrow", "parquet"],
        metavar="FORMAT",
        help="json (the default), or a table with fixed columns: csv, arrow or parquet; the last"
        " two need the extra accord-mcp[arrow]",
    )
    group.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="write to a file, which is replaced when everything was read",
    )


def jobs(text: str) -> int:
    """Parse a number of processes; 0 is one for each core that this process may use."""
    number = int(text)
    if not 0 <= number <= _MAX_JOBS:
        raise ValueError(text)
    if number:
        return number
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def run(options: argparse.Namespace) -> int:
    """Print the reading of each reply; any input is a reply."""
    target = _target(options)
    task = Task(
        "arrow" if target == "parquet" else target,
        options.tool,
        _object(options.arguments),
        options.full,
        available_columns() if target == "table" else None,
    )
    try:
        with _open(options.file) as file:
            failed = _run(Input(file), task, target, options)
    except MemoryError as error:
        raise ContractError("the reply is too large for the available memory") from error
    return 1 if options.check and failed else 0


def _target(options: argparse.Namespace) -> Target:
    if options.to is not None and options.table:
        raise ContractError("--table and --to exclude each other")
    if options.full and options.to not in (None, "json"):
        raise ContractError(f"--full is for JSON and tables; --to {options.to} has all columns")
    target: Target = "table" if options.table else options.to or "json"
    return target


def _run(source: Input, task: Task, target: Target, options: argparse.Namespace) -> bool:
    """Write the readings; return True if one is an error."""
    with open_output(target, options.output) as output:
        if options.lines or source.has_documents():
            is_to_file = options.output is not None
            return write_readings(source, task, output, options.jobs, is_to_file=is_to_file)
        reply = source.read_all()
        with StatusLine(f"reading {visible(options.file)}"):
            part = encode_reply(task, reply)
        output.write(part.body)
        return part.has_failed


def _open(name: str) -> Any:
    if name == _STDIN:
        if sys.stdin is None:
            raise ContractError("standard input is closed; name a file")
        return nullcontext(open(sys.stdin.fileno(), "rb", buffering=0, closefd=False))
    try:
        return Path(name).open("rb", buffering=0)
    except OSError as error:
        raise ContractError(f"could not read {name}: {error.strerror}") from error


def _object(text: str | None) -> dict[str, Any] | None:
    if text is None:
        return None
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise ContractError(f"--arguments must be a JSON object: {error}") from error


def print_reading(reading: Reading) -> None:
    """Print one reading as indented JSON."""
    print(end=to_text(reading))


def print_answer(reading: Reading) -> None:
    """Print the data to standard output, messages and warnings to standard error."""
    attachments = (reading.response.metadata or {}).get("attachments", ())
    if not reading.is_failure and not (reading.value is None and attachments):
        print(_data(reading.value), flush=True)
    for line in _failure(reading) if reading.is_failure else _message(reading):
        print(line, file=sys.stderr)
    for line in _notes(reading, attachments):
        print(line, file=sys.stderr)


def _data(value: Any) -> str:
    if isinstance(value, str):
        return for_stdout(value)
    return visible(to_json(value, indent=2).decode(), keeps_lines=True)


def _failure(reading: Reading) -> Iterator[str]:
    """Yield the error message, the wrong fields, the remediation and the time to wait."""
    error, summary = reading.response.error, reading.response.message or ""
    message = error.message if error else summary
    yield f"error: {visible(message, keeps_lines=True)}"
    if summary and summary != message:
        yield f"message: {visible(summary)}"
    details = error.details if error and isinstance(error.details, dict) else {}
    hint = details.get("remediation")
    printed = f"{message}\n{hint}"
    for field, fault in _fields(details):
        if fault not in printed:
            yield f"field: {visible(f'{field} {fault}')}"
    if isinstance(hint, str) and hint:
        yield f"hint: {visible(hint, keeps_lines=True)}"
    seconds = details.get("retryAfter", details.get("retry_after"))
    if isinstance(seconds, int | float) and f"{seconds:.3g} s" not in printed:
        yield f"retry: in {seconds:.3g} s"


def _fields(details: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield field errors, as named in the generic response or in response-v2."""
    errors = details.get("validationErrors") or details.get("fields")
    for each in errors if isinstance(errors, list) else ():
        match each:
            case {"field": str(field), "error": str(fault)}:
                yield field, fault


def _message(reading: Reading) -> Iterator[str]:
    message, value = reading.response.message, reading.value
    if message and not (isinstance(value, str) and message in value):
        yield f"message: {visible(message)}"


def _notes(reading: Reading, attachments: Any) -> Iterator[str]:
    for notice in reading.warnings:
        yield f"{notice.severity}: {visible(notice.message, keeps_lines=True)}"
    if reading.page:
        yield f"page: {visible(to_json(reading.page).decode())}"
    if reading.is_partial:
        yield "partial: only a part could be done"
    if reading.is_truncated:
        yield "truncated: there is more than is shown"
    for attachment in attachments:
        yield f"attachment: {visible(to_json(attachment).decode())}"
