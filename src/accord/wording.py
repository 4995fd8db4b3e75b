"""What a tool says, into a tool result: in a profile, for a revision, and within a size."""

from typing import Any, Final

import msgspec

from accord.answer import Answer, Problem, Said
from accord.cursors import Cursors
from accord.errors import ContractError, Reject
from accord.limits import DEFAULT_MAX_BYTES, Place, cut, resume, shorten
from accord.outcome import answer_of
from accord.profiles import Profile, Result, Setting, plain, profile_named
from accord.rest import Asked, Rest
from accord.revisions import NEWEST, REVISIONS
from accord.tool import Hints, Tool, run_elsewhere

_LEAST_BYTES: Final = 1_024  # what a cut answer has to say of itself needs room too
_MOST_FIELDS: Final = 32


class Wording:
    """Words what tools say, and keeps it within `max_bytes` of text."""

    def __init__(self, rest: Rest, max_bytes: int) -> None:
        self._rest = rest
        self._max_bytes = max_bytes

    def success(
        self,
        profile: Profile,
        answer: Answer[Said],
        setting: Setting,
        arguments: bytes = b"{}",
        place: Place | None = None,
    ) -> Result:
        """An answer, or as much of it as the caller lacks and the limit allows."""
        if place is not None:
            answer = resume(answer, place)
        result = profile.success(answer, setting)
        limit = setting.tool.max_bytes or self._max_bytes
        if _is_small(answer, limit) or _size(result) <= limit:
            return result
        asked = Asked(setting.tool, arguments, place)
        answer = cut(
            answer,
            place,
            limit,
            fits=lambda part: _size(profile.success(part, setting)) <= limit,
            way=lambda place: self._rest.way(asked, place),
        )
        _require_schema(answer, setting.tool)
        return profile.success(answer, setting)

    def failure(self, profile: Profile, problem: Problem, setting: Setting) -> Result | Reject:
        """A problem; one with more to say than the limit allows says less."""
        limit = setting.tool.max_bytes or self._max_bytes
        if len(problem.message) * 4 + len(problem.fields) * 256 > limit:
            problem = _shortened(problem, limit)
        return profile.failure(problem, setting)


def require_room(max_bytes: int) -> None:
    """Raise if a limit leaves no room to say that something was cut."""
    if max_bytes < _LEAST_BYTES:
        raise ContractError(f"max_bytes is at least {_LEAST_BYTES:,}")


def _is_small(answer: Answer[Said], limit: int) -> bool:
    """Whether an answer is far from any limit, so that nobody has to look at the result.

    Nothing makes data larger than indenting it, by no more than the square of its length.
    """
    data = answer.data
    length = len(data) * 4 if isinstance(data, str) else len(data.json)
    has_words = answer.message or answer.text or answer.page or answer.warnings
    return length * length < limit and not has_words


def _size(result: Result) -> int:
    """The bytes of a result's text, or of its structure where that has more."""
    total = 0
    for block in result["content"]:
        words = block.get("text", "")
        total += len(words) if words.isascii() else len(words.encode())
    structure = result.get("structuredContent")
    if isinstance(structure, dict):
        structure = structure["result"]
    return total if structure is None else max(total, len(memoryview(structure)))


def _require_schema(answer: Answer[Said], tool: Tool) -> None:
    """Raise if what is left of an answer is no longer what its tool promises."""
    if tool.check is None or isinstance(answer.data, str):
        return
    try:
        tool.check(answer.data.json)
    except msgspec.ValidationError as error:
        raise Problem.internal(
            "The answer is too large, and less of it would break its schema",
            code="TOO_LARGE",
            remediation="ask for less at a time",
        ) from error


def _shortened(problem: Problem, limit: int) -> Problem:
    message = shorten(problem.message, limit // 4)
    return Problem(
        message if message == problem.message else f"{message}…",
        kind=problem.kind,
        code=problem.code,
        summary=None if problem.summary is None else shorten(problem.summary, limit // 8),
        fields=problem.fields[:_MOST_FIELDS],
        remediation=None
        if problem.remediation is None
        else shorten(problem.remediation, limit // 8),
        retryable=problem.retryable,
        retry_after=problem.retry_after,
    )


def render(
    said: Any,
    *,
    tool: str = "tool",
    profile: str = "plain",
    revision: str = NEWEST.date,
    read_only: bool | None = None,
    max_bytes: int = DEFAULT_MAX_BYTES,
) -> dict[str, Any]:
    """A value, an Answer or a Problem as a CallToolResult, for a server of any framework.

    A CallToolResult cannot hold the JSON-RPC errors of `bare`; there a Problem is worded as in
    `plain`.
    """
    if revision not in REVISIONS:
        raise ContractError(f"no revision {revision!r}; there are {', '.join(REVISIONS)}")
    chosen = profile_named(profile)
    require_room(max_bytes)
    stand_in = run_elsewhere(
        tool, description="", input_schema={}, is_loose=True, hints=Hints(read_only=read_only)
    )
    setting = Setting(stand_in, REVISIONS[revision])
    wording = Wording(Rest(Cursors()), max_bytes)
    result: Result | Reject
    if isinstance(said, Problem):
        result = wording.failure(chosen, said, setting)
        if isinstance(result, Reject):
            result = plain.failure(said, setting)
    else:
        answer = answer_of(said, setting.tool)
        result = wording.success(chosen, answer, setting)
    if setting.revision.stateless:
        result["resultType"] = "complete"
    plain_result: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(result))
    return plain_result
