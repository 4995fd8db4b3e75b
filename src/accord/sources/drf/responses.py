"""Convert a view's HTTP response to an Answer or a Problem."""

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
from accord.sources.drf.paging import page_of
from accord.sources.drf.requests import ViewCall

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
"""Problem kinds by status; other 4xx are validation, other 5xx internal."""
_CODES: Final = {405: "METHOD_NOT_ALLOWED", 406: "NOT_ACCEPTABLE", 415: "UNSUPPORTED_MEDIA_TYPE"}
_JSON: Final = "application/json"
_FIRST_ERROR: Final = int(HTTPStatus.BAD_REQUEST)
_EMPTY: Final = frozenset({int(HTTPStatus.NO_CONTENT), int(HTTPStatus.RESET_CONTENT)})
_REFUSED: Final = frozenset({int(HTTPStatus.UNAUTHORIZED), int(HTTPStatus.FORBIDDEN)})
_MASKED: Final = "Internal error"
_MAX_FIELDS: Final = 1_000
_MAX_BYTES: Final = 64 * 1024 * 1024


class Refusal(msgspec.Struct, frozen=True):
    """The HTTP status of a request that needs another caller, and how to authenticate."""

    status: int
    challenge: str | None = None
    """The value of WWW-Authenticate."""


def refusal_of(response: HttpResponse) -> Refusal | None:
    """Return the refusal of a response with the status 401 or 403."""
    if response.status_code not in _REFUSED:
        return None
    return Refusal(response.status_code, response.headers.get("WWW-Authenticate"))


def answer_from(response: HttpResponse, call: ViewCall) -> Answer[Any]:
    """Return the response as an Answer; raise a Problem if its status is an error."""
    status = response.status_code
    content = _streamed(response) if response.streaming else response.content
    if status >= _FIRST_ERROR:
        raise _problem(response, content, call)
    if not content or status in _EMPTY:
        return _empty_answer(response)
    if _is_json(response):
        data = getattr(response, "data", None)
        states_page = isinstance(data, dict) and "next" in data  # a paginator may send less
        return Answer(Encoded(content), page=page_of(response), page_in_data=states_page)
    return _non_json(response, content, call)


def _streamed(response: HttpResponse) -> bytes:
    """Return the streamed content; raise a Problem if it exceeds the limit."""
    parts, size = [], 0
    for part in response:
        parts.append(part)
        size += len(part)
        if size > _MAX_BYTES:
            raise Problem(
                f"The view's response is larger than {_MAX_BYTES:,} bytes", kind="unavailable"
            )
    return b"".join(parts)


def _empty_answer(response: HttpResponse) -> Answer[Any]:
    """Return an empty answer, or the Location of a redirect."""
    location = response.headers.get("Location")
    is_redirect = response.status_code >= HTTPStatus.MULTIPLE_CHOICES and location
    return Answer({"location": location} if is_redirect else None)


def _media_type(response: HttpResponse) -> str:
    return str(response.headers.get("Content-Type", "")).partition(";")[0].strip().lower()


def _is_json(response: HttpResponse) -> bool:
    if response.headers.get("Content-Type") == _JSON:  # fast path
        return True
    kind = _media_type(response)
    return kind == _JSON or kind.endswith("+json")


def _non_json(response: HttpResponse, content: bytes, call: ViewCall) -> Answer[Any]:
    """Return a response that is not JSON: text as a string, other types as a content block."""
    kind = _media_type(response)
    try:
        text = content.decode(response.charset or "utf-8") if kind.startswith("text/") else None
    except (UnicodeDecodeError, LookupError):
        text = None
    if text is not None:
        return Answer(text)
    return Answer(None, blocks=[_block(kind, content, call)])


def _block(kind: str, content: bytes, call: ViewCall) -> Block:
    if kind.startswith("image/"):
        return Image(content, kind)
    if kind.startswith("audio/"):
        return Audio(content, kind)
    return Embedded(f"drf:{call.path}", content, kind or "application/octet-stream")


def _problem(response: HttpResponse, content: bytes, call: ViewCall) -> Problem:
    status = response.status_code
    is_server_error = status >= HTTPStatus.INTERNAL_SERVER_ERROR
    data = _error_data(response, content)
    if is_server_error and not hasattr(response, "data"):  # Django's HTML error page
        return Problem.internal(_MASKED)
    kind = _KINDS.get(status, "internal" if is_server_error else "validation")
    return Problem(
        f"ViewSet returned error: {data}",
        kind=kind,
        code=_CODES.get(status),
        fields=_fields(data, call) if status == HTTPStatus.BAD_REQUEST else (),
        retry_after=_seconds(response.headers.get("Retry-After")),
    )


def _error_data(response: HttpResponse, content: bytes) -> Any:
    """Return the body of an error as JSON data, else the status phrase."""
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


def _fields(data: Any, call: ViewCall) -> list[FieldError]:
    """Return the serializer's errors, each with its path in the arguments."""
    side = "body" if call.body is not None else "query"
    found: list[FieldError] = []
    for error in _errors(data, [side]):
        found.append(error)
        if len(found) >= _MAX_FIELDS:
            break
    return found


def _errors(data: Any, steps: list[str | int]) -> Iterator[FieldError]:
    if isinstance(data, dict):
        for name, inner in data.items():
            if name == "detail" and isinstance(inner, str) and len(steps) == 1:
                continue  # an error of the request, not of a field
            general = name == api_settings.NON_FIELD_ERRORS_KEY
            yield from _errors(inner, steps if general else [*steps, str(name)])
    elif isinstance(data, list):
        for index, inner in enumerate(data):
            is_nested = isinstance(inner, dict | list)
            yield from _errors(inner, [*steps, index] if is_nested else steps)
    elif isinstance(data, str):
        yield FieldError(path_of(steps), data)
