"""Content blocks of MCP and of agent frameworks, and the SDKs' names of members."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from accord.reader.reading import Notes

RESULT_NAMES: Final = {
    "structured_content": "structuredContent",
    "is_error": "isError",
    "result_type": "resultType",
    "input_requests": "inputRequests",
    "request_state": "requestState",
    "meta": "_meta",
}
"""Members of a result: names in dumps of the official SDK and FastMCP, and names on the wire."""
BLOCK_NAMES: Final = {"mime_type": "mimeType", "last_modified": "lastModified", "meta": "_meta"}
"""Members of blocks, their resources and annotations: names in dumps, and on the wire."""
_DUMPED: Final = frozenset(RESULT_NAMES) - {"meta"}
_OF_A_DUMP: Final = frozenset({"structuredContent", "isError"})
_KNOWN: Final = {*RESULT_NAMES, *RESULT_NAMES.values(), "content", "data"}
_FASTMCP: Final = frozenset({"structured_content", "is_error", "data"})
_BLOCKS: Final = {
    "text": frozenset({"text"}),
    "image": frozenset({"data", "mimeType"}),
    "audio": frozenset({"data", "mimeType"}),
    "resource": frozenset({"resource"}),
    "resource_link": frozenset({"uri"}),
}
"""The types of blocks, with members of which a block has one."""
_NESTED: Final = frozenset({"resource", "annotations"})
_TEXTS: Final = frozenset({"text", "input_text", "output_text", "text-plain"})
_MEDIA: Final = frozenset({"image", "audio"})
_ADDRESSES: Final = ("url", "uri", "image_url", "file_url", "file_id")
_OF_A_TEXT: Final = frozenset({"type", "text", "annotations", "_meta", "meta", "id"})
_HELD: Final = frozenset({"base64", "image_url", "file_data", "media_type", "_media_type"})
"""Members with the bytes, the address or the type of a medium in a framework's message."""
_OF_A_MEDIUM: Final = _HELD | {
    *("type", "kind", "id", "data", "mime_type", "url", "file_url", "file_id", "filename"),
    *("detail", "extras", "index", "identifier", "_identifier", "vendor_metadata"),
    "force_download",
}
_BINARY: Final = "application/octet-stream"


def is_block(block: Any) -> bool:
    """True if a value is a content block by its members."""
    if not isinstance(block, dict) or not isinstance(block.get("resource", {}), dict):
        return False
    kind = block.get("type")
    return isinstance(kind, str) and kind in _BLOCKS and not _BLOCKS[kind].isdisjoint(block)


def is_lone_text(value: Mapping[str, Any]) -> bool:
    """True if an object is a text block with no other members."""
    return value.get("type") == "text" and "text" in value and value.keys() <= _OF_A_TEXT


def is_foreign_block(value: Any) -> bool:
    """True if an object is an image, audio or file of an agent framework."""
    if not isinstance(value, dict) or not value.keys() <= _OF_A_MEDIUM:
        return False
    return not _HELD.isdisjoint(value) and block_of(value) is not None


def with_wire_names(result: dict[str, Any], notes: Notes) -> dict[str, Any]:
    """Return a tool result with names of an SDK's dump replaced by those of the wire."""
    content = result.get("content")
    if isinstance(content, list) and any(map(_is_odd, content)):
        result = {**result, "content": [_wire_block(each) for each in content]}
    names = RESULT_NAMES.keys() & result.keys()
    if "meta" in names and not _has_sdk_meta(result):
        names = names - {"meta"}
    if not names:
        return result
    found = {name: each for name, each in result.items() if name not in names}
    if result.keys() >= _FASTMCP:
        del found["data"]  # repeats the structure
    for name, wire in RESULT_NAMES.items():
        each = result[name] if name in names else None
        if each is not None and found.get(wire) is None:
            found[wire] = each
        elif each is not None and each != found[wire]:
            notes.finding(f"{name} contradicts {wire}; {wire} is used")
    notes.rule("snake-case")
    return found


def is_dump(value: Mapping[str, Any]) -> bool:
    """True if an object without content blocks is a dumped tool result."""
    content = value.get("content")
    if isinstance(content, list) and not content:
        return not _DUMPED.isdisjoint(value)
    if "structured_content" in value:
        return isinstance(content, list) or value.keys() <= _KNOWN
    return value.get("result_type") == "input_required" and "input_requests" in value


def _has_sdk_meta(result: Mapping[str, Any]) -> bool:
    """True if `meta` is the SDK's name of `_meta`, not a member of the server."""
    meta = result["meta"]
    if meta is None:
        return True
    is_dumped = not _DUMPED.isdisjoint(result) or result.keys() >= _OF_A_DUMP
    return isinstance(meta, dict) and (is_dumped or any("/" in str(name) for name in meta))


# Blocks


def _is_odd(block: Any) -> bool:
    """True if a block may have names of a dump, or members that are None."""
    return isinstance(block, dict) and block.get("type") != "text"


def _wire_block(block: Any) -> Any:
    """Return a block with names of the wire, and without members that are None."""
    if not _is_odd(block):
        return block
    found = {name: each for name, each in block.items() if each is not None}
    for name, wire in BLOCK_NAMES.items():
        if name in found:
            found.setdefault(wire, found.pop(name))
    for name in _NESTED & found.keys():
        found[name] = _wire_block(found[name])
    return found


def block_of(part: Any) -> dict[str, Any] | None:
    """Return a part of a framework's message as a content block; None if it is not one."""
    if isinstance(part, str):
        return {"type": "text", "text": part}
    if not isinstance(part, dict):
        return None
    if is_block(part):
        return {name: each for name, each in part.items() if name != "id"}
    kind = part.get("type", part.get("kind"))
    if not isinstance(kind, str):
        return None
    if kind in _TEXTS:
        text = part.get("text")
        return {"type": "text", "text": text} if isinstance(text, str) else None
    return _medium(part, kind)


def _medium(part: Mapping[str, Any], kind: str) -> dict[str, Any] | None:
    """Return an image, audio, link or file as a block, by the place of its bytes."""
    media_type = part.get("mime_type") or part.get("media_type") or part.get("mimeType")
    if kind == "binary":
        return _of_bytes(part.get("data"), media_type, None)
    given = part.get("base64") or part.get("file_data")
    if isinstance(given, str) and not given.startswith("data:"):
        name = part.get("filename")
        default = f"{kind}/*" if kind in _MEDIA else _BINARY
        return _of_bytes(given, media_type or default, name)
    address = given or next((part[name] for name in _ADDRESSES if part.get(name)), None)
    if isinstance(address, dict):  # {"url": …, "detail": …}
        address = address.get("url")
    if not isinstance(address, str):
        return None
    return _of_data_url(address) or _link(address, part, media_type)


def _of_bytes(data: Any, media_type: Any, name: Any) -> dict[str, Any] | None:
    if not isinstance(data, str):
        return None
    media_type = media_type if isinstance(media_type, str) else _BINARY
    kind = media_type.partition("/")[0]
    if kind in _MEDIA:
        return {"type": kind, "data": data, "mimeType": media_type}
    resource = {"uri": f"file:///{name or 'file'}", "mimeType": media_type, "blob": data}
    return {"type": "resource", "resource": resource}


def _of_data_url(address: str) -> dict[str, Any] | None:
    """Return the block of a Base64 `data:` URL; None for other URLs."""
    heading, comma, data = address.partition(",")
    if not comma or not heading.startswith("data:") or not heading.endswith(";base64"):
        return None
    media_type = heading.removeprefix("data:").partition(";")[0]
    return _of_bytes(data, media_type or _BINARY, None)


def _link(address: str, part: Mapping[str, Any], media_type: Any) -> dict[str, Any]:
    name = part.get("filename") or address.rsplit("/", 1)[-1] or address
    found = {"type": "resource_link", "uri": address, "name": str(name)}
    return found | {"mimeType": media_type} if isinstance(media_type, str) else found


# Content


def sorted_content(content: Any, notes: Notes) -> tuple[list[str], list[Mapping[str, Any]]]:
    """Return the texts in content, and the other blocks."""
    if type(content) is list and len(content) == 1 and type(content[0]) is dict:
        (block,) = content
        if block.get("type") == "text" and type(block.get("text")) is str:
            return [block["text"]], []  # the usual case
    texts: list[str] = []
    others: list[Mapping[str, Any]] = []
    for block in content if isinstance(content, list) else ():
        is_text = isinstance(block, dict) and block.get("type") == "text"
        if is_text and "text" in block:
            text = block["text"]
            texts.append(text if isinstance(text, str) else _as_text(text, notes))
        elif isinstance(block, dict) and not is_text:
            others.append(block)
        else:
            notes.finding("content has entries that are not content blocks")
    return texts, others


def _as_text(text: Any, notes: Notes) -> str:
    notes.finding("the text of a block is not a string")
    try:
        return msgspec.json.encode(text, enc_hook=str).decode()
    except (RecursionError, ValueError, TypeError):
        return str(text) if not isinstance(text, int) else "a number that is too large to be shown"


def described(block: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a block with the number of its bytes instead of the bytes."""
    shown = {key: value for key, value in block.items() if key != "data"}
    data = block.get("data")
    if isinstance(data, str):
        shown["bytes"] = _base64_length(data)
    resource = block.get("resource")
    if isinstance(resource, dict) and isinstance(resource.get("blob"), str):
        inner = {key: value for key, value in resource.items() if key != "blob"}
        shown["resource"] = {**inner, "bytes": _base64_length(resource["blob"])}
    return shown


def _base64_length(text: str) -> int:
    return len(text) * 3 // 4 - text[-2:].count("=")
