"""Entries of a server's lists, and contents of prompts and resources, decoded leniently."""

import binascii
from base64 import b64decode
from collections.abc import AsyncIterator, Callable, Generator, Sequence
from typing import Any, Final, Generic, TypeVar

import msgspec

from accord.client.messages import shorten
from accord.client.peer import Peer
from accord.errors import PeerError
from accord.model.completion import Completion
from accord.model.content import Audio, Block, Embedded, Image, Link, Message

Object = dict[str, Any]
T = TypeVar("T")


class ToolInfo(msgspec.Struct, frozen=True):
    """A tool as the server lists it."""

    name: str
    title: str | None
    description: str | None
    input_schema: Object
    output_schema: Object | None
    annotations: Object
    raw: Object

    @classmethod
    def from_wire(cls, raw: Object) -> "ToolInfo":
        """Read an entry of `tools/list`."""
        return cls(
            *_names(raw),
            _object(raw.get("inputSchema")),
            _object(raw["outputSchema"]) if "outputSchema" in raw else None,
            _object(raw.get("annotations")),
            raw,
        )


class PromptInfo(msgspec.Struct, frozen=True):
    """A prompt as the server lists it; `arguments` as received."""

    name: str
    title: str | None
    description: str | None
    arguments: Sequence[Object]
    raw: Object

    @classmethod
    def from_wire(cls, raw: Object) -> "PromptInfo":
        """Read an entry of `prompts/list`."""
        return cls(*_names(raw), _objects(raw.get("arguments")), raw)


class ResourceInfo(msgspec.Struct, frozen=True):
    """A resource as the server lists it."""

    name: str
    title: str | None
    description: str | None
    uri: str
    mime_type: str | None
    raw: Object

    @classmethod
    def from_wire(cls, raw: Object) -> "ResourceInfo":
        """Read an entry of `resources/list`."""
        return cls(*_names(raw), str(raw.get("uri", "")), _text(raw.get("mimeType")), raw)


class TemplateInfo(msgspec.Struct, frozen=True):
    """A resource template as the server lists it."""

    name: str
    title: str | None
    description: str | None
    uri_template: str
    mime_type: str | None
    raw: Object

    @classmethod
    def from_wire(cls, raw: Object) -> "TemplateInfo":
        """Read an entry of `resources/templates/list`."""
        return cls(*_names(raw), str(raw.get("uriTemplate", "")), _text(raw.get("mimeType")), raw)


class PromptResult(msgspec.Struct, frozen=True):
    """The messages of a prompt."""

    messages: Sequence[Message]
    description: str | None
    raw: Object


class Listing(Generic[T]):
    """A list of a server: `await` it for all entries, or iterate page by page with `async for`."""

    def __init__(
        self,
        peer: Peer,
        method: str,
        key: str,
        entry: Callable[[Object], T],
        meta: Object,
        seconds: float | None,
    ) -> None:
        self._peer = peer
        self._method = method
        self._key = key
        self._entry = entry
        self._meta = meta
        self._seconds = seconds

    def __await__(self) -> Generator[Any, None, list[T]]:
        return self._all().__await__()

    async def _all(self) -> list[T]:
        entries = await self._peer.entries(
            self._method, self._key, meta=self._meta, within=self._seconds
        )
        return [self._entry(each) for each in entries]

    async def __aiter__(self) -> AsyncIterator[T]:
        async for page, _ in self._peer.pages(
            self._method, self._key, meta=self._meta, within=self._seconds
        ):
            for each in page:
                yield self._entry(each)


def prompt_of(result: Any) -> PromptResult:
    """Read the result of `prompts/get`."""
    raw = _object(result)
    messages = [
        Message(
            _content(each.get("content"), "prompts/get"),
            "assistant" if each.get("role") == "assistant" else "user",
        )
        for each in _listed(raw, "messages", "prompts/get")
    ]
    return PromptResult(messages, _text(raw.get("description")), raw)


def contents_of(result: Any) -> list[Embedded]:
    """Read the result of `resources/read`."""
    contents = _listed(_object(result), "contents", "resources/read")
    return [_resource(each, "resources/read") for each in contents]


def completion_of(result: Any) -> Completion:
    """Read the result of `completion/complete`."""
    completion = _object(_object(result).get("completion"))
    values = completion.get("values")
    if not isinstance(values, list):
        raise PeerError("completion/complete did not return values")
    total, has_more = completion.get("total"), completion.get("hasMore")
    return Completion(
        [str(each) for each in values],
        total if isinstance(total, int) else None,
        has_more if isinstance(has_more, bool) else None,
    )


def _content(value: Any, method: str) -> str | Block:
    block = _object(value)
    kind = block.get("type")
    read = _BLOCKS.get(kind) if isinstance(kind, str) else None
    if read is None:
        raise PeerError(f"{method} returned content of an unknown type: {shorten(repr(kind))}")
    return read(block, method)


def _resource(value: Any, method: str) -> Embedded:
    resource = _object(value)
    text = resource.get("text")
    content = text if isinstance(text, str) else _bytes(resource.get("blob"), method)
    return Embedded(str(resource.get("uri", "")), content, _text(resource.get("mimeType")))


def _link(block: Object, method: str) -> Link:
    return Link(
        str(block.get("uri", "")),
        str(block.get("name", "")),
        _text(block.get("mimeType")),
        _text(block.get("description")),
    )


_BLOCKS: Final[dict[str, Callable[[Object, str], str | Block]]] = {
    "text": lambda block, method: str(block.get("text", "")),
    "image": lambda block, method: Image(_bytes(block.get("data"), method), _mime_type(block)),
    "audio": lambda block, method: Audio(_bytes(block.get("data"), method), _mime_type(block)),
    "resource": lambda block, method: _resource(block.get("resource"), method),
    "resource_link": _link,
}


def _bytes(value: Any, method: str) -> bytes:
    try:
        return b64decode(value, validate=True)
    except (TypeError, ValueError, binascii.Error) as error:
        raise PeerError(f"{method} returned data that is not Base64") from error


def _mime_type(block: Object) -> str:
    return str(block.get("mimeType", ""))


def _listed(result: Object, key: str, method: str) -> list[Object]:
    found = result.get(key)
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise PeerError(f"{method} did not return a list of {key}")
    return found


def _names(raw: Object) -> tuple[str, str | None, str | None]:
    return str(raw.get("name", "")), _text(raw.get("title")), _text(raw.get("description"))


def _object(value: Any) -> Object:
    return value if isinstance(value, dict) else {}


def _objects(value: Any) -> list[Object]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
