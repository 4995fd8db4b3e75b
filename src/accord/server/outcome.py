"""Turns the value or exception of a call into its outcome, and logs failures."""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, Final

import msgspec
from msgspec import Raw

from accord.errors import (
    INVALID_PARAMS,
    MISSING_CLIENT_CAPABILITY,
    ContractError,
    Reject,
    Rejected,
    TooDeep,
)
from accord.model.answer import (
    MASKED,
    Answer,
    Encoded,
    FieldError,
    InputRequired,
    Notice,
    Problem,
    Value,
)
from accord.model.arguments import Checker, InvalidValue
from accord.model.content import Block
from accord.model.context import MissingCapability, WrongAnswer
from accord.model.envelope import envelope_in, to_answer
from accord.model.tool import Tool
from accord.model.values import is_deep_json, plain_value, require_json, too_deep
from accord.profiles.bare import invalid_params
from accord.revisions import Revision
from accord.server.forwarding import ForwardedResult

Outcome = Answer[Value] | Problem | Reject | InputRequired
"""A result, a failure, a request for input of the client, or a protocol error."""

log: logging.Logger = logging.getLogger("accord")

_MAX_PARTS: Final = 8  # of a wrong result in the log
_MAX_FRAMES: Final = 20  # at each end of a traceback in the log; a recursion has thousands
_ENCODED_TYPES: Final = frozenset({Encoded, Raw})
_encode = msgspec.json.Encoder(enc_hook=plain_value).encode
_replace = msgspec.structs.replace
_NEWLINE: Final = ord("\n")
_NOTHING: Final = Encoded(b"null")
_encode_sorted = msgspec.json.Encoder(order="deterministic", enc_hook=plain_value).encode


def answer_of(value: Any, tool: Tool, warnings: Sequence[Notice] = ()) -> Answer[Value]:
    """Return a tool's value as an Answer whose data is text, or JSON that matches its schema.

    The error of a value that does not fit has the file and line of the tool's function.
    """
    try:
        if type(value) is Answer or isinstance(value, Answer):
            answer = _with_encoded_data(value, tool)
        elif (envelope := envelope_in(value)) is not None:
            answer = _with_encoded_data(to_answer(envelope), tool)
        elif tool.output.schema is None and _is_content(value):
            answer = _content(value)
        else:
            answer = Answer(_encoded(value, tool))
    except ContractError as error:
        if tool.function is not None and not isinstance(error, TooDeep):  # callers see TooDeep
            error.locate(tool.function)
        raise
    return answer.with_warnings(warnings) if warnings else answer


def plain_answer(value: Any, tool: Tool) -> Answer[Any]:
    """Return a tool's value as an Answer, for middleware; its data is not checked yet."""
    if isinstance(value, Answer):
        return value
    if isinstance(value, ForwardedResult):
        return value.to_answer()
    envelope = envelope_in(value)
    if envelope is not None:
        return to_answer(envelope)
    is_content = tool.output.schema is None and _is_content(value)
    return _content(value) if is_content else Answer(value)


def _with_encoded_data(answer: Answer[Any], tool: Tool) -> Answer[Value]:
    data = answer.data
    if data is None and tool.output.is_text and (answer.message or answer.blocks):
        return _replace(answer, data=_NOTHING)
    return _replace(answer, data=_encoded(data, tool))


def _is_content(value: Any) -> bool:
    """True for a content block, or a list of blocks and texts."""
    if isinstance(value, list | tuple):
        has_block = any(isinstance(each, Block) for each in value)
        return has_block and all(isinstance(each, Block | str) for each in value)
    return isinstance(value, Block)


def _content(value: Any) -> Answer[Value]:
    """Return blocks and texts as an answer; a first text becomes its data."""
    first, *others = value if isinstance(value, list | tuple) else [value]
    if isinstance(first, str):
        return Answer(first, blocks=others)
    return Answer(_NOTHING, blocks=[first, *others])


def _encoded(data: Any, tool: Tool) -> Value:
    """Return data as text, or as one line of JSON that matches the tool's schema."""
    output = tool.output
    if output.is_text:
        if not isinstance(data, str):
            raise ContractError(f"{tool.name} is to return str, not {type(data).__name__}")
        return data
    if type(data) in _ENCODED_TYPES:
        return _checked(data, tool)
    if output.encode is not None:
        return _encoded_by(output.encode, data, tool)
    json = b""
    try:
        json = _encode_sets(data) if output.is_unordered else _encode(data)
        check = output.check
        if check is None or _NEWLINE in json:  # inside may be JSON of the author's own
            json = _format(json)
        if check is not None:
            check(json)
    except RecursionError:
        raise too_deep(_result_of(tool)) from None
    except TypeError:
        _require_json(data, tool)
        raise
    except msgspec.ValidationError as error:
        _require_json(data, tool)
        raise _misfit(json, tool, error) from error
    if output.is_recursive and is_deep_json(json):
        raise too_deep(_result_of(tool))
    if output.is_loose or (output.hides_nan and b"null" in json):
        _require_json(data, tool)
    return Encoded(json)


def _checked(data: Encoded | Raw, tool: Tool) -> Encoded:
    """Return data that is JSON already, if it matches the tool's schema."""
    encoded = data if isinstance(data, Encoded) else Encoded(bytes(data))
    if not encoded.is_checked:
        encoded = _replace(encoded, json=_compact(encoded.json, tool))
    if tool.output.check is not None:
        try:
            tool.output.check(encoded.json)
        except msgspec.ValidationError as error:
            raise _misfit(encoded.json, tool, error) from error
    return encoded


def _encoded_by(encode: Callable[[Any], bytes], data: Any, tool: Tool) -> Encoded:
    """Return data as JSON by the encoder of the tool's type."""
    try:
        return Encoded(encode(data))
    except RecursionError:
        raise too_deep(_result_of(tool)) from None
    except msgspec.ValidationError as error:
        raise _misfit(b"", tool, error) from error


def _misfit(json: bytes, tool: Tool, error: msgspec.ValidationError) -> ContractError:
    """Return the error of a value that is not of the tool's return type: the parts that differ."""
    if isinstance(error, InvalidValue):
        fields = error.fields
    else:
        checker = Checker(tool.output.schema or {}, formats=False)
        reason = FieldError("", str(error).replace("`", ""))
        fields = tuple(checker.explain_json(json, unreadable=reason, otherwise=reason))
    parts = [f"${'.' if e.field[:1] not in ('', '[') else ''}{e.field}: {e.error}" for e in fields]
    more = f"; and {len(parts) - _MAX_PARTS} more" if len(parts) > _MAX_PARTS else ""
    return ContractError(
        f"{_result_of(tool)} does not fit its return type: {'; '.join(parts[:_MAX_PARTS])}{more}"
    )


def _require_json(data: Any, tool: Tool) -> None:
    """Raise if a tool's value is not JSON; the error names the place."""
    require_json(data, _result_of(tool), is_declared=not tool.output.is_loose)


def _result_of(tool: Tool) -> str:
    return f"the result of {tool.name}"


def _encode_sets(data: Any) -> bytes:
    """Encode sets in a fixed order if msgspec can: it sorts only if all keys are text."""
    try:
        return _encode_sorted(data)
    except TypeError:
        return _encode(data)


def _compact(json: bytes, tool: Tool) -> bytes:
    """Return the JSON of a source on one line; raise if it is malformed or too deep."""
    try:
        line = _format(json)
    except RecursionError:
        raise too_deep(_result_of(tool)) from None
    if is_deep_json(line):
        raise too_deep(_result_of(tool))
    return line


def _format(json: bytes) -> bytes:
    json.decode()
    return msgspec.json.format(json, indent=-1)


def outcome_of(error: BaseException, revision: Revision) -> Outcome | BaseException:
    """Return the meaning of an exception for the caller; the exception if it has none."""
    if isinstance(error, MissingCapability):
        return _lacking(error, revision)
    if isinstance(error, Rejected):
        return error.reject
    if isinstance(error, WrongAnswer):
        return _invalid_response(error, revision)
    if isinstance(error, BaseExceptionGroup):
        try:
            return _outcome_of_group(error, revision)
        except RecursionError:  # thousands of groups inside of each other
            return error
    return error


def _outcome_of_group(
    group: BaseExceptionGroup[Any], revision: Revision
) -> Outcome | BaseException:
    """Return the meaning of a task group with one exception, or only input requests."""
    asking, others = group.split(InputRequired)
    if asking is not None and others is None:
        return InputRequired({k: q for each in _leaves(asking) for k, q in each.questions.items()})
    if len(group.exceptions) > 1:
        return group
    (only,) = group.exceptions
    outcome = outcome_of(only, revision)
    is_clear = isinstance(outcome, Problem | TooDeep) or not isinstance(outcome, BaseException)
    return outcome if is_clear else group


def _leaves(group: BaseExceptionGroup[Any]) -> list[InputRequired]:
    found: list[InputRequired] = []
    for error in group.exceptions:
        found += _leaves(error) if isinstance(error, BaseExceptionGroup) else [error]
    return found


def _lacking(missing: MissingCapability, revision: Revision) -> Outcome:
    """Return a protocol error in the stateless era; before it, a tool error."""
    if revision.stateless:
        data = {"requiredCapabilities": missing.capabilities}
        return Reject(MISSING_CLIENT_CAPABILITY, str(missing), data)
    return Problem.unavailable(str(missing), retryable=False)


def _invalid_response(wrong: WrongAnswer, revision: Revision) -> Outcome:
    """Return a protocol error in the stateless era, where responses are params; else a Problem."""
    if not revision.stateless:
        return Problem.validation(str(wrong), fields=wrong.fields)
    fields = [FieldError(f"inputResponses.{each.field}", each.error) for each in wrong.fields]
    return Reject(INVALID_PARAMS, str(wrong), {"validation_errors": fields})


def mask(error: BaseException) -> Problem:
    """Return the problem that replaces an exception that is not meant for the caller."""
    if isinstance(error, TooDeep):
        sentence = str(error)
        return Problem.internal(sentence[:1].upper() + sentence[1:], code="TOO_DEEP")
    return MASKED


def log_failure(what: str, error: BaseException) -> None:
    """Log an exception whose details the caller does not get."""
    with suppress(Exception):  # a log handler that a tool has broken must not break the call
        if isinstance(error, TooDeep) or getattr(error, "location", None):  # that is the cause
            log.error("%s failed: %s", what, error)
            return
        frames = list(_frames(error.__traceback__))
        left_out = len(frames) - 2 * _MAX_FRAMES
        if left_out <= 0:
            log.error("%s failed", what, exc_info=error)
            return
        shown = _linked(frames[:_MAX_FRAMES] + frames[-_MAX_FRAMES:])
        exc_info = (type(error), error, shown)
        log.error("%s failed (%d frames left out)", what, left_out, exc_info=exc_info)


def _frames(traceback: TracebackType | None) -> Iterator[TracebackType]:
    while traceback is not None:
        yield traceback
        traceback = traceback.tb_next


def _linked(frames: Sequence[TracebackType]) -> TracebackType | None:
    """Return a new traceback of these frames."""
    linked: TracebackType | None = None
    for each in reversed(frames):
        linked = TracebackType(linked, each.tb_frame, each.tb_lasti, each.tb_lineno)
    return linked


def outcome_of_arguments(error: BaseException, revision: Revision) -> Outcome | BaseException:
    """Return the meaning of an exception while arguments are checked.

    Invalid arguments are a tool error, or a protocol error in older revisions.
    """
    if isinstance(error, Problem) and not revision.argument_failures:
        return invalid_params(error)
    return outcome_of(error, revision)
