"""An answer for a person, whoever gave it: the data, and what is said about it."""

import sys
from collections.abc import Iterator
from typing import Any

from accord.cli.visible import shown, visible
from accord.reader import Reading
from accord.reader.report import to_json


def print_answer(reading: Reading) -> None:
    """The data goes to standard output, what is said about it to standard error."""
    attachments = (reading.response.metadata or {}).get("attachments", ())
    if not reading.is_failure and not (reading.value is None and attachments):
        print(_data(reading.value), flush=True)
    for line in _failure(reading) if reading.is_failure else _message(reading):
        print(line, file=sys.stderr)
    for line in _beside(reading, attachments):
        print(line, file=sys.stderr)


def _data(value: Any) -> str:
    if isinstance(value, str):
        return shown(value)
    return visible(to_json(value, indent=2).decode(), keeps_lines=True)


def _failure(reading: Reading) -> Iterator[str]:
    """What went wrong, and what could be done about it, as far as that was said."""
    error, summary = reading.response.error, reading.response.message or ""
    message = error.message if error else summary
    yield f"error: {visible(message, keeps_lines=True)}"
    if summary and summary != message:
        yield f"message: {visible(summary)}"
    details = error.details if error and isinstance(error.details, dict) else {}
    hint = details.get("remediation")
    told = f"{message}\n{hint}"
    for field, fault in _fields(details):
        if fault not in told:
            yield f"field: {visible(f'{field} {fault}')}"
    if isinstance(hint, str) and hint:
        yield f"hint: {visible(hint, keeps_lines=True)}"


def _fields(details: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The faults of single arguments, in the words of the generic response or of response-v2."""
    said = details.get("validationErrors") or details.get("fields")
    for each in said if isinstance(said, list) else ():
        match each:
            case {"field": str(field), "error": str(fault)}:
                yield field, fault


def _message(reading: Reading) -> Iterator[str]:
    message, value = reading.response.message, reading.value
    if message and not (isinstance(value, str) and message in value):
        yield f"message: {visible(message)}"


def _beside(reading: Reading, attachments: Any) -> Iterator[str]:
    for notice in reading.warnings:
        yield f"{notice.severity}: {visible(notice.message, keeps_lines=True)}"
    if reading.page:
        yield f"page: {visible(to_json(reading.page).decode())}"
    if reading.is_partial:
        yield "partial: only a part of it could be done"
    if reading.is_truncated:
        yield "truncated: there is more than is shown"
    for attachment in attachments:
        yield f"attachment: {visible(to_json(attachment).decode())}"
