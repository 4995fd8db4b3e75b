"""An interceptor for `langchain-mcp-adapters` that reads tool results for an agent.

    MultiServerMCPClient({...}, tool_interceptors=[AccordInterceptor()])

A failure that the server reports as a success becomes an error; the artifact is the generic
response; further pages are requested if `follow_pages` says so.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import aclosing
from typing import Any, Final, NamedTuple

import msgspec

from accord.errors import ContractError, PeerError
from accord.integrations.failures import failure_text, levels_from
from accord.integrations.replies import (
    Block,
    Wire,
    is_text,
    rpc_error,
    shows_structure,
    wire_of,
)
from accord.model.answer import Notice, Page
from accord.model.content import text as text_block
from accord.model.limits import TRUNCATED
from accord.model.response import Pagination, Response, Summary
from accord.model.values import known
from accord.pages import following, is_list, items_of, pages
from accord.reader import Reading, read
from accord.reader.reading import Confidence

Handler = Callable[[Any], Awaitable[Any]]

_MAX_BYTES: Final = 262_144
_OF_THE_CLIENT: Final = frozenset({-32000, -32001, 408})
"""Codes that the SDK's client gives a closed connection and a timeout."""
_encode: Final = msgspec.json.Encoder().encode


class AccordInterceptor:
    """Reads each tool result before the model sees it.

    `confidence` is the lowest confidence at which a failure that the server did not declare becomes
    an error: with "likely", a reading that is only a "guess" stays a success.

    `follow_pages` is the largest number of pages of a list that one call of the model requests. It
    applies to tools whose server declares them read-only, and to those named in `read_only`. No
    page is requested once the items take `max_bytes` of JSON.
    """

    def __init__(
        self,
        *,
        confidence: Confidence = "likely",
        follow_pages: int = 1,
        max_bytes: int = _MAX_BYTES,
        read_only: Collection[str] = (),
    ) -> None:
        try:
            import langchain_mcp_adapters.interceptors
        except ImportError as missing:
            raise ImportError(
                "AccordInterceptor needs its framework: pip install langchain-mcp-adapters"
            ) from missing
        del langchain_mcp_adapters
        if isinstance(read_only, str):
            raise ContractError("read_only must be a collection of tool names, not a string")
        for name, number in (("follow_pages", follow_pages), ("max_bytes", max_bytes)):
            if type(number) is not int or number < 1:
                raise ContractError(f"{name} must be a whole number above 0, not {number!r}")
        self._surest = levels_from(confidence)
        self._max_pages = follow_pages
        self._max_bytes = max_bytes
        self._read_only = frozenset(read_only)

    async def __call__(self, request: Any, handler: Handler) -> Any:
        """Call the tool, and return its result as the model is to see it."""
        from mcp.types import CallToolResult

        try:
            result = await handler(request)
        except rpc_error() as error:
            return self._rejected(request, error)
        if not isinstance(result, CallToolResult):
            return result  # another interceptor has replaced it
        reply = _wire(result)
        reading = read(reply, request.name, request.args)
        tool = _tool_of(request)
        schema = _schema_of(tool)
        may_follow = self._may_follow(request, tool) and is_list(reading)
        if may_follow and following(reading, request.name, request.args, schema):
            shown = await self._follow(request, handler, reply, schema)
        else:
            shown = self._single(request, reply, reading)
        return _result(request, tool, shown)

    def _rejected(self, request: Any, error: Any) -> Any:
        """Return a JSON-RPC error as an error of the tool; raise one of the client itself."""
        reply = error.error
        if reply.code in _OF_THE_CLIENT:
            raise error
        members = {"code": reply.code, "message": reply.message, "data": reply.data}
        reading = read({"error": members}, request.name, request.args)
        reason = text_block(failure_text(reading))
        shown = _Shown([reason], reading.response.to_dict(), is_error=True)
        return _result(request, _tool_of(request), shown)

    def _single(self, request: Any, reply: Wire, reading: Reading) -> "_Shown":
        """Return what the model sees of one reply."""
        blocks = _complete(request, reply, reading)
        is_error = reply.get("isError") is True
        if not is_error and reading.is_failure and reading.confidence in self._surest:
            is_error = True
            blocks = _with_reason(blocks, reading)
        if is_error and not blocks:
            blocks = [text_block(reading.response.message or "The tool failed")]
        return _Shown(blocks, reading.response.to_dict(), is_error)

    def _may_follow(self, request: Any, tool: Any) -> bool:
        hints = getattr(tool, "metadata", None) or {}
        is_read_only = hints.get("readOnlyHint") is True or request.name in self._read_only
        return self._max_pages > 1 and is_read_only

    async def _follow(
        self, request: Any, handler: Handler, first: Wire, schema: Mapping[str, Any] | None
    ) -> "_Shown":
        """Return the items of further pages too; a page that fails ends them with a warning."""
        replies = [first]

        async def call(tool: str, arguments: dict[str, Any]) -> Any:
            if replies:
                return replies.pop()
            try:
                return _wire(await handler(request.override(name=tool, args=arguments)))
            except Exception as error:  # the pages before it are kept
                raise PeerError(f"the next page of {request.name} failed: {error}") from error

        merged = _Pages()
        found = pages(call, request.name, request.args, schema=schema)
        try:
            async with aclosing(found):
                async for reading in found:
                    merged.add(reading)
                    if len(merged.readings) >= self._max_pages or merged.size >= self._max_bytes:
                        break
        except PeerError as error:
            merged.fault = str(error)
        return merged.shown()


class _Shown(NamedTuple):
    """What the model sees, and the artifact."""

    blocks: list[Block]
    response: dict[str, Any]
    is_error: bool = False


class _Pages:
    """The pages of a list as one response."""

    def __init__(self) -> None:
        self.readings: list[Reading] = []
        self.size = 0
        self.fault: str | None = None
        self._items: list[Any] = []

    def add(self, reading: Reading) -> None:
        """Add a page."""
        items = items_of(reading)
        self.readings.append(reading)
        self._items += items
        self.size += len(_encode(items))

    def shown(self) -> _Shown:
        """Return the response as text, then the images and links of all pages."""
        response = self._response().to_dict()
        text = text_block(_encode(response).decode())
        beside = [
            each for page in self.readings for each in _blocks_of(page.raw) if not is_text(each)
        ]
        return _Shown([text, *beside], response)

    def _response(self) -> Response:
        first, last = self.readings[0], self.readings[-1]
        page = last.page or Page()
        offset = first.page.offset if first.page else None
        pagination = Pagination.of(msgspec.structs.replace(page, offset=offset))
        metadata = {
            **(last.response.metadata or {}),
            **known(warnings=self._warnings() or None, truncated=self._is_cut(last) or None),
        }
        return msgspec.structs.replace(
            last.response,
            data=self._items,
            pagination=None if pagination == Pagination() else pagination,
            summary=Summary(total=page.total, returned=len(self._items), has_more=page.has_more),
            status="partial" if any(each.is_partial for each in self.readings) else None,
            metadata=metadata or None,
        )

    def _warnings(self) -> list[Notice]:
        """Return each warning once; those of a cut page no longer hold if the next one is here."""
        *earlier, last = self.readings
        notices = [
            notice for page in earlier for notice in page.warnings if notice.code != TRUNCATED
        ]
        fault = [] if self.fault is None else [Notice(self.fault)]
        return list(dict.fromkeys([*notices, *last.warnings, *fault]))

    def _is_cut(self, last: Reading) -> bool:
        return last.is_truncated or self.fault is not None


def _complete(request: Any, reply: Wire, reading: Reading) -> list[Block]:
    """Return the content blocks, with the structure as text unless a text has the same value."""
    blocks = _blocks_of(reply)
    structure = reply.get("structuredContent")
    if structure is None or shows_structure(reply, reading, request.args):
        return blocks
    return [*blocks, text_block(_encode(structure).decode())]


def _with_reason(blocks: list[Block], reading: Reading) -> list[Block]:
    """Return the blocks of a failure that the server did not declare, with the reason as text."""
    reason = failure_text(reading)
    if not isinstance(reading.value, str):  # prose says itself that it is a failure
        reason = f"Error executing {reading.response.tool_name}: {reason}"
    return [text_block(reason), *(each for each in blocks if not is_text(each))]


def _without_sound(block: Block) -> Block:
    """Return a text in place of audio, which `langchain-mcp-adapters` does not convert."""
    if block.get("type") != "audio":
        return block
    return text_block(f"[audio, {block.get('mimeType')}, not shown]")


def _blocks_of(reply: Wire) -> list[Block]:
    return [_without_sound(each) for each in reply["content"]]


# Requests and results of the framework


def _wire(result: Any) -> Wire:
    from mcp.types import CallToolResult

    if not isinstance(result, CallToolResult):
        raise PeerError("another interceptor has replaced its result")
    return wire_of(result)


def _tool_of(request: Any) -> Any:
    """Return the agent's tool that a request is for; None outside of an agent."""
    tools = getattr(request.runtime, "tools", None) or ()
    names = (request.name, f"{request.server_name}_{request.name}")
    return next((tool for tool in tools if tool.name in names), None)


def _schema_of(tool: Any) -> Mapping[str, Any] | None:
    schema = getattr(tool, "args_schema", None)
    return schema if isinstance(schema, dict) else None


def _result(request: Any, tool: Any, shown: _Shown) -> Any:
    """Return a ToolMessage for an agent's call; else a tool result, which the caller converts.

    Only a ToolMessage has an artifact in case of an error, and it needs the id of the call. If the
    client was told not to handle tool errors, a tool result makes it raise one.
    """
    call_id = getattr(request.runtime, "tool_call_id", None)
    is_raised = shown.is_error and tool is not None and not tool.handle_tool_error
    if call_id is None or is_raised:
        return _tool_result(shown)
    from langchain_core.messages import ToolMessage

    return ToolMessage(
        [_converted(each) for each in shown.blocks],
        artifact=shown.response,
        tool_call_id=call_id,
        name=request.name if tool is None else tool.name,
        status="error" if shown.is_error else "success",
    )


def _tool_result(shown: _Shown) -> Any:
    from mcp.types import CallToolResult

    return CallToolResult.model_validate(
        {
            "content": shown.blocks,
            "structuredContent": shown.response,
            "isError": shown.is_error,
        }
    )


def _converted(block: Block) -> dict[str, Any]:
    """Return a content block of LangChain."""
    from langchain_core.messages import content as blocks

    resource = block.get("resource", {})
    match block["type"]:
        case "text":
            made = blocks.create_text_block(block["text"])
        case "image":
            made = blocks.create_image_block(base64=block["data"], mime_type=block["mimeType"])
        case "resource" if "text" in resource:
            made = blocks.create_text_block(resource["text"])
        case "resource":
            made = _file(resource.get("mimeType"), base64=resource["blob"])
        case "resource_link":
            made = _file(block.get("mimeType"), url=block["uri"])
        case _:
            made = blocks.create_text_block(_encode(block).decode())
    return dict(made)


def _file(mime_type: str | None, **source: str) -> Any:
    from langchain_core.messages import content as blocks

    if mime_type is not None and mime_type.startswith("image/"):
        return blocks.create_image_block(mime_type=mime_type, **source)
    return blocks.create_file_block(mime_type=mime_type, **source)
