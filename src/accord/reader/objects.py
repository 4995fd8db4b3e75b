"""Python objects as replies: results of SDKs and frameworks, exceptions, Answers.

Objects are recognised by their members; no framework is imported. Only properties of an object that
are its fields and its `model_dump` run.
"""

from collections.abc import AsyncIterator, Awaitable, Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from accord.model.answer import Answer, Encoded, Problem
from accord.model.content import block
from accord.model.plain import as_plain, attempt, members_of, plain_json, shown
from accord.model.response import problem_members
from accord.reader.known_shapes import MEMBER, Known, Reply, problem_details
from accord.reader.reading import Notes
from accord.revisions import NEWEST

JSON_ATOMS: Final = frozenset({str, int, float, bool, type(None)})
_CONTAINERS: Final = frozenset({dict, list})
_JSON: Final = JSON_ATOMS | _CONTAINERS
_MOST_LOOKED_AT: Final = 256  # containers
_MOST_ITEMS: Final = 3  # of a list
_DEEPEST_GROUP: Final = 8
_ERROR_DATA: Final = frozenset({"code", "message", "data"})
_OTHER_RESULTS: Final = {"contents": "resources/read", "messages": "prompts/get"}
_UNREAD: Final = (
    (Awaitable, "await it, then read what it returns"),
    (AsyncIterator, "read its items"),
    (Iterator, "read its items, or a list of them"),
)


def fault_of(value: Any) -> str | None:
    """Return why a dict or list is not JSON, by its first containers; None if it is.

    It is "" for values that are converted without a finding. A container that occurs twice may
    hold itself.
    """
    found, seen = [value], {id(value)}
    fault = None
    for each in found:
        if type(each) is dict:
            inner: Iterable[Any] = each.values()
            if not all(type(name) is str for name in each):
                fault = "member names that are not strings were converted"
        else:
            inner = each if len(each) <= _MOST_ITEMS else (*each[:_MOST_ITEMS], each[-1])
        kinds = set(map(type, inner))
        if not kinds <= _JSON:
            fault = fault or ""
        for one in inner if kinds & _CONTAINERS else ():
            if type(one) in _CONTAINERS and one:
                if id(one) in seen:
                    return "parts of the value are repeated; it was copied within limits"
                seen.add(id(one))
                found.append(one)
        if len(found) > _MOST_LOOKED_AT:
            break
    return fault


def is_json(value: Any) -> bool:
    """True if a value has only the types of decoded JSON, all the way down."""
    try:
        return _is_json(value)
    except RecursionError:
        return False


def _is_json(value: Any) -> bool:
    if type(value) is dict:
        return all(type(name) is str for name in value) and all(map(_is_json, value.values()))
    return all(map(_is_json, value)) if type(value) is list else type(value) in JSON_ATOMS


def of_object(value: Any, notes: Notes) -> Any:
    """Return an object as a Reply, or as JSON."""
    kind = type(value)
    if kind in JSON_ATOMS:
        return value
    if issubclass(kind, BaseException):
        return _of_exception(value, notes)
    if issubclass(kind, Answer):
        return _of_answer(value)
    if issubclass(kind, tuple):
        return as_plain(value)
    for unread, advice in _UNREAD:
        if issubclass(kind, unread):
            notes.finding(f"a {kind.__name__} is not a reply; {advice}")
            return Reply(payload=shown(value), is_text=True)
    found = None if issubclass(kind, Mapping) else members_of(value)
    return as_plain(value) if found is None else _of_members(found, notes)


def _of_members(members: dict[str, Any], notes: Notes) -> Any:
    """Return the fields of an object as JSON, without those that are not part of the reply."""
    notes.rule("sdk-object")
    if "raw_item" in members and "output" in members:
        members = {name: members[name] for name in ("raw_item", "output")}
    elif members.keys() == _ERROR_DATA and type(members["code"]) is int:
        return Reply(error=as_plain(members))
    found = as_plain(members)
    if MEMBER in found and found[MEMBER] is None:  # of a class made of Accord's schema
        del found[MEMBER]
    for name, method in _OTHER_RESULTS.items():
        if isinstance(found.get(name), list) and "_meta" in found:
            notes.finding(f"the reply is a result of {method}, not of a tool")
            return {name: each for name, each in found.items() if each is not None}
    if found.keys() == {"root"}:
        return found["root"]
    return found


def _of_exception(error: BaseException, notes: Notes) -> Reply:
    """Return an exception as a failed reply."""
    for _ in range(_DEEPEST_GROUP):
        if not isinstance(error, BaseExceptionGroup) or len(error.exceptions) != 1:
            break
        error = error.exceptions[0]
    if isinstance(error, Problem):
        return _of_problem(error)
    notes.rule("exception")
    members = _rpc_error(error)
    if members is not None:
        return Reply(error=members)
    text = shown(error) if error.args else ""
    block = {"type": "text", "text": text.strip() or type(error).__name__}
    return Reply(result={"content": [block], "isError": True})


def _rpc_error(error: BaseException) -> dict[str, Any] | None:
    """Return the JSON-RPC error in an exception of an SDK; None if it has none."""
    held = attempt(getattr, error, "error")
    source = error if held is None else held
    found = {name: attempt(getattr, source, name) for name in ("code", "message", "data")}
    if type(found["code"]) is not int or type(found["message"]) is not str:
        return None
    return {name: plain_json(each) for name, each in found.items() if each is not None}


def _of_problem(problem: Problem) -> Reply:
    details = problem_details(plain_json(problem_members(problem)))
    failure = {"code": problem.code, "message": problem.message, "details": details}
    return Reply(result={"content": []}, known=Known(shape="problem", failure=failure))


def _of_answer(answer: Answer[Any]) -> Reply:
    data = answer.data
    try:
        value = msgspec.json.decode(data.json) if isinstance(data, Encoded) else data
    except (ValueError, RecursionError):
        value = shown(data)
    known = Known(
        shape="answer",
        value=answer.text if data is None and answer.message is None else plain_json(value),
        message=answer.message,
        page=answer.page,
        warnings=answer.warnings,  # type: ignore[arg-type]  # it has converted them to Notices
        is_partial=answer.partial,
        is_truncated=answer.truncated,
    )
    blocks = [plain_json(block(each, NEWEST)) for each in answer.blocks]
    return Reply(result={"content": blocks}, known=known)
