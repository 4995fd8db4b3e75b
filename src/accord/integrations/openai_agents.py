"""OpenAI Agents SDK: `AccordMCPServerStdio` and `AccordMCPServerStreamableHttp` read replies."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from accord.integrations.failures import failure_text, levels_from
from accord.integrations.replies import Wire, media_of, rpc_error, shows_structure, wire_of
from accord.model.content import text as text_block
from accord.reader import Reading, read
from accord.reader.reading import Confidence, to_json

__all__ = ["AccordMCPServerStdio", "AccordMCPServerStreamableHttp", "ReadsReplies"]


class ReadsReplies:
    """Mixin for the SDK's MCP servers: reads each reply, so that the model sees all of it.

    Put it before the server's class. A failure becomes a result with `isError` and the reason as
    text, also if the reply does not say that it is one; the reading must be at least as sure as
    `confidence`. So does a JSON-RPC error or a timeout, of which the SDK tells the model nothing;
    with a `failure_error_function` it is raised, for that function. A success is passed on as it
    is, or with `generic` as the generic response. Images stay images.
    """

    use_structured_content: bool

    def __init__(
        self, *args: Any, confidence: Confidence = "likely", generic: bool = False, **options: Any
    ) -> None:
        """Take the arguments of the server's class, and those described above."""
        super().__init__(*args, **options)
        self._surest = levels_from(confidence)
        self._generic = generic
        self._raises = "failure_error_function" in options

    async def call_tool(
        self, tool_name: str, arguments: dict[str, Any] | None, meta: dict[str, Any] | None = None
    ) -> Any:
        """Call a tool, and return its result with everything in the channel that is shown."""
        try:
            result = await super().call_tool(tool_name, arguments, meta)  # type: ignore[misc]
        except rpc_error() as error:
            if self._raises:
                raise
            from mcp.types import CallToolResult

            return _failed(read(error, tool_name, arguments), CallToolResult, {"content": []})
        reading = read(result, tool_name, arguments)
        if reading.is_failure and (reading.confidence in self._surest or _is_error(result)):
            return _failed(reading, type(result), wire_of(result))
        if self._generic:
            return _as_generic(reading, result)
        return self._whole(reading, result)

    def _whole(self, reading: Reading, result: Any) -> Any:
        """Return a result whose content or structure, whichever is shown, says all of it."""
        if not reading.origin.startswith("structuredContent"):
            return result
        blocks = [block.type for block in result.content]
        says_more = reading.response.message is not None or reading.findings
        if {*blocks} == {"text"} and not says_more:
            return result
        wire = wire_of(result)
        if not shows_structure(wire, reading):
            wire["content"].append(text_block(to_json(wire["structuredContent"]).decode()))
        if self.use_structured_content:
            del wire["structuredContent"]
        return type(result).model_validate(wire)


def _failed(reading: Reading, kind: Any, wire: Wire) -> Any:
    text = f"Error executing {reading.response.tool_name}: {failure_text(reading)}"
    content = [text_block(text), *media_of(wire)]
    kept = {name: value for name, value in wire.items() if name != "structuredContent"}
    return kind.model_validate({**kept, "content": content, "isError": True})


def _as_generic(reading: Reading, result: Any) -> Any:
    wire, response = wire_of(result), reading.response.to_dict()
    others = media_of(wire)
    wire["content"] = [text_block(to_json(response).decode()), *others]
    wire["structuredContent"] = None if others else response
    return type(result).model_validate(wire)


def _is_error(result: Any) -> bool:
    return bool(getattr(result, "is_error", None) or getattr(result, "isError", None))


def _imported(module: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(
            "accord.integrations.openai_agents needs the OpenAI Agents SDK: "
            "pip install openai-agents"
        ) from error


if TYPE_CHECKING:
    from agents.mcp import MCPServerStdio, MCPServerStreamableHttp

    # Where the framework is not installed, mypy knows its classes as Any.
    class AccordMCPServerStdio(ReadsReplies, MCPServerStdio):  # type: ignore[misc]
        """An MCPServerStdio that reads replies; see ReadsReplies."""

    class AccordMCPServerStreamableHttp(ReadsReplies, MCPServerStreamableHttp):  # type: ignore[misc]
        """An MCPServerStreamableHttp that reads replies; see ReadsReplies."""

else:
    _READY = {
        "AccordMCPServerStdio": "MCPServerStdio",
        "AccordMCPServerStreamableHttp": "MCPServerStreamableHttp",
    }

    def __getattr__(name: str) -> type:
        """Make a ready class on first use: only then the framework is imported."""
        if name not in _READY:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        base = getattr(_imported("agents.mcp"), _READY[name])
        members = {"__module__": __name__, "__doc__": f"An {_READY[name]} that reads replies."}
        made = globals()[name] = type(name, (ReadsReplies, base), members)
        return made
