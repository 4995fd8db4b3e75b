"""Failures as adapters pass them on: how sure a reading must be, and the reason as text."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from accord.errors import ContractError
from accord.reader.reading import LEVELS, Confidence, Reading, to_json

_EXECUTING: Final = "Error executing "
_FIELDS: Final = ("fields", "validation_errors", "validationErrors")
_WAITS: Final = ("retry_after", "retryAfter")
_WORDED: Final = frozenset(
    {*_FIELDS, *_WAITS, "remediation", "summary", "type", "code", "retryable"}
)


def levels_from(confidence: Confidence) -> frozenset[Confidence]:
    """Return the levels of confidence that are at least as sure as one; ContractError for none."""
    if confidence not in LEVELS:
        raise ContractError(f"confidence must be one of {', '.join(LEVELS)}, not {confidence!r}")
    return frozenset(LEVELS[: LEVELS.index(confidence) + 1])


def failure_text(reading: Reading) -> str:
    """Return why a call failed: message, remediation, invalid fields, and all other details.

    What the message says already is left out of the details.
    """
    error = reading.response.error
    if error is None:
        return reading.response.message or ""
    message, details = error.message, error.details
    if isinstance(reading.value, str) and message in reading.value:
        message = _whole(reading.value, message)
    if isinstance(details, str):
        return f"{message}\n{details}" if details.strip() else message
    return "\n".join(_lines(message, details))


def _whole(text: str, message: str) -> str:
    """Return all of a text with a message, without what a server puts before the message."""
    before, _, after = text.partition(message)
    return message + after if before.startswith(_EXECUTING) else text


def _lines(message: str, details: Mapping[str, Any]) -> Iterator[str]:
    advice = [*_advice(details)]
    yield " ".join([_sentence(message), *advice]) if advice else message
    for field in next(filter(None, (_list(details.get(name)) for name in _FIELDS)), []):
        is_named = isinstance(field, dict) and {"field", "error"} <= field.keys()
        yield f"{field['field']}: {field['error']}" if is_named else _json(field)
    rest = {
        name: value
        for name, value in details.items()
        if name not in _WORDED and value not in (None, False, message)
    }
    if rest:
        yield _json(rest)


def _advice(details: Mapping[str, Any]) -> Iterator[str]:
    remediation = details.get("remediation")
    if isinstance(remediation, str) and remediation.strip():
        yield _sentence(remediation.strip()[0].upper() + remediation.strip()[1:])
    for name in _WAITS:
        if isinstance(details.get(name), int | float):
            yield f"Retry after {details[name]:g} seconds."


def _sentence(words: str) -> str:
    words = words.rstrip()
    return words if words[-1:] in {*".!?…:;"} else f"{words}."


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _json(value: Any) -> str:
    return to_json(value).decode()
