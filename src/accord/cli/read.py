"""`accord read`: prints one reply, or many, as the generic response, a table, or the answer."""

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Final

import msgspec

from accord.cli.reading_table import available_columns, table
from accord.cli.terminal import StatusLine, for_stdout, visible
from accord.cli.transcript_encoding import Task, encode_reply, to_text
from accord.cli.transcript_input import Input
from accord.cli.transcript_output import Target, open_output
from accord.cli.transcripts import write_readings
from accord.cli.values import processes
from accord.errors import ContractError
from accord.reader import Reading
from accord.reader.reading import to_json

EXAMPLES: Final = """\
  accord read reply.json --tool discord_list_channels
  accord read reply.json --tool discord_list_channels --table
  some-command | accord read -
  accord read replies.jsonl --lines > responses.jsonl
  accord read replies.jsonl --lines --jobs 8 --to parquet -o readings.parquet
  accord read replies.jsonl --to csv | head
"""
_STDIN: Final = "-"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the verb."""
    parser.add_argument(
        "file",
        metavar="FILE",
        help="file with a reply, or with a reply in each line (JSON Lines); - reads standard input",
    )
    parser.add_argument("--tool", metavar="NAME", help="name of the tool that was called")
    parser.add_argument("--arguments", metavar="JSON", help="arguments of the call, a JSON object")
    parser.add_argument("--table", action="store_true", help="print a table")
    parser.add_argument(
        "--full",
        action="store_true",
        help="also print origin, confidence, findings and rules",
    )
    parser.add_argument(
        "--lines",
        action="store_true",
        help="read each line as a reply, even if the first two are not JSON documents",
    )
    parser.add_argument(
        "--check", action="store_true", help="exit with code 1 if a reply is an error"
    )
    _add_transcript_arguments(parser.add_argument_group("Many replies"))


def _add_transcript_arguments(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--jobs",
        type=processes,
        default=1,
        metavar="N",
        help="number of processes that read lines, in order; 0 is one for each core (default"
        " %(default)s)",
    )
    group.add_argument(
        "--to",
        choices=["json", "csv", "arrow", "parquet"],
        metavar="FORMAT",
        help="output format: json (default), or a table with fixed columns: csv, arrow or parquet;"
        " the last two require the extra arrow",
    )
    group.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="write to this file, which is replaced once everything has been read",
    )


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


def print_table(reading: Reading, saved: Sequence[str] = ()) -> None:
    """Print a table to standard output, and the names of saved files to standard error."""
    for line in table(reading):
        print(line, flush=True)
    for line in saved:
        print(visible(line), file=sys.stderr)


def print_answer(reading: Reading, saved: Sequence[str] = ()) -> None:
    """Print the data to standard output, messages and warnings to standard error.

    `saved` names the files in which binary content is; other attachments are described.
    """
    attachments = (reading.response.metadata or {}).get("attachments", ())
    if not reading.is_failure and not (reading.value is None and attachments):
        print(_data(reading.value), flush=True)
    for line in _failure(reading) if reading.is_failure else _message(reading):
        print(line, file=sys.stderr)
    for line in _notes(reading, attachments if not saved else _described(attachments)):
        print(line, file=sys.stderr)
    for line in saved:
        print(visible(line), file=sys.stderr)


def _described(attachments: Any) -> Iterator[Any]:
    """Yield the attachments that are not binary content."""
    for each in attachments:
        inner = each.get("resource") if isinstance(each, dict) else None
        if "bytes" not in each and "bytes" not in (inner if isinstance(inner, dict) else ()):
            yield each


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
