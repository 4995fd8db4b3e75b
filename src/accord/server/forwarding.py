"""Results of other servers' tools: sent as they are, repaired, or as the reader reads them."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec

from accord.model.answer import Answer, Problem
from accord.model.arguments import JsonSchema
from accord.model.context import ClientInfo
from accord.model.tool import Bound, Foreign, Replies, Tool
from accord.profiles import profile_asked
from accord.protocol.results import Result
from accord.revisions import Revision

if TYPE_CHECKING:
    from accord.reader import Reading

_DEFINITIONS: Final = ("$defs", "definitions")


class ForwardedResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of another server's tool."""

    tool: str
    """The name of the tool in its own server."""
    raw: bytes
    """The reply as received."""
    members: Mapping[str, Any]
    """The members of the result, repaired; still encoded if the reply is sent as it is."""
    replies: Replies
    changed: Sequence[str] = ()
    """What was repaired."""
    arguments: bytes = b"{}"
    server: str = ""
    reading: "Reading | None" = None
    """The reading, if it was made already."""
    note_change: Callable[[], None] = lambda: None
    """Counts that the result was changed."""

    def read(self) -> "Reading":
        """Return the reading of the reply."""
        if self.reading is not None:
            return self.reading
        if self.replies == "as-is":
            from accord.reader import read  # a server starts without it, and faster

            return read(self.raw, self.tool, msgspec.json.decode(self.arguments))
        return read_result(self.members, self.tool, self.arguments)

    def to_answer(self) -> Answer[Any]:
        """Return what the reply says, for middleware; raise a ForwardedProblem if it failed."""
        said = self.read().to_answer()
        if isinstance(said, Problem):
            raise ForwardedProblem(said, self)
        return said


def read_result(members: Mapping[str, Any], tool: str, arguments: bytes) -> "Reading":
    """Return the reading of a tool result."""
    from accord.reader import read  # a server starts without it, and faster

    reply = {"jsonrpc": "2.0", "id": 0, "result": members}
    return read(reply, tool, msgspec.json.decode(arguments))


class ForwardedProblem(Problem):
    """The failure of another server's tool, with its result."""

    def __init__(self, problem: Problem, result: ForwardedResult) -> None:
        super().__init__(
            problem.message,
            kind=problem.kind,
            code=problem.code,
            fields=problem.fields,
            remediation=problem.remediation,
            retryable=problem.retryable,
            retry_after=problem.retry_after,
        )
        self.result = result


def replies_for(tool: Tool, client: ClientInfo) -> Replies:
    """Return what is done with replies for a client: one that asks for a profile gets it."""
    assert tool.foreign is not None
    replies = tool.foreign.replies
    is_asked = bool(client.capabilities) and profile_asked(client.capabilities) is not None
    return "normalised" if replies == "repaired" and is_asked else replies


def outcome_of_result(result: ForwardedResult) -> Answer[Any] | Problem:
    """Return the outcome to count: success, or failure with the first words of the result."""
    if is_marked(result.members.get("isError")) or (result.reading and result.reading.is_failure):
        return Problem.internal("The tool of another server has failed")
    return Answer("given")


def is_marked(flag: Any) -> bool:
    """True if the `isError` of a result is true, encoded or not."""
    return flag is True or (isinstance(flag, msgspec.Raw) and bytes(flag) == b"true")


def replayed(tool: Tool, reply: bytes, *, is_whole: bool, client: ClientInfo) -> Tool:
    """Return a tool whose result is a kept reply."""
    members = msgspec.json.decode(reply)["result"]
    replies = "repaired" if is_whole else replies_for(tool, client)
    result = ForwardedResult(tool=tool.name, raw=reply, members=members, replies=replies)
    return msgspec.structs.replace(
        tool,
        bind=lambda _: Bound(None),
        invoke=lambda *_: result,
        is_async=False,
        wants_context=False,
        dependencies=None,
        timeout=None,
    )


def describe_changes(result: ForwardedResult, members: Result, original: str | None) -> Result:
    """Return the `_meta` of a normalised result: what was changed, and how sure the reading is."""
    before = result.members
    changed = [
        name
        for name in ("content", "structuredContent", "isError")
        if before.get(name) != members.get(name)
    ]
    details: Result = {"changed": [*result.changed, *changed]}
    details["confidence"] = result.read().confidence
    return details if original is None else details | {"original": original}


def output_schema(foreign: Foreign, revision: Revision) -> JsonSchema | None:
    """Return the output schema of another server's tool as a revision has it; None if it cannot."""
    schema = foreign.entry.get("outputSchema")
    if not isinstance(schema, dict) or revision.structured == "none":
        return None
    if revision.structured == "any" or schema.get("type") == "object":
        return schema
    if foreign.replies == "as-is":
        return None
    inner = {name: each for name, each in schema.items() if name not in _DEFINITIONS}
    wrapped = {"type": "object", "properties": {"result": inner}, "required": ["result"]}
    return {**wrapped, **{name: schema[name] for name in _DEFINITIONS if name in schema}}
