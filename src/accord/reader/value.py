"""The value in a tool result: its structure, or what its text holds, or its text."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

import msgspec

from accord.model.response import META_KEY
from accord.reader.blocks import described, is_block, sorted_content
from accord.reader.details import Detailed, details_after, split_object
from accord.reader.formats.indented import toon_value, yaml_value
from accord.reader.formats.json_text import (
    Found,
    decoded_twice,
    find_json,
    parse_json,
    python_value,
)
from accord.reader.lexicon import words
from accord.reader.reading import Notes

_ABSENT: Final = object()
_HOLDERS: Final = words("members.holders")
_OPENING: Final = ("{", "[")
_FIELDS: Final = re.compile(r"\w+: [^\n]*, \w+:")
"""What stands before a document that is but one field of several."""
_MCP_OWN: Final = frozenset(
    {
        "content",
        "structuredContent",
        "isError",
        "_meta",
        "resultType",
        "inputRequests",
        "requestState",
    }
)


_OWN_MEMBERS: Final = "the result's own members"
"""The origin of a value that is neither in `content` nor in `structuredContent`."""
ASKING: Final = "input_required"
"""The `resultType` of a result that asks for something before it goes on."""
_ASKED: Final = ("resultType", "inputRequests", "requestState")


_SHOWN: Final = "the data is a Python literal, not JSON"
_MARKED: Final = "the data is marked as untrusted"
Digs = Literal["", "json", "all"]
"""What a text is searched for: nothing if it is somebody's own, and JSON if it was printed."""


class Value(msgspec.Struct, kw_only=True):
    """What was found, where, and what stands beside it."""

    value: Any = None
    is_text: bool = False
    """The value is text that holds nothing else."""
    message: str | None = None
    """Prose around the value."""
    origin: str = ""
    beside: Mapping[str, Any] = {}
    """What a writer of ours says of its answer: page, warnings, partial, truncated."""
    attachments: Sequence[Mapping[str, Any]] = ()
    """Images, audio, links and resources, without their bytes."""
    extras: Mapping[str, Any] = {}
    """Members of the result that MCP does not know."""
    texts: Sequence[str] = ()
    """The texts, where there are several and the value is all of them."""
    prose: str | None = None
    """The whole text that the value was found in, where there is more to it than the value."""


def find(
    result: Mapping[str, Any], notes: Notes, *, digs: Digs = "all", is_answer: bool = True
) -> Value:
    """The value of a tool result, as far as its text is searched for one.

    `is_answer` means that the text is the tool's own, not a document that it gives.
    """
    texts, others = sorted_content(result.get("content"), notes)
    meta, structure = result.get("_meta"), result.get("structuredContent")
    beside = meta.get(META_KEY) if isinstance(meta, dict) else None
    words = details_after(texts[0], result, digs, is_answer=is_answer) if texts else None
    if words is not None:
        texts[0], digs = words.data, _digs_for(words, digs)
    extras = _unknown_members(result)
    if "inputRequests" in result and result.get("resultType") == ASKING:
        asked = {name: result[name] for name in _ASKED if name in result}
        value = Value(value=asked, origin=_OWN_MEMBERS)
    elif structure is not None:
        value = _of_structure(structure, texts, notes, digs, is_wrapped=_is_marked(meta))
    elif texts:
        value = (_of_texts if words is None else _in_texts)(texts, notes, digs)
    elif others:
        value = Value(origin="content: no text")
    elif extras:
        value = _without_details(Value(value=extras, origin=_OWN_MEMBERS))
    else:
        value = Value(origin="nothing")
        notes.finding("the result has no content")
    value.value = _opened(value.value, digs)
    if digs and len(others) == 1 and (value.is_text or (not texts and value.value is None)):
        value = _of_resource(others[0], value, notes)
    if isinstance(beside, dict):
        value.beside = beside
    elif words is not None and not value.beside:
        value.beside = words.details
    if others:
        value.attachments = [described(each) for each in others]
    if extras and not value.origin.startswith("the result's own"):
        value.extras = _own_members(extras)
    return value


def _opened(value: Any, digs: Digs) -> Any:
    """Return an object with the document that a member of its holds as a string."""
    if not digs or type(value) is not dict or _HOLDERS.isdisjoint(value):
        return value
    found = {}
    for name in _HOLDERS & value.keys():
        text = value[name]
        if type(text) is str and text[:1] in _OPENING:
            is_document, inner = parse_json(text)
            if is_document and inner and isinstance(inner, dict | list):
                found[name] = inner
    return {**value, **found} if found else value


def _unknown_members(result: Mapping[str, Any]) -> dict[str, Any]:
    if result.keys() <= _MCP_OWN:  # as nearly always
        return {}
    return {name: each for name, each in result.items() if name not in _MCP_OWN}


def _digs_for(words: Detailed, digs: Digs) -> Digs:
    """Search the text for JSON if the details say that it is a list, whatever the tool gives."""
    return digs if words.items is None else digs or "json"


def _own_members(extras: dict[str, Any]) -> dict[str, Any]:
    """Return the members at the root of a result without the details that `bare` has there."""
    found = split_object(extras)
    if found is None:
        return extras
    return {"result": found.data} if found.is_wrapped else found.data


def _is_marked(meta: Any) -> bool:
    """True if FastMCP has put the result into an object."""
    mark = meta.get("fastmcp") if isinstance(meta, dict) else None
    return isinstance(mark, dict) and mark.get("wrap_result") is True


def _sole_result(structure: Any) -> Any:
    """Return `v` of `{"result": v}`; _ABSENT if the structure is another one."""
    if isinstance(structure, dict) and structure.keys() == {"result"}:
        return structure["result"]
    return _ABSENT


def _of_structure(
    structure: Any, texts: list[str], notes: Notes, digs: Digs, *, is_wrapped: bool
) -> Value:
    found = split_object(structure)
    if found is not None:
        plain = {"result": found.data} if found.is_wrapped else found.data
        value = _of_data(plain, texts, notes, digs, is_wrapped=found.is_wrapped)
        value.beside = found.details
        return value
    return _of_data(structure, texts, notes, digs, is_wrapped=is_wrapped)


def _of_data(
    structure: Any, texts: list[str], notes: Notes, digs: Digs, *, is_wrapped: bool
) -> Value:
    notes.rule("structured")
    value = Value(value=structure, origin="structuredContent")
    inner = _sole_result(structure)
    if not texts:
        if inner == [] or (is_wrapped and inner is not _ABSENT):  # a list of no items has no text
            notes.rule("result-wrapper")
            value.value, value.origin = inner, "structuredContent.result"
        return value
    if type(structure) is dict and structure.get("type") == "text" and _is_sent(structure, texts):
        return _of_texts(texts, notes, digs)  # a block once more, by mistake
    text = _of_texts(texts, Notes(), digs)
    if isinstance(inner, list) and inner and all(map(is_block, inner)):
        notes.rule("result-wrapper")
        return _of_texts(texts, notes, digs)
    if inner is not _ABSENT and (is_wrapped or _says(text, texts, inner)):
        notes.rule("result-wrapper")
        value.value, value.origin = inner, "structuredContent.result"
        if isinstance(inner, str) and len(texts) == 1:
            value.value, value.is_text = text.value, text.is_text
    elif _is_sole_text(structure, texts[0]):
        value.message = text.message
        if not text.is_text and not text.message:
            notes.rule("json-in-structure", "likely")
            value.value = text.value
    elif text.is_text:
        value.message = text.value
    elif text.value != structure and not _is_inside(text.value, structure):
        notes.finding("text and structuredContent differ; structuredContent is used")
    else:
        value.message = text.message
    if not text.is_text and text.message:
        value.message = text.message
    return value


def _is_sent(structure: Mapping[str, Any], texts: list[str]) -> bool:
    return is_block(structure) and structure["text"] == texts[0]


def _says(text: Value, texts: list[str], inner: Any) -> bool:
    if text.value == inner and type(text.value) is type(inner):
        return True
    if isinstance(inner, str):
        return inner == "\n".join(texts) or inner == texts[0]
    if isinstance(inner, list):  # as the official SDK words a list: a block an item, or none
        return [
            parse_json(each)[1] if not isinstance(item, str) else each
            for each, item in zip(texts, inner, strict=False)
        ] == inner
    return False


def _is_sole_text(structure: Any, text: str) -> bool:
    """A structure that holds nothing but the text once more."""
    if not isinstance(structure, dict) or len(structure) != 1:
        return False
    (only,) = structure.values()
    return isinstance(only, str) and only == text


def _is_inside(part: Any, whole: Any) -> bool:
    """A text that shows one member of the structure is no disagreement."""
    return isinstance(whole, dict) and any(part == each for each in whole.values())


def _without_details(value: Value) -> Value:
    """Take the details of an answer of ours out of the object that has both."""
    found = split_object(value.value)
    if found is None:
        return value
    value.value, value.beside = found.data, found.details
    if isinstance(found.data, str):
        is_document, value.value = decoded_twice(found.data)
        value.is_text = not is_document
    return value


def _of_texts(texts: list[str], notes: Notes, digs: Digs) -> Value:
    return _without_details(_in_texts(texts, notes, digs))


def _in_texts(texts: list[str], notes: Notes, digs: Digs) -> Value:
    if len(texts) == 1:
        return _of_text(texts[0], "content[0].text", notes, digs)
    return _of_several(texts, notes, digs)


def _of_several(texts: list[str], notes: Notes, digs: Digs) -> Value:
    values = [_document(text) for text in texts]
    objects = [value for value in values if isinstance(value, dict)]
    if len(objects) == len(texts):
        notes.rule("block-per-item")
        return Value(value=objects, origin="content[*].text: one JSON object each")
    told = [i for i, value in enumerate(values) if value is not None]
    if len(told) == 1:
        return _among(texts, told[0], values[told[0]], notes)
    others = len(texts) - len(told)
    is_most = len(told) > others or (len(told) == others and _are_alike(objects))
    if len(objects) == len(told) and is_most:
        notes.rule("block-per-item", "likely")
        prose = "\n".join(text for text, value in zip(texts, values, strict=True) if value is None)
        origin = "content[*].text: JSON objects"
        return Value(value=objects, message=prose, origin=origin)
    return _labelled(texts, notes) if digs and not told else _joined(texts, notes)


def _are_alike(objects: list[dict[str, Any]]) -> bool:
    """Whether most members of each have the names that those of the first have, as items do."""
    first = objects[0].keys() if objects else set()
    return all(2 * len(first & each.keys()) > len(first | each.keys()) for each in objects)


def _document(text: str) -> Any:
    """The object or list that a text is, if it is one."""
    found, value = parse_json(text)
    return value if found and isinstance(value, dict | list) else None


def _among(texts: list[str], at: int, value: Any, notes: Notes) -> Value:
    """One of several texts is a document; the others are words about it."""
    prose = "\n".join(text for i, text in enumerate(texts) if i != at)
    notes.rule("json-among-blocks", "likely")
    return Value(value=value, message=prose, origin=f"content[{at}].text: JSON")


def _labelled(texts: list[str], notes: Notes) -> Value:
    """Several texts of which one holds the document, or the only list: `Users: […]`."""
    found = [
        (i, each)
        for i, text in enumerate(texts)
        if (each := find_json(text)) is not None and not _FIELDS.fullmatch(each.prose)
    ]
    lists = [(i, each) for i, each in found if isinstance(each.value, list)]
    for chosen in (lists, found):
        if len(chosen) == 1:
            ((at, document),) = chosen
            value = _among(texts, at, document.value, notes)
            value.message = "\n".join(each for each in (document.prose, value.message) if each)
            value.prose = "\n".join(texts)
            return value
    return _joined(texts, notes)


def _joined(texts: list[str], notes: Notes) -> Value:
    notes.rule("several-texts", "likely")
    return Value(value="\n\n".join(texts), is_text=True, origin="content[*].text", texts=texts)


def _of_resource(block: Mapping[str, Any], text: Value, notes: Notes) -> Value:
    """The JSON that is embedded as a resource beside a text that shows it in some other way."""
    resource = block.get("resource")
    if not isinstance(resource, dict) or "json" not in str(resource.get("mimeType")):
        return text
    words = resource.get("text")
    value = _document(words) if isinstance(words, str) else None
    if value is None:
        return text
    notes.rule("json-resource", "likely")
    return Value(value=value, message=text.value, origin="content[*].resource: JSON")


_GUARD: Final = r"<(?P<guard>[a-z][\w-]{2,40}-[0-9a-f][0-9a-f-]{7,40})>\n"
_OPENS_GUARD: Final = re.compile(_GUARD)
_GUARDED: Final = re.compile(rf"{_GUARD}(?P<text>.*)\n</(?P=guard)>", re.S)
"""What somebody else wrote, within marks that he cannot have written: `<untrusted-data-3f9e…>`."""


def _is_guarded(text: str) -> bool:
    """Whether such a mark is anywhere in a text."""
    return "-" in text and "</" in text and _OPENS_GUARD.search(text) is not None


def _unguarded(text: str) -> str | None:
    """What is between such marks, if they are around all of a text."""
    found = _GUARDED.fullmatch(text.strip())
    return None if found is None else found["text"]


def _of_guarded(text: str, where: str, notes: Notes, digs: Digs) -> Value | None:
    """The data between marks that say that others wrote it. Words there stay as they are, marks
    and all: nobody but the tool says how it went."""
    inside = _unguarded(text)
    if inside is None:
        return None
    noted = Notes()
    value = _of_text(inside, where, noted, digs, is_inside=True)
    if value.is_text:
        return None
    notes.rule("guarded", "likely")
    notes.adopt(noted)
    notes.finding(_MARKED)
    return value


def _of_text(text: str, where: str, notes: Notes, digs: Digs, *, is_inside: bool = False) -> Value:
    if text[:1] == "<" and digs and not is_inside:
        guarded = _of_guarded(text, where, notes, digs)
        if guarded is not None:
            return guarded
    found, value = parse_json(text, notes)
    if found and digs and isinstance(value, dict) and len(value) == 1 and "result" in value:
        inner = find_json(value["result"]) if isinstance(value["result"], str) else None
        value = value if inner is None else inner.value
    if found:
        is_nested = False
        if isinstance(value, str):
            is_nested, value = decoded_twice(value)
            if not is_nested and digs and _is_guarded(value):
                return _of_text(value, where, notes, digs, is_inside=is_inside)
        notes.rule("json-twice" if is_nested else "json")
        how = "JSON encoded twice" if is_nested else "JSON"
        return Value(value=value, origin=f"{where}: {how}")
    found, value = yaml_value(text) if digs == "all" and "\n" in text else (False, None)
    if found:
        notes.rule("yaml")
        return Value(value=value, origin=f"{where}: YAML")
    document = find_json(text) if digs else None
    if document is not None:
        return _of_document(document, text, where, notes)
    found, value = python_value(text)
    if found:
        notes.rule("python-value")
        notes.finding(_SHOWN)
        return Value(value=value, origin=f"{where}: a Python value")
    found, value = toon_value(text) if digs else (False, None)
    if found:
        notes.rule("toon")
        return Value(value=value, origin=f"{where}: TOON")
    if text[:1] in ("{", "[") and text.rstrip()[-1:] not in ("}", "]"):
        notes.finding("the text begins like JSON but is not valid JSON")
    notes.rule("text")
    return Value(value=text, is_text=True, origin=where)


def _of_document(document: Found, text: str, where: str, notes: Notes) -> Value:
    """What stands in a text with words around it."""
    if document.is_shown:
        notes.rule("python-value")
        notes.finding(_SHOWN)
    else:
        is_sure = document.how != "JSON before prose"
        notes.rule("json-in-prose", "certain" if is_sure else "likely")
    if _is_guarded(text):
        notes.finding(_MARKED)
    _, value = decoded_twice(document.value)
    origin = f"{where}: {document.how}"
    return Value(value=value, message=document.prose or None, prose=text, origin=origin)


def of_payload(
    payload: Any, is_text: bool, notes: Notes, *, digs: Digs = "all", is_answer: bool = True
) -> Value:
    """The value of what came without a tool result around it; see `find`."""
    value = _in_payload(payload, is_text, notes, digs, is_answer=is_answer)
    value.value = _opened(value.value, digs)
    return value


def _in_payload(payload: Any, is_text: bool, notes: Notes, digs: Digs, *, is_answer: bool) -> Value:
    if not is_text:
        is_nested, inner = decoded_twice(payload)
        if is_nested:
            notes.rule("json-twice")
            return Value(value=inner, origin="the payload: JSON encoded twice")
        notes.rule("payload")
        return _without_details(Value(value=payload, origin="the payload"))
    text = str(payload)
    words = details_after(text, {}, digs, is_answer=is_answer)
    if words is None:
        return _without_details(_of_text(text, "the text", notes, digs))
    value = _of_text(words.data, "the text", notes, _digs_for(words, digs))
    value.beside = words.details
    return value
