"""Renders answers as tool results: in a profile, for a revision, within a size limit."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from accord.errors import ContractError, Reject
from accord.model.answer import Answer, FieldError, Problem, Value
from accord.model.limits import DEFAULT_MAX_BYTES, Cutter, Position, resume, shorten, too_large
from accord.model.tool import Hints, Output, Tool, tool_without_call
from accord.profiles import PROFILES, Profile, RenderContext, Result, TextResult, profile_named
from accord.revisions import NEWEST, REVISIONS
from accord.server.continuation import Asked, Rest, has_own_cursor
from accord.server.outcome import answer_of
from accord.signing import Cursors

_LEAST_BYTES: Final = 1_024  # what a cut answer has to say of itself needs room too
_LEAST_WORDS: Final = 64
_LONGEST_NAME: Final = 128
_LONGEST_ERROR: Final = 256
_FIELD_MARKS: Final = 48  # what a field error has around its words


class Shortener:
    """Says less where there is more to say than a limit allows."""

    def __init__(self, rest: Rest) -> None:
        self._rest = rest

    def success(
        self,
        profile: Profile,
        answer: Answer[Value],
        setting: RenderContext,
        limit: int,
        arguments: bytes = b"{}",
        place: Position | None = None,
    ) -> TextResult | Result:
        """As much of an answer as the limit allows, and how to get the rest."""
        tool = setting.tool
        if tool.output.schema is not None and "contentEncoding" in tool.output.schema:
            raise too_large(limit)  # half of a file is no file
        asked = Asked(tool, arguments, place)
        answer = Cutter(
            limit,
            fits=lambda part: size_of(profile.success(part, setting)) <= limit,
            continuation=lambda place: self._rest.way(asked, place),
            begun=place,
            is_whole=not has_own_cursor(arguments),
        ).cut(answer)
        require_schema(answer, tool)
        return profile.success(answer, setting)

    def failure(
        self, profile: Profile, problem: Problem, setting: RenderContext, limit: int
    ) -> Result | Reject:
        """A problem that says less."""
        room = limit
        while True:
            result = profile.failure(problem, setting)
            if size_of(result) <= limit or room < _LEAST_WORDS:
                return result
            room //= 2
            problem = _shortened(problem, room)


def resumed(answer: Answer[Value], tool: Tool, arguments: bytes, place: Position) -> Answer[Value]:
    """The rest of an answer, if that is still what its tool promises."""
    answer = resume(answer, place, is_whole=not has_own_cursor(arguments))
    require_schema(answer, tool)
    return answer


def shortened_reject(reject: Reject, limit: int) -> Reject:
    """A refusal that names no more bad fields than the limit has room for."""
    data = reject.data
    if not isinstance(data, dict) or "validation_errors" not in data:
        return reject
    fields = tuple(data["validation_errors"])
    while fields and size_of(reject) > limit:
        fields = fields[: len(fields) // 2]
        message = shorten(reject.message, limit // 4)
        reject = Reject(reject.code, message, {**data, "validation_errors": fields})
    return reject


def require_room(max_bytes: int) -> None:
    """Raise if a limit leaves no room to say that something was cut."""
    if max_bytes < _LEAST_BYTES:
        raise ContractError(f"max_bytes is at least {_LEAST_BYTES:,}")


def size_of(result: TextResult | Result | Reject) -> int:
    """The bytes of a result's text, or of its structure where that has more."""
    if isinstance(result, Reject):
        return len(msgspec.json.encode(result))
    if isinstance(result, TextResult):
        result = result.to_dict()
    total = 0
    for block in result["content"]:
        words = block.get("text") or block.get("resource", {}).get("text", "")
        total += len(words) if words.isascii() else len(words.encode(errors="replace"))
    structure = result.get("structuredContent")
    if isinstance(structure, dict):
        structure = structure["result"]
    return total if structure is None else max(total, len(memoryview(structure)))


def require_schema(answer: Answer[Value], tool: Tool) -> None:
    """Raise if what is left of an answer is no longer what its tool promises."""
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
    """The same problem in fewer words: its message first, then what to do, then bad fields."""
    message = shorten(problem.message, room // 2)
    return Problem(
        message if message == problem.message else f"{message}…",
        kind=problem.kind,
        code=shorten(problem.code, room // 8),
        summary=problem.summary and shorten(problem.summary, room // 8),
        fields=_fewer(problem.fields, room // 4),
        remediation=problem.remediation and shorten(problem.remediation, room // 8),
        retryable=problem.retryable,
        retry_after=problem.retry_after,
    )


def _fewer(fields: Sequence[FieldError], room: int) -> list[FieldError]:
    kept: list[FieldError] = []
    for field in fields:
        name, error = shorten(field.field, _LONGEST_NAME), shorten(field.error, _LONGEST_ERROR)
        room -= len(name.encode()) + len(error.encode()) + _FIELD_MARKS
        if room < 0:
            break
        kept.append(FieldError(name, error, field.severity))
    return kept


def render(
    said: Any,
    *,
    tool: str = "tool",
    profile: str = "plain",
    revision: str = NEWEST.date,
    read_only: bool | None = None,
    is_text: bool = False,
    max_bytes: int = DEFAULT_MAX_BYTES,
) -> dict[str, Any]:
    """A value, an Answer or a Problem as a CallToolResult, for a server of any framework.

    A string is a JSON value unless it `is_text`, which goes in as it stands.

    A CallToolResult cannot hold the JSON-RPC errors of `bare`; there a Problem is worded as in
    `plain`.
    """
    if revision not in REVISIONS:
        raise ContractError(f"no revision {revision!r}; there are {', '.join(REVISIONS)}")
    chosen = profile_named(profile)
    require_room(max_bytes)
    stand_in = tool_without_call(
        tool,
        description="",
        input_schema={},
        hints=Hints(read_only=read_only),
        output=Output(is_text=is_text, is_loose=not is_text),
    )
    setting = RenderContext(stand_in, REVISIONS[revision])
    shortening = Shortener(Rest(Cursors()))
    result: TextResult | Result | Reject
    if isinstance(said, Problem):
        result = shortening.failure(chosen, said, setting, max_bytes)
        if isinstance(result, Reject):
            result = shortening.failure(PROFILES["plain"], said, setting, max_bytes)
        assert not isinstance(result, Reject)
    else:
        answer = answer_of(said, setting.tool)
        result = chosen.success(answer, setting)
        if size_of(result) > max_bytes:
            try:
                result = shortening.success(chosen, answer, setting, max_bytes)
            except Problem as problem:
                return render(problem, tool=tool, profile=profile, revision=revision)
    result = result.to_dict() if isinstance(result, TextResult) else result
    if setting.revision.stateless:
        result["resultType"] = "complete"
    plain_result: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(result))
    return plain_result
