"""Replies with the results of other servers' tools: whole, or the part within the size limit."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import msgspec

from accord.model.answer import Problem
from accord.model.limits import Position, resume
from accord.model.response import GATEWAY_KEY
from accord.model.tool import Tool
from accord.protocol import Request, messages
from accord.protocol.results import Result
from accord.revisions import Revision
from accord.server.forwarding import ForwardedResult, describe_changes
from accord.server.outcome import answer_of
from accord.server.readings import for_revision, to_answer, to_result
from accord.server.rendering import Renderer, size_of

if TYPE_CHECKING:
    from accord.server.dispatcher import Dispatcher

KEPT_MEDIA: Final = "accord-reply://"
"""Start of the URIs of media in kept replies: a cursor to the reply and the number of a block."""
_OWN: Final = ("resultType", "inputRequests", "requestState")
_MAX_NAME: Final = 128
_MAX_DIGITS: Final = 8
_NOT_THEIRS: Final = ("io.modelcontextprotocol/serverInfo", GATEWAY_KEY)
"""Members of `_meta` that are of the connection, or our own words."""


def _media_size(block: Mapping[str, Any]) -> int:
    """Return the bytes of an image, audio or blob as they are sent; 0 for other blocks."""
    resource = block.get("resource")
    data = resource.get("blob") if isinstance(resource, Mapping) else block.get("data")
    return len(data) if isinstance(data, str) else 0


def _link_to(block: Mapping[str, Any], uri: str) -> dict[str, Any]:
    """Return a link to the media of a block."""
    resource = block.get("resource")
    inner = resource if isinstance(resource, Mapping) else block
    link = {
        "type": "resource_link",
        "uri": uri,
        "name": str(inner.get("uri") or block["type"])[:_MAX_NAME],
        "size": _media_size(block) * 3 // 4,
        "description": "It is larger than a reply may be; read the resource to get it.",
    }
    kind = inner.get("mimeType")
    return link | ({"mimeType": kind} if isinstance(kind, str) else {})


def kept_media(reply: bytes, number: str, uri: str) -> Result | None:
    """Return the contents of a link to media in a kept reply; None if there are none."""
    content = msgspec.json.decode(reply)["result"].get("content")
    is_number = number.isascii() and number.isdigit() and len(number) < _MAX_DIGITS
    if not is_number or not isinstance(content, list) or int(number) >= len(content):
        return None
    block = content[int(number)]
    if not isinstance(block, dict) or not _media_size(block):
        return None
    inner = block["resource"] if isinstance(block.get("resource"), dict) else block
    found = {"uri": uri, "blob": inner.get("blob", inner.get("data"))}
    kind = inner.get("mimeType")
    return {"contents": [found | ({"mimeType": kind} if isinstance(kind, str) else {})]}


def projected(result: ForwardedResult, revision: Revision, *, is_structured: bool) -> Result:
    """Return the members of a result as a revision has them."""
    members = {name: each for name, each in result.members.items() if name not in _OWN}
    meta = members.pop("_meta", None)
    if isinstance(meta, msgspec.Raw):
        meta = msgspec.json.decode(meta)
    if isinstance(meta, Mapping):
        meta = {name: each for name, each in meta.items() if name not in _NOT_THEIRS}
    if result.changed:
        meta = {**(meta or {}), GATEWAY_KEY: {"changed": list(result.changed)}}
    if meta:
        members["_meta"] = meta
    if result.replies == "as-is":
        return members
    members["content"] = [for_revision(each, revision) for each in members["content"]]
    if "structuredContent" in members:
        structure = members.pop("structuredContent")
        if is_structured and revision.structured != "none":
            is_object = isinstance(structure, Mapping) or revision.structured == "any"
            members["structuredContent"] = structure if is_object else {"result": structure}
    return members


def normalised(
    result: ForwardedResult, profile: str, revision: Revision, *, tool: str, max_bytes: int
) -> Result:
    """Return the reading of a result in a profile."""
    reading = result.read()
    members: Result = to_result(reading, profile, revision.date, tool=tool, max_bytes=max_bytes)
    members.pop("resultType", None)
    if isinstance(members.get("_meta"), dict):
        members["_meta"].pop(GATEWAY_KEY, None)
    return members


class Forwarding(msgspec.Struct, frozen=True, kw_only=True):
    """A result on its way to the caller of a request."""

    dispatcher: "Dispatcher"
    request: Request
    tool: Tool
    result: ForwardedResult
    principal: bytes | None
    position: Position | None = None
    original: str | None = None
    """The id of the kept reply that the result is from."""

    def reply(self) -> bytes:
        """Return the reply: whole if it is within the limit, else the part that fits."""
        if len(self.result.raw) > self._limit and self.result.replies != "as-is":
            linked = self._linked()
            if linked is not None:
                return linked.reply()
        if self.position is None:
            members = self._whole()
            if members is not None:
                reply = self._encode(members)
                if len(reply) <= self._limit or self._size_of(members) <= self._limit:
                    return reply
            if self.result.replies == "as-is":
                return self._render(self.tool, self._too_large())
        return self._part()

    def _linked(self) -> "Forwarding | None":
        """Return this with links in the place of the largest media; None if they are no more.

        What the links lead to is kept as long as the original of a reply.
        """
        content = self.result.members["content"]
        sizes = {number: _media_size(block) for number, block in enumerate(content)}
        left = sum(sizes.values())
        if left <= self._limit:
            return None
        original = self.original or self._keep()
        cursor = self._cursor(original)
        if cursor is None:
            return None
        linked = list(content)
        for number in sorted(sizes, key=lambda each: -sizes[each]):
            if left <= self._limit:
                break
            linked[number] = _link_to(content[number], f"{KEPT_MEDIA}{cursor}/{number}")
            left -= sizes[number]
        members = {**self.result.members, "content": linked}
        result = msgspec.structs.replace(
            self.result,
            raw=msgspec.json.encode({"result": members}),
            members=members,
            reading=None,
            changed=(*self.result.changed, "content: media over the size limit are links"),
        )
        return msgspec.structs.replace(self, result=result, original=original)

    @property
    def _renderer(self) -> Renderer:
        return self.dispatcher.renderer

    @property
    def _limit(self) -> int:
        return self.tool.max_bytes or self._renderer.max_bytes

    def _encode(self, members: Result) -> bytes:
        complete = self._renderer.complete(members, self.request.revision)
        return messages.reply(self.request.id, complete)

    def _size_of(self, members: Result) -> int:
        if self.result.replies == "as-is":  # the members are encoded
            members = msgspec.json.decode(msgspec.json.encode(members))
        content = members.get("content")
        is_valid = isinstance(content, list) and all(isinstance(each, dict) for each in content)
        if is_valid and not any(_media_size(each) for each in content or ()):
            return size_of(members)
        return len(msgspec.json.encode(members))

    def _whole(self) -> Result | None:
        """Return the members of the whole result; None if they clearly exceed the limit."""
        revision, is_structured = self.request.revision, self._renderer.structured
        if self.result.replies != "normalised":
            return projected(self.result, revision, is_structured=is_structured)
        if 2 * len(self.result.raw) > self._limit:
            return None
        profile = self._renderer.profile_of(self.tool, self.request.client).name
        members = normalised(
            self.result, profile, revision, tool=self.tool.name, max_bytes=self._limit
        )
        if not is_structured:
            members.pop("structuredContent", None)
        original = self.original or self._keep()
        details = describe_changes(self.result, members, self._cursor(original))
        members["_meta"] = {**members.get("_meta", {}), GATEWAY_KEY: details}
        if details["changed"] and not self.result.changed:  # repairs are counted already
            self.result.note_change()
        return members

    def _part(self) -> bytes:
        """Return the part of the result after the position that is within the limit."""
        tool = self.tool
        if self.result.replies == "repaired":
            tool = msgspec.structs.replace(tool, profile="plain")
        said = to_answer(self.result.read())
        if isinstance(said, Problem):
            return self._render(tool, said)
        answer = answer_of(said, tool)
        if self.position is not None:
            answer = resume(answer, self.position)
        original = self.original or self._keep()
        details: Result = {"confidence": self.result.read().confidence}
        cursor = self._cursor(original)
        details |= {} if cursor is None else {"original": cursor}
        return self._render(tool, answer, original=original, meta={GATEWAY_KEY: details})

    def _render(self, tool: Tool, outcome: Any, **options: Any) -> bytes:
        return self._renderer.render(self.request, tool, outcome, b"{}", self.position, **options)

    def _keep(self) -> str | None:
        encoded = msgspec.json.encode({"result": self.result.members})
        return self.dispatcher.originals.put(encoded, self.principal)

    def _cursor(self, original: str | None) -> str | None:
        if original is None:
            return None
        return self.dispatcher.continuations.to_original(self.tool.name, original)

    def _too_large(self) -> Problem:
        return Problem.internal(
            f"The reply of server {self.result.server!r} is larger than the limit of"
            f" {self._limit:,} bytes",
            code="TOO_LARGE",
            remediation="ask for less at a time",
        )
