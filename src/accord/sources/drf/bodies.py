"""The body of a request: JSON where a view reads that, else a form; files go into a form."""

import secrets
from base64 import b64decode
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import quote, urlencode

import msgspec

from accord.model.answer import FieldError, Problem
from accord.model.arguments import JsonSchema
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


class Writer:
    """Writes the bodies of one route, whose schema says where a file is meant."""

    def __init__(self, route: Route, schema: JsonSchema) -> None:
        parsers = route.initkwargs.get("parser_classes", route.view.parser_classes)
        self._kinds = [parser.media_type for parser in parsers]
        self._json = next((k for k in self._kinds if "json" in k or k == "*/*"), None)
        self._schema = schema if "properties" in schema or schema.get("type") == "array" else None
        self._may_have_files = self._schema is None or _mentions_file(schema)

    def write(self, given: Any) -> Body:
        """What a caller gave as `body`, in a form that the view reads."""
        try:
            return self._written(given)
        except RecursionError:
            raise _wrong("body", "has too many levels") from None

    def _written(self, given: Any) -> Body:
        json = self._json
        if isinstance(given, dict) and _MULTIPART in self._kinds:
            files: list[_File] = []
            read = _members(given, self._schema, "body", files) if self._may_have_files else given
            if files or json is None:
                return _multipart(read)
        if isinstance(given, dict) and json is None and _FORM in self._kinds:
            pairs = [(name, _text(value)) for name, value in _flat(given)]
            return Body(urlencode(pairs).encode(), _FORM)
        content_type = "application/json" if json in (None, "*/*") else str(json)
        return Body(_encode(given), content_type)


# Files: where the schema has one, or by their looks where there is no schema


def _is_file_schema(schema: JsonSchema) -> bool:
    content = schema.get("properties", {}).get("content", {})
    return isinstance(content, dict) and "contentEncoding" in content


def _mentions_file(schema: Any) -> bool:
    if isinstance(schema, list):
        return any(map(_mentions_file, schema))
    if not isinstance(schema, dict):
        return False
    return _is_file_schema(schema) or any(map(_mentions_file, schema.values()))


def _below(schema: JsonSchema | None, name: str | None) -> JsonSchema | None:
    """The schema of a member, or of the items of a list; None where there is none to go by."""
    if schema is None:
        return None
    found = schema.get("items") if name is None else schema.get("properties", {}).get(name)
    return found if isinstance(found, dict) else {}


def _members(
    given: dict[str, Any], schema: JsonSchema | None, path: str, files: list[_File]
) -> dict[str, Any]:
    return {
        name: _read(value, _below(schema, name), f"{path}.{name}", files)
        for name, value in given.items()
    }


def _read(value: Any, schema: JsonSchema | None, path: str, files: list[_File]) -> Any:
    """A value whose files are files; `files` gets each of them."""
    if _is_file(value) and (schema is None or _is_file_schema(schema)):
        files.append(_file(path, value))
        return files[-1]
    if isinstance(value, dict):
        return _members(value, schema, path, files)
    if isinstance(value, list):
        return [_read(each, _below(schema, None), path, files) for each in value]
    return value


def _is_file(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and {"name", "content"} <= value.keys() <= _FILE_MEMBERS
        and all(isinstance(each, str) for each in value.values())
    )


def _file(path: str, value: dict[str, str]) -> _File:
    try:
        content = b64decode(value["content"], validate=True)
    except ValueError as error:
        raise _wrong(f"{path}.content", "must be Base64") from error
    return _File(value["name"], content, value.get("content_type", "application/octet-stream"))


def _wrong(path: str, words: str) -> Problem:
    return Problem.validation(f"{path} {words}", fields=[FieldError(path, words)])


# Forms


def _flat(given: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The fields of a form, named as the REST framework reads nested ones in a form."""
    for name, value in given.items():
        yield from _flattened(name, value)


def _flattened(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flattened(f"{name}.{key}", inner)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            if isinstance(inner, dict):
                for key, deeper in inner.items():
                    yield from _flattened(f"{name}[{index}]{key}", deeper)
            else:
                yield from _flattened(name, inner)
    else:
        yield name, value


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
