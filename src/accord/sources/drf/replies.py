"""What a view responds with, as an Answer or a Problem."""

from collections.abc import Iterator
from http import HTTPStatus
from math import ceil
from typing import Any, Final

import msgspec
from django.http import HttpResponse
from rest_framework.settings import api_settings

from accord.model.answer import Answer, Encoded, FieldError, Kind, Problem
from accord.model.arguments import path_of
from accord.model.content import Audio, Block, Embedded, Image
from accord.sources.drf.pages import page_of
from accord.sources.drf.requests import Ask

_KINDS: Final[dict[int, Kind]] = {
    401: "authentication",
    403: "authorization",
    404: "not_found",
    408: "timeout",
    409: "conflict",
    410: "not_found",
    412: "conflict",
    423: "conflict",
    429: "rate_limit",
    502: "unavailable",
    503: "unavailable",
    504: "timeout",
}
"""The kind of problem that a status means; else validation, and from 500 on internal."""
_CODES: Final = {405: "METHOD_NOT_ALLOWED", 406: "NOT_ACCEPTABLE", 415: "UNSUPPORTED_MEDIA_TYPE"}
_JSON: Final = "application/json"
_WRONG: Final = int(HTTPStatus.BAD_REQUEST)
_EMPTY: Final = frozenset({int(HTTPStatus.NO_CONTENT), int(HTTPStatus.RESET_CONTENT)})
_MASKED: Final = "Internal error"
_MOST_FIELDS: Final = 1_000
_MOST_BYTES: Final = 64 * 1024 * 1024


def answer_from(response: HttpResponse, ask: Ask) -> Answer[Any]:
    """What a response says; a Problem is raised where it says that something is wrong."""
    status = response.status_code
    content = _streamed(response) if response.streaming else response.content
    if status >= _WRONG:
        raise _problem(response, content, ask)
    if not content or status in _EMPTY:
        return _nothing(response)
    if _is_json(response):
        return Answer(Encoded(content), page=page_of(response))
    return _other(response, content, ask)


def _streamed(response: HttpResponse) -> bytes:
    """All that a response streams, as long as that has an end."""
    parts, size = [], 0
    for part in response:
        parts.append(part)
        size += len(part)
        if size > _MOST_BYTES:
            raise Problem(f"The view sends more than {_MOST_BYTES:,} bytes", kind="unavailable")
    return b"".join(parts)


def _nothing(response: HttpResponse) -> Answer[Any]:
    """No content; a redirection at least says where to."""
    location = response.headers.get("Location")
    is_elsewhere = response.status_code >= HTTPStatus.MULTIPLE_CHOICES and location
    return Answer({"location": location} if is_elsewhere else None)


def _media_type(response: HttpResponse) -> str:
    return str(response.headers.get("Content-Type", "")).partition(";")[0].strip().lower()


def _is_json(response: HttpResponse) -> bool:
    if response.headers.get("Content-Type") == _JSON:  # without looking any closer
        return True
    kind = _media_type(response)
    return kind == _JSON or kind.endswith("+json")


def _other(response: HttpResponse, content: bytes, ask: Ask) -> Answer[Any]:
    """What is no JSON: text as a string, anything else as what it is."""
    kind = _media_type(response)
    try:
        text = content.decode(response.charset or "utf-8") if kind.startswith("text/") else None
    except (UnicodeDecodeError, LookupError):
        text = None
    if text is not None:
        return Answer(text)
    return Answer(None, blocks=[_block(kind, content, ask)])


def _block(kind: str, content: bytes, ask: Ask) -> Block:
    if kind.startswith("image/"):
        return Image(content, kind)
    if kind.startswith("audio/"):
        return Audio(content, kind)
    return Embedded(f"drf:{ask.path}", content, kind or "application/octet-stream")


def _problem(response: HttpResponse, content: bytes, ask: Ask) -> Problem:
    status = response.status_code
    is_ours = status >= HTTPStatus.INTERNAL_SERVER_ERROR
    data = _data(response, content)
    if is_ours and not hasattr(response, "data"):  # Django's own page for a bug
        return Problem.internal(_MASKED)
    kind = _KINDS.get(status, "internal" if is_ours else "validation")
    return Problem(
        f"ViewSet returned error: {data}",
        kind=kind,
        code=_CODES.get(status),
        fields=_fields(data, ask) if status == HTTPStatus.BAD_REQUEST else (),
        retry_after=_seconds(response.headers.get("Retry-After")),
    )


def _data(response: HttpResponse, content: bytes) -> Any:
    """What an error says, in plain values, as it went over the wire."""
    if _is_json(response):
        try:
            return msgspec.json.decode(content)
        except (msgspec.DecodeError, UnicodeDecodeError):
            pass
    phrase = response.reason_phrase or "Error"
    return {"detail": f"{phrase.capitalize()}."}


def _seconds(header: str | None) -> float | None:
    if header is None or not header.strip().isdigit():
        return None
    return float(ceil(int(header)))


# Field errors


def _fields(data: Any, ask: Ask) -> list[FieldError]:
    """Each field that is wrong, by its path in the arguments."""
    side = "body" if ask.body is not None else "query"
    found: list[FieldError] = []
    for error in _errors(data, [side]):
        found.append(error)
        if len(found) >= _MOST_FIELDS:
            break
    return found


def _errors(data: Any, steps: list[str | int]) -> Iterator[FieldError]:
    if isinstance(data, dict):
        for name, inner in data.items():
            if name == "detail" and isinstance(inner, str) and len(steps) == 1:
                continue  # about the request, and no field of it
            general = name == api_settings.NON_FIELD_ERRORS_KEY
            yield from _errors(inner, steps if general else [*steps, str(name)])
    elif isinstance(data, list):
        for index, inner in enumerate(data):
            is_nested = isinstance(inner, dict | list)
            yield from _errors(inner, [*steps, index] if is_nested else steps)
    elif isinstance(data, str):
        yield FieldError(path_of(steps), data)
