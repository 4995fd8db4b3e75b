"""Repairs of tool results that break the protocol: each by a rule with a name, no content lost."""

from collections.abc import Callable
from typing import Any, Final

import msgspec

from accord.errors import ContractError
from accord.model.arguments import Checker
from accord.model.values import plain_value

Fits = Callable[[Any], bool]
"""True if a value is valid under the output schema of a tool."""

_TEXT_KEYS: Final = {"text": "text", "image": "data", "audio": "data", "resource_link": "uri"}
_BOOLEANS: Final = {"true": True, "false": False, "1": True, "0": False, "yes": True, "no": False}
_encode = msgspec.json.Encoder(enc_hook=plain_value).encode


class Repaired(msgspec.Struct, frozen=True):
    """A result whose members have the types that the protocol requires, and what was changed."""

    members: dict[str, Any]
    changed: tuple[str, ...] = ()


def fits_schema(schema: Any) -> Fits | None:
    """Return the check of an `outputSchema`; None if there is none, or it cannot be used."""
    if not isinstance(schema, dict):
        return None
    checker = Checker(schema, formats=False)
    try:
        checker.compile("outputSchema")
    except (ContractError, ValueError, RecursionError):  # a foreign schema may be broken
        return None
    return checker.fits


def repair(result: Any, fits: Fits | None = None) -> Repaired:
    """Return a tool result with its faults repaired; `fits` checks its `structuredContent`."""
    if not isinstance(result, dict):
        return Repaired({"content": [_text(result)]}, ("result: not an object",))
    members, changed = dict(result), list[str]()
    _repair_flag(members, changed)
    if not isinstance(members.get("_meta", {}), dict):
        del members["_meta"]
        changed.append("_meta: not an object")
    if members.get("structuredContent", ...) is None and not (fits and fits(None)):
        del members["structuredContent"]
        changed.append("structuredContent: null")
    _repair_content(members, changed)
    if fits is not None and members.get("isError") is not True:
        _repair_structure(members, fits, changed)
    return Repaired(members, tuple(changed))


def _repair_flag(members: dict[str, Any], changed: list[str]) -> None:
    flag = members.get("isError", False)
    if isinstance(flag, bool):
        return
    del members["isError"]
    is_error = _BOOLEANS.get(str(flag).strip().lower(), bool(flag))
    if is_error:
        members["isError"] = True
    changed.append("isError: not a boolean")


def _repair_content(members: dict[str, Any], changed: list[str]) -> None:
    content = members.get("content")
    if isinstance(content, list):
        blocks = [_block(each) for each in content]
        if blocks != content:
            changed.append("content: blocks of a wrong shape")
        members["content"] = blocks
    elif "content" not in members or content is None:
        members["content"] = []
        changed.append("content: missing")
    else:
        members["content"] = [_block(content)]
        changed.append("content: not an array")
    if not members["content"] and "structuredContent" in members:
        members["content"] = [_text(members["structuredContent"])]
        if "content: missing" not in changed:
            changed.append("content: empty beside structuredContent")
    elif not members["content"] and "content: missing" in changed:
        others = {name: each for name, each in members.items() if name not in _NOT_DATA}
        members["content"] = [_text(others)] if others else []


_NOT_DATA: Final = ("content", "isError", "_meta", "resultType")


def _repair_structure(members: dict[str, Any], fits: Fits, changed: list[str]) -> None:
    """Keep the schema that the tool publishes: by the JSON in its text, or with a failure."""
    if "structuredContent" in members and fits(members["structuredContent"]):
        return
    found = _json_in_text(members["content"])
    for value in (found, {"result": found}):
        if found is not ... and fits(value):
            members["structuredContent"] = value
            changed.append("structuredContent: from the text")
            return
    fault = "missing" if "structuredContent" not in members else "not valid under outputSchema"
    members.pop("structuredContent", None)
    members["isError"] = True
    note = f"The server's reply breaks its own output schema: structuredContent is {fault}."
    members["content"] = [_text(note), *members["content"]]
    changed.append(f"structuredContent: {fault}")


def _json_in_text(content: list[Any]) -> Any:
    texts = [each["text"] for each in content if each.get("type") == "text"]
    if len(texts) != 1:
        return ...
    try:
        return msgspec.json.decode(texts[0])
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
        return ...


def _block(block: Any) -> dict[str, Any]:
    """Return a content block of a valid shape: a broken one as text, with all of its content."""
    if not isinstance(block, dict):
        return _text(block)
    kind = block.get("type")
    if kind == "resource":
        return block if _is_resource(block.get("resource")) else _text(block)
    key = _TEXT_KEYS.get(kind) if isinstance(kind, str) else None
    if key is None:
        is_text = kind is None and isinstance(block.get("text"), str)
        return {"type": "text", **block} if is_text else _text(block)
    if not isinstance(block.get(key), str):
        return _text(block.get(key) if kind == "text" else block)
    if kind in ("image", "audio") and not isinstance(block.get("mimeType"), str):
        return {**block, "mimeType": f"{kind}/{'png' if kind == 'image' else 'wav'}"}
    if kind == "resource_link" and not isinstance(block.get("name"), str):
        return {**block, "name": block["uri"]}
    return block


def _is_resource(resource: Any) -> bool:
    if not isinstance(resource, dict) or not isinstance(resource.get("uri"), str):
        return False
    return isinstance(resource.get("text"), str) or isinstance(resource.get("blob"), str)


def _text(value: Any) -> dict[str, Any]:
    return {"type": "text", "text": value if isinstance(value, str) else _encode(value).decode()}
