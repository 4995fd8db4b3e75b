"""Pydantic AI: `MCPToolset(url, process_tool_call=read_tool_calls())` reads tool results."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final, NoReturn

from accord.integrations.failures import failure_text, levels_from
from accord.reader import Reading, read
from accord.reader.reading import Confidence

if TYPE_CHECKING:
    from pydantic_ai import RunContext
    from pydantic_ai.mcp import CallToolFunc

    Hook = Callable[[RunContext[Any], CallToolFunc, str, dict[str, Any]], Awaitable[Any]]

_REFUSED: Final = frozenset(
    {"authentication", "authorization", "UNAUTHENTICATED", "FORBIDDEN", 401, 403}
)
"""Kinds and codes of a failure that no other arguments can avoid."""


def read_tool_calls(
    *, confidence: Confidence = "likely", generic: bool = False, hook: "Hook | None" = None
) -> "Hook":
    """Return a `process_tool_call` hook for `MCPToolset` that reads the results of its calls.

    A failure raises ModelRetry with the reason and the remediation, also if the result does not
    say that it is one; the reading must be at least as sure as `confidence`. ToolFailed is raised
    instead on the last attempt and for refused callers, where a retry only ends the run. A success
    is returned as it is, or with `generic` as the generic response; images and audio stay what
    they are. `hook` is your own hook; it makes the call.
    """
    exceptions = _framework()
    surest = levels_from(confidence)

    async def process_tool_call(
        context: "RunContext[Any]", call_tool: "CallToolFunc", name: str, arguments: dict[str, Any]
    ) -> Any:
        try:
            if hook is None:
                value = await call_tool(name, arguments)
            else:
                value = await hook(context, call_tool, name, arguments)
        except exceptions.ModelRetry as error:
            reading = read(_reply_of(error), name, arguments)
            _fail(reading, context, error)
        if not _is_readable(value):  # made by `hook`
            return value
        reading = read(_result_of(value), name, arguments)
        if reading.is_failure and reading.confidence in surest:
            _fail(reading, context)
        return _generic(reading, value) if generic else value

    def _fail(
        reading: Reading, context: "RunContext[Any]", cause: Exception | None = None
    ) -> NoReturn:
        text = failure_text(reading)
        if context.last_attempt or _is_refused(reading):
            raise exceptions.ToolFailed(text) from cause
        raise exceptions.ModelRetry(text) from cause

    return process_tool_call


def _framework() -> Any:
    try:
        from pydantic_ai import exceptions
    except ImportError as error:
        raise ImportError(
            "accord.integrations.pydantic_ai needs Pydantic AI: pip install 'pydantic-ai-slim[mcp]'"
        ) from error
    return exceptions


def _is_refused(reading: Reading) -> bool:
    error = reading.response.error
    if error is None:
        return False
    kind = error.details.get("type") if isinstance(error.details, dict) else None
    return error.code in _REFUSED or (isinstance(kind, str) and kind in _REFUSED)


def _reply_of(error: Exception) -> Exception:
    """Return the JSON-RPC error behind a ModelRetry of a toolset, if there is one, or itself."""
    cause = error.__cause__
    code = getattr(getattr(cause, "error", None), "code", None)
    return cause if isinstance(cause, Exception) and isinstance(code, int) else error


def _result_of(value: Any) -> Any:
    """Return a tool result with a value that a toolset made of one."""
    if isinstance(value, str):
        return {"content": [{"type": "text", "text": value}]}
    return value if _binaries(value) else {"content": [], "structuredContent": value}


def _is_readable(value: Any) -> bool:
    return isinstance(value, str | dict | list | int | float | None) or _is_binary(value)


def _binaries(value: Any) -> list[Any]:
    return [part for part in (value if isinstance(value, list) else [value]) if _is_binary(part)]


def _is_binary(part: Any) -> bool:
    return isinstance(getattr(part, "data", None), bytes) and hasattr(part, "media_type")


def _generic(reading: Reading, value: Any) -> Any:
    """Return the generic response; if there are images or audio, a list with them after it."""
    response, binaries = reading.response.to_dict(), _binaries(value)
    return [response, *binaries] if binaries else response
