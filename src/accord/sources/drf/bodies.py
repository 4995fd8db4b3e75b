"""The body of a request: JSON where a view reads that, else a form; files go into a form."""

import secrets
from base64 import b64decode
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import quote, urlencode

import msgspec

from accord.answer import FieldError, Problem
from accord.sources.drf.routes import Route

_FORM: Final = "application/x-www-form-urlencoded"
_MULTIPART: Final = "multipart/form-data"
_FILE_MEMBERS: Final = frozenset({"name", "content", "content_type"})
_encode = msgspec.json.Encoder().encode


class Body(msgspec.Struct, frozen=True):
    """Bytes, and what they are."""

    content: bytes = b""
    content_type: str = "application/json"


class _File(msgspec.Struct, frozen=True):
    name: str
    content: bytes
    content_type: str


def body_for(route: Route, given: Any) -> Body:
    """What a caller gave as `body`, in a form that the view reads."""
    kinds = [parser.media_type for parser in _parsers(route)]
    json = next((kind for kind in kinds if "json" in kind or kind == "*/*"), None)
    is_form = isinstance(given, dict) and (json is None or _has_file(given))
    if is_form and _MULTIPART in kinds:
        return _multipart(given)
    if is_form and json is None and _FORM in kinds:
        pairs = [(name, _text(value)) for name, value in _flat(given)]
        return Body(urlencode(pairs).encode(), _FORM)
    content_type = "application/json" if json in (None, "*/*") else str(json)
    return Body(_encode(given), content_type)


def _parsers(route: Route) -> list[Any]:
    parsers = route.initkwargs.get("parser_classes", route.view.parser_classes)
    return list(parsers)


def _has_file(value: Any) -> bool:
    if _is_file(value):
        return True
    if isinstance(value, dict | list):
        return any(map(_has_file, value.values() if isinstance(value, dict) else value))
    return False


def _is_file(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and {"name", "content"} <= value.keys() <= _FILE_MEMBERS
        and isinstance(value["content"], str)
        and isinstance(value["name"], str)
    )


def _flat(given: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The fields of a form, named as the REST framework reads nested ones in a form."""
    for name, value in given.items():
        yield from _flattened(name, value)


def _flattened(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if _is_file(value):
        yield name, _file(name, value)
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _flattened(f"{name}.{key}", inner)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            if isinstance(inner, dict) and not _is_file(inner):
                for key, deeper in inner.items():
                    yield from _flattened(f"{name}[{index}]{key}", deeper)
            else:
                yield from _flattened(name, inner)
    else:
        yield name, value


def _file(name: str, value: dict[str, str]) -> _File:
    try:
        content = b64decode(value["content"], validate=True)
    except ValueError as error:
        fault = FieldError(f"body.{name}.content", "must be Base64")
        raise Problem.validation(f"{fault.field} {fault.error}", fields=[fault]) from error
    return _File(value["name"], content, value.get("content_type", "application/octet-stream"))


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else _encode(value).decode()


def _multipart(given: dict[str, Any]) -> Body:
    boundary = f"accord-{secrets.token_hex(16)}"
    parts: list[bytes] = []
    for name, value in _flat(given):
        parts.append(f"--{boundary}\r\n".encode())
        parts.append(_part(name, value))
    content = b"".join([*parts, f"--{boundary}--\r\n".encode()])
    return Body(content, f"{_MULTIPART}; boundary={boundary}")


def _part(name: str, value: Any) -> bytes:
    head = f'Content-Disposition: form-data; name="{_quoted(name)}"'
    if not isinstance(value, _File):
        return f"{head}\r\n\r\n{_text(value)}\r\n".encode()
    kind = quote(value.content_type, safe="/+.-;= ")
    head = f'{head}; filename="{_quoted(value.name)}"\r\nContent-Type: {kind}'
    return f"{head}\r\n\r\n".encode() + value.content + b"\r\n"


def _quoted(text: str) -> str:
    """Text in a header of a part, as browsers write it."""
    return text.replace("\r", "%0D").replace("\n", "%0A").replace('"', "%22")
