"""Renders outcomes as replies: in a profile, for a revision, within a size limit."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import msgspec

from accord.errors import ContractError, Reject
from accord.model.answer import Answer, FieldError, Problem, Value
from accord.model.context import ClientInfo
from accord.model.limits import DEFAULT_MAX_BYTES, Cutter, Position, resume, shorten, too_large
from accord.model.response import META_KEY
from accord.model.tool import Hints, Output, Tool, tool_without_call
from accord.model.values import too_deep
from accord.profiles import (
    PROFILES,
    Profile,
    RenderContext,
    Result,
    TextResult,
    profile_asked,
    profile_named,
)
from accord.protocol import messages, results
from accord.protocol.entries import tool_entry
from accord.protocol.events import Request
from accord.protocol.results import Identity
from accord.revisions import NEWEST, REVISIONS, Revision
from accord.server.continuation import Continuations, ToolRequest, has_own_cursor
from accord.server.forwarding import output_schema, replies_for
from accord.server.outcome import answer_of
from accord.signing import Cursors
from accord.telemetry import CallTimer, outcome_label

_MIN_BYTES: Final = 1_024  # a cut answer has a warning too
_MIN_TEXT: Final = 64
_MAX_NAME: Final = 128
_MAX_ERROR: Final = 256
_ONLY_IN_META: Final = ("problem", "meta")  # text and structure have the other details too
_FIELD_MARKS: Final = 48  # bytes of a field error besides its text


class Renderer:
    """Renders the outcomes of a server's tools as replies."""

    profile: Profile
    structured: bool
    max_bytes: int

    def set_identity(self, identity: Identity) -> None:
        """Set the identity that results of the stateless era carry."""
        self.stamp: Result = results.stamp(identity)
        self._end_of_result = results.ending(self.stamp)

    def set_continuations(self, continuations: Continuations) -> None:
        """Set what makes cursors to the parts of answers that were cut."""
        self._shortener = Shortener(continuations)

    def complete(self, result: Result, revision: Revision) -> Result:
        """Add the members that a revision requires in every result."""
        return results.complete(result, self.stamp) if revision.stateless else result

    def render(
        self,
        request: Request,
        tool: Tool,
        outcome: Answer[Value] | Problem | Reject,
        arguments: bytes | None = None,
        position: Position | None = None,
        timer: CallTimer | None = None,
        *,
        original: str | None = None,
        meta: Result | None = None,
    ) -> bytes:
        """Return the reply with an outcome, in the profile and revision of the caller.

        `arguments` are those of the call that a cursor stands for, and `position` is where its
        answer is resumed: a cursor counts from there. `original` is the id of the kept reply of
        another server that the answer is from, and `meta` is what its `_meta` has besides.
        """
        limit = tool.max_bytes or self.max_bytes
        if isinstance(outcome, Reject):
            return messages.failure(request.id, shortened_reject(outcome, limit))
        client = request.client
        revision = client.revision if self.structured else _without_structure(client.revision)
        is_default = tool.profile is None and not client.capabilities
        profile = self.profile if is_default else self.profile_of(tool, client)
        observed = None if timer is None else timer.observed(outcome_label(outcome))
        context = RenderContext(tool, revision, observed)
        try:
            if isinstance(outcome, Answer):
                result: TextResult | Result | Reject = profile.success(outcome, context)
            else:
                result = profile.failure(outcome, context)
            if meta is not None:
                result = _with_meta(result, meta)
            if type(result) is TextResult:
                end = self._end_of_result if revision.stateless else b"}"
                reply = messages.success(request.id, result.parts(end))
            else:
                reply = self._encode(request, result, revision)
        except RecursionError:
            raise too_deep(f"what {tool.name} says beside its data") from None
        if len(reply) > limit and size_of(result) > limit:
            if isinstance(outcome, Problem):
                result = self._shortener.failure(profile, outcome, context, limit)
            else:
                given = request.arguments if arguments is None else arguments
                result = self._shortener.success(
                    profile, outcome, context, limit, given, position, original
                )
            if meta is not None:
                result = _with_meta(result, meta)
            reply = self._encode(request, result, revision)
        return reply

    def _encode(
        self, request: Request, result: TextResult | Result | Reject, revision: Revision
    ) -> bytes:
        if isinstance(result, TextResult):
            result = result.to_dict()
        if isinstance(result, Reject):
            return messages.failure(request.id, result)
        return messages.reply(request.id, self.complete(result, revision))

    def tool_entry(self, tool: Tool, client: ClientInfo) -> Result:
        """Return the entry of a tool in `tools/list`."""
        revision = client.revision if self.structured else _without_structure(client.revision)
        foreign = tool.foreign
        if foreign is not None and replies_for(tool, client) != "normalised":
            schema = output_schema(foreign, revision)
        else:
            schema = self.profile_of(tool, client).output_schema(tool, revision)
        return tool_entry(tool, schema, client.revision)

    def profile_of(self, tool: Tool, client: ClientInfo) -> Profile:
        """Return the profile of a tool's results: the client's, the tool's or the server's."""
        asked = profile_asked(client.capabilities) if client.capabilities else None
        if asked is not None:
            return asked
        return self.profile if tool.profile is None else profile_named(tool.profile)


def _with_meta(result: TextResult | Result | Reject, meta: Result) -> TextResult | Result | Reject:
    if isinstance(result, Reject):
        return result
    members = result.to_dict() if isinstance(result, TextResult) else result
    return {**members, "_meta": {**members.get("_meta", {}), **meta}}


@lru_cache
def _without_structure(revision: Revision) -> Revision:
    return msgspec.structs.replace(revision, structured="none")


class Shortener:
    """Shortens outcomes that exceed a size limit."""

    def __init__(self, continuations: Continuations) -> None:
        self._continuations = continuations

    def success(
        self,
        profile: Profile,
        answer: Answer[Value],
        context: RenderContext,
        limit: int,
        arguments: bytes = b"{}",
        position: Position | None = None,
        original: str | None = None,
    ) -> TextResult | Result:
        """Return as much of an answer as the limit allows, with a cursor to what was cut."""
        tool = context.tool
        if tool.output.schema is not None and "contentEncoding" in tool.output.schema:
            raise too_large(limit)  # a part of a file is useless
        request = ToolRequest(tool, arguments, position, original)
        page = answer.page
        answer = Cutter(
            limit,
            fits=lambda part: size_of(profile.success(part, context)) <= limit,
            continuation=lambda position: self._continuations.after(request, position, page),
            begun=position,
            is_whole=not has_own_cursor(arguments),
            at_lines=original is not None,
        ).cut(answer)
        require_schema(answer, tool)
        return profile.success(answer, context)

    def failure(
        self, profile: Profile, problem: Problem, context: RenderContext, limit: int
    ) -> Result | Reject:
        """Return a problem with a shorter text."""
        room = limit
        while True:
            result = profile.failure(problem, context)
            if size_of(result) <= limit or room < _MIN_TEXT:
                return result
            room //= 2
            problem = _shortened(problem, room)


def resume_answer(
    answer: Answer[Value], tool: Tool, arguments: bytes, position: Position
) -> Answer[Value]:
    """Return the part of an answer after a position; raise if it breaks the tool's schema."""
    answer = resume(answer, position, is_whole=not has_own_cursor(arguments))
    require_schema(answer, tool)
    return answer


def shortened_reject(reject: Reject, limit: int) -> Reject:
    """Return a Reject with as many field errors as the limit allows."""
    data = reject.data
    if not isinstance(data, dict) or "validation_errors" not in data:
        return reject
    fields = tuple(data["validation_errors"])
    while fields and size_of(reject) > limit:
        fields = fields[: len(fields) // 2]
        message = shorten(reject.message, limit // 4)
        data = {**data, "validation_errors": fields}
        if META_KEY in data:
            data[META_KEY] = {**data[META_KEY], "message": message, "fields": fields}
        reject = Reject(reject.code, message, data)
    return reject


def require_room(max_bytes: int) -> None:
    """Raise if a limit leaves no room for the warning of a cut answer."""
    if max_bytes < _MIN_BYTES:
        raise ContractError(f"max_bytes is at least {_MIN_BYTES:,}")


def size_of(result: TextResult | Result | Reject) -> int:
    """Return the bytes of a result's text, of its structure or of its details: the largest."""
    if isinstance(result, Reject):
        return len(msgspec.json.encode(result))
    if isinstance(result, TextResult):
        result = result.to_dict()
    total = 0
    for block in result["content"]:
        words = block.get("text") or block.get("resource", {}).get("text", "")
        total += len(words) if words.isascii() else len(words.encode(errors="replace"))
    structure = result.get("structuredContent")
    if structure is not None:
        total = max(total, len(msgspec.json.encode(structure)))
    details = result.get("_meta", {}).get(META_KEY, {})
    beside = [details[name] for name in _ONLY_IN_META if name in details]
    return max(total, *(len(msgspec.json.encode(each)) for each in beside)) if beside else total


def require_schema(answer: Answer[Value], tool: Tool) -> None:
    """Raise if a cut answer does not match the tool's output schema."""
    if tool.output.check is None or isinstance(answer.data, str):
        return
    try:
        tool.output.check(answer.data.json)
    except msgspec.ValidationError as error:
        raise Problem.internal(
            "The answer is too large, and less of it would break its schema",
            code="TOO_LARGE",
            remediation="ask for less at a time",
        ) from error


def _shortened(problem: Problem, room: int) -> Problem:
    """Return a problem with shorter texts and fewer field errors."""
    return Problem(
        _beginning(problem.message, room // 2),
        kind=problem.kind,
        code=shorten(problem.code, room // 8),
        summary=problem.summary and shorten(problem.summary, room // 8),
        fields=_fewer(problem.fields, room // 4),
        remediation=problem.remediation and _beginning(problem.remediation, room // 8),
        retryable=problem.retryable,
        retry_after=problem.retry_after,
        data=_if_small(problem.data, room // 8),
        meta=_if_small(problem.meta, room // 8),
    )


def _if_small(members: Mapping[str, Any] | None, room: int) -> Mapping[str, Any] | None:
    return members if members and len(msgspec.json.encode(members)) <= room else None


def _beginning(text: str, room: int) -> str:
    """Return the beginning of a text, with an ellipsis if it was cut."""
    kept = shorten(text, room)
    return text if kept == text else f"{kept}…"


def _fewer(fields: Sequence[FieldError], room: int) -> list[FieldError]:
    kept: list[FieldError] = []
    for field in fields:
        name, error = shorten(field.field, _MAX_NAME), shorten(field.error, _MAX_ERROR)
        room -= len(name.encode()) + len(error.encode()) + _FIELD_MARKS
        if room < 0:
            break
        kept.append(FieldError(name, error, field.severity))
    return kept


def render(
    value: Any,
    *,
    tool: str = "tool",
    profile: str = "plain",
    revision: str = NEWEST.date,
    read_only: bool | None = None,
    is_text: bool = False,
    max_bytes: int = DEFAULT_MAX_BYTES,
) -> dict[str, Any]:
    """Return a value, Answer, Envelope or Problem as a CallToolResult, for any framework.

    A string is a JSON value unless it `is_text`, which is used as it is.

    A CallToolResult cannot hold the JSON-RPC errors of `bare`; there a Problem is rendered as in
    `plain`.
    """
    stand_in = tool_without_call(
        tool,
        description="",
        input_schema={},
        hints=Hints(read_only=read_only),
        output=Output(is_text=is_text, is_loose=not is_text),
    )
    return result_of(value, stand_in, profile=profile, revision=revision, max_bytes=max_bytes)


def result_of(
    value: Any, tool: Tool, *, profile: str, revision: str, max_bytes: int
) -> dict[str, Any]:
    """Return the value, Answer or Problem of a tool as a CallToolResult; see `render`."""
    if revision not in REVISIONS:
        raise ContractError(f"no revision {revision!r}; there are {', '.join(REVISIONS)}")
    require_room(max_bytes)
    chosen, context = profile_named(profile), RenderContext(tool, REVISIONS[revision])
    try:
        if isinstance(value, Problem):
            raise value
        result = _success(answer_of(value, tool), chosen, context, max_bytes)
    except Problem as problem:
        result = _failure(problem, chosen, context, max_bytes)
    if context.revision.stateless:
        result["resultType"] = "complete"
    plain_result: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(result))
    return plain_result


def _success(answer: Answer[Value], profile: Profile, context: RenderContext, limit: int) -> Result:
    result = profile.success(answer, context)
    if size_of(result) > limit:
        result = _shortener().success(profile, answer, context, limit)
    return result.to_dict() if isinstance(result, TextResult) else result


def _failure(problem: Problem, profile: Profile, context: RenderContext, limit: int) -> Result:
    result = _shortener().failure(profile, problem, context, limit)
    if isinstance(result, Reject):  # of `bare`
        result = _shortener().failure(PROFILES["plain"], problem, context, limit)
    assert not isinstance(result, Reject)
    return result


def _shortener() -> Shortener:
    """Return a Shortener without cursors: there is no server that resolves them."""
    return Shortener(Continuations(Cursors()))
