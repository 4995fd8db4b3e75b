"""Finds the value in a tool result: its structure, the data in its text, or its text."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from accord.reader.blocks import RESULT_NAMES, described, is_block, sorted_content
from accord.reader.documents import (
    Digs,
    decoded_twice,
    document_in,
    find_json,
    marked,
    parse_json,
)
from accord.reader.known_shapes import accord_meta, details_after, split_object
from accord.reader.lexicon import MEMBERS
from accord.reader.reading import Notes

_ABSENT: Final = object()
_MCP_OWN: Final = frozenset({"content", *RESULT_NAMES.values()})
_OWN_MEMBERS: Final = "the result's own members"
"""The origin of a value outside `content` and `structuredContent`."""
ASKING: Final = "input_required"
"""The `resultType` of a result that requests input first."""
_REQUESTING: Final = ("resultType", "inputRequests", "requestState")


class Value(msgspec.Struct, kw_only=True):
    """A value, its origin, and what the reply has beside it."""

    value: Any = None
    is_text: bool = False
    """True if the value is plain text."""
    message: str | None = None
    """Prose around the value."""
    origin: str = ""
    details: Mapping[str, Any] = {}
    """Details of an answer of Accord: page, warnings, partial, truncated."""
    attachments: Sequence[Mapping[str, Any]] = ()
    """Images, audio, links and resources, without their bytes."""
    extras: Mapping[str, Any] = {}
    """Members of the result that MCP does not know."""
    texts: Sequence[str] = ()
    """The text blocks, if there are several and the value is all of them."""
    prose: str | None = None
    """The text around the value, including it; None if there is none."""


def find(
    result: Mapping[str, Any],
    notes: Notes,
    *,
    digs: Digs = "all",
    is_answer: bool = True,
    where: str = "content[0].text",
) -> Value:
    """Return the value of a tool result; `digs` limits the search in its text.

    `is_answer`: the tool wrote the text, rather than returned a document. `where` is the origin of
    a single text.
    """
    texts, others = sorted_content(result.get("content"), notes)
    meta, structure = result.get("_meta"), result.get("structuredContent")
    details = accord_meta(result)
    found = details_after(texts[0], result, digs, is_answer=is_answer) if texts else None
    if found is not None:
        texts[0] = found.data
        digs = digs if found.items is None else digs or "json"  # a list, even in a document
    extras = _unknown_members(result)
    if "inputRequests" in result and result.get("resultType") == ASKING:
        request = {name: result[name] for name in _REQUESTING if name in result}
        value = Value(value=request, origin=_OWN_MEMBERS)
    elif structure is not None:
        value = _of_structure(structure, texts, notes, digs, is_wrapped=_is_marked(meta))
    elif texts:
        value = _of_texts(texts, notes, digs, where)
        value = _without_details(value) if found is None else value
    else:
        value = _without_text(extras, notes, has_others=bool(others))
    value.value = _opened(value.value, digs)
    if digs and len(others) == 1 and (value.is_text or (not texts and value.value is None)):
        value = _of_resource(others[0], value, notes)
    if details is not None:
        value.details = details
    elif found is not None and not value.details:
        value.details = found.details
    if others:
        value.attachments = [described(each) for each in others]
    if extras and value.origin != _OWN_MEMBERS:
        split = split_object(extras)
        value.extras = extras if split is None else split.plain
    return value


def _unknown_members(result: Mapping[str, Any]) -> dict[str, Any]:
    if result.keys() <= _MCP_OWN:  # as nearly always
        return {}
    return {name: each for name, each in result.items() if name not in _MCP_OWN}


def _without_text(extras: dict[str, Any], notes: Notes, *, has_others: bool) -> Value:
    """Return the value of a result without text and structure: its other members."""
    if has_others:
        return Value(origin="content: no text")
    if extras:
        return _without_details(Value(value=extras, origin=_OWN_MEMBERS))
    notes.finding("the result has no content")
    return Value(origin="nothing")


def of_payload(
    payload: Any, is_text: bool, notes: Notes, *, digs: Digs = "all", is_answer: bool = True
) -> Value:
    """Return the value of a payload that is not in a tool result; see `find`."""
    if is_text:
        text = {"content": [{"type": "text", "text": payload}]}
        return find(text, notes, digs=digs, is_answer=is_answer, where="the text")
    is_nested, inner = decoded_twice(payload)
    if is_nested:
        notes.rule("json-twice")
    else:
        notes.rule("payload")
    origin = "the payload: JSON encoded twice" if is_nested else "the payload"
    value = _without_details(Value(value=inner, origin=origin))
    value.value = _opened(value.value, digs)
    return value


def _opened(value: Any, digs: Digs) -> Any:
    """Return an object with JSON documents in its members decoded."""
    if not digs or type(value) is not dict or MEMBERS.holders.isdisjoint(value):
        return value
    opened = {}
    for name in MEMBERS.holders & value.keys():
        text = value[name]
        if type(text) is str and text[:1] in ("{", "["):
            found, inner = decoded_twice(text)
            if found and isinstance(inner, dict | list):
                opened[name] = inner
    return {**value, **opened} if opened else value


def _is_marked(meta: Any) -> bool:
    """True if FastMCP wrapped the result in an object."""
    mark = meta.get("fastmcp") if isinstance(meta, dict) else None
    return isinstance(mark, dict) and mark.get("wrap_result") is True


def _without_details(value: Value) -> Value:
    """Return a value without the details of an answer of Accord, which `details` then has."""
    found = split_object(value.value)
    if found is None:
        return value
    value.value, value.details = found.data, found.details
    if isinstance(found.data, str):
        is_document, value.value = decoded_twice(found.data)
        value.is_text = not is_document
    return value


# Structured content


def _of_structure(
    structure: Any, texts: list[str], notes: Notes, digs: Digs, *, is_wrapped: bool
) -> Value:
    """Return the value of a structure, without the wrapper of an SDK or Accord."""
    details = split_object(structure)
    if details is not None:
        structure, is_wrapped = details.plain, details.is_wrapped
    notes.rule("structured")
    value = Value(value=structure, origin="structuredContent")
    if details is not None:
        value.details = details.details
    is_object = isinstance(structure, dict)
    is_sole = is_object and structure.keys() == {"result"}
    inner = structure["result"] if is_sole else _ABSENT
    if texts and _are_blocks(structure if inner is _ABSENT else inner, texts):
        return _without_details(_of_texts(texts, notes, digs))  # it repeats the blocks
    text = _without_details(_of_texts(texts, Notes(), digs)) if texts else None
    if inner is not _ABSENT and (is_wrapped or _repeats(text, texts, inner)):
        notes.rule("result-wrapper")
        value.value, value.origin = inner, "structuredContent.result"
        if text is not None and isinstance(inner, str) and len(texts) == 1:
            value.value, value.is_text = text.value, text.is_text
    elif text is None:
        return value
    elif is_object and list(structure.values()) == texts[:1]:
        if not text.is_text and not text.message:
            notes.rule("json-in-structure", "likely")
            value.value = text.value
    elif text.is_text:
        value.message = text.value
    elif text.value not in (structure, *(structure.values() if is_object else ())):
        notes.finding("text and structuredContent differ; structuredContent is used")
    if text is not None and not value.message and not value.is_text:
        value.message = text.message
    return value


def _are_blocks(value: Any, texts: list[str]) -> bool:
    """True if a structure repeats the text block, or is a list of blocks."""
    if isinstance(value, list):
        return bool(value) and all(map(is_block, value))
    return type(value) is dict and value.get("type") == "text" and value.get("text") in texts


def _repeats(text: Value | None, texts: list[str], inner: Any) -> bool:
    """True if the texts repeat the value of the structure, as SDKs write it."""
    if text is None:
        return bool(inner == [])  # a list of no items has no text
    if text.value == inner and type(text.value) is type(inner):
        return True
    if isinstance(inner, str):
        return inner in ("\n".join(texts), texts[0])
    if not isinstance(inner, list):
        return False
    pairs = zip(texts, inner, strict=False)  # a block for each item
    return [each if isinstance(item, str) else parse_json(each)[1] for each, item in pairs] == inner


# Several texts


def _of_texts(texts: list[str], notes: Notes, digs: Digs, where: str = "content[0].text") -> Value:
    """Return the value of texts: that of a single one, one item each, or one document."""
    if len(texts) == 1:
        return _of_text(texts[0], where, notes, digs)
    values = [_document(text) for text in texts]
    objects = [value for value in values if isinstance(value, dict)]
    if len(objects) == len(texts):
        notes.rule("block-per-item")
        return Value(value=objects, origin="content[*].text: one JSON object each")
    places = [i for i, value in enumerate(values) if value is not None]
    prose = [text for text, value in zip(texts, values, strict=True) if value is None]
    if len(places) == 1:
        notes.rule("json-among-blocks", "likely")
        origin = f"content[{places[0]}].text: JSON"
        return Value(value=values[places[0]], message="\n".join(filter(None, prose)), origin=origin)
    is_most = len(places) > len(prose) or (len(places) == len(prose) and _are_alike(objects))
    if len(objects) == len(places) and is_most:
        notes.rule("block-per-item", "likely")
        origin = "content[*].text: JSON objects"
        return Value(value=objects, message="\n".join(prose), origin=origin)
    text = "\n".join(texts)
    document = find_json(text) if digs and not places else None  # `Users: […]`
    if document is not None:
        notes.rule("json-among-blocks", "likely")
        return Value(
            value=document.value,
            message=document.prose,
            origin="content[*].text: JSON",
            prose=text,
        )
    notes.rule("several-texts", "likely")
    return Value(value="\n\n".join(texts), is_text=True, origin="content[*].text", texts=texts)


def _are_alike(objects: list[dict[str, Any]]) -> bool:
    """True if most names of members of each object are those of the first."""
    first = objects[0].keys() if objects else set()
    return all(2 * len(first & each.keys()) > len(first | each.keys()) for each in objects)


def _document(text: str) -> Any:
    """Return the JSON object or list in a text; None if it is something else."""
    found, value = parse_json(text)
    return value if found and isinstance(value, dict | list) else None


def _of_resource(block: Mapping[str, Any], text: Value, notes: Notes) -> Value:
    """Return the JSON of an embedded resource beside a text, else the text."""
    resource = block.get("resource")
    if not isinstance(resource, dict) or "json" not in str(resource.get("mimeType")):
        return text
    inner = resource.get("text")
    value = _document(inner) if isinstance(inner, str) else None
    if value is None:
        return text
    notes.rule("json-resource", "likely")
    return Value(value=value, message=text.value, origin="content[*].resource: JSON")


# One text


def _of_text(text: str, where: str, notes: Notes, digs: Digs) -> Value:
    """Return the value of a text in the first notation that parses, else the text."""
    found, value = parse_json(text, notes)
    if found:
        return _of_json(value, where, notes, digs)
    document = document_in(text, digs)
    if document is None:
        if text[:1] in ("{", "[") and text.rstrip()[-1:] not in ("}", "]"):
            notes.finding("the text begins like JSON but is not valid JSON")
        notes.rule("text")
        return Value(value=text, is_text=True, origin=where)
    notes.rule(document.rule, document.confidence)
    if document.rule == "python-value":
        notes.finding("the data is a Python literal, not JSON")
    if document.rule == "guarded":
        notes.finding("the data is marked as untrusted")
    _, value = decoded_twice(document.value)
    origin, whole = f"{where}: {document.how}", text if document.prose else None
    return Value(value=value, message=document.prose or None, prose=whole, origin=origin)


def _of_json(value: Any, where: str, notes: Notes, digs: Digs) -> Value:
    """Return the value of a JSON document; of a string, the document in it."""
    is_nested, value = decoded_twice(value)
    if not is_nested and digs and isinstance(value, str) and marked(value, digs) is not None:
        return _of_text(value, where, notes, digs)
    notes.rule("json-twice" if is_nested else "json")
    return Value(value=value, origin=f"{where}: {'JSON encoded twice' if is_nested else 'JSON'}")
