"""Each call as an OpenTelemetry span, after its semantic conventions for MCP servers.

https://github.com/open-telemetry/semantic-conventions-genai/blob/main/docs/gen-ai/mcp.md, with one
exception: `error.type` is the kind of the problem, where the conventions say `tool_error` for all.
A call that is rejected before its tool runs is not an error of the server.
Without a configured OpenTelemetry SDK nothing is recorded.
"""

from collections.abc import Sequence
from importlib.metadata import version

import msgspec

from accord.errors import ContractError
from accord.model.answer import KINDS

try:
    from opentelemetry import context, propagate, trace
    from opentelemetry.context import Context
    from opentelemetry.trace import Link, Span, SpanKind, Status, StatusCode
except ImportError as _error:
    from accord.extras import missing

    raise ContractError(missing("OpenTelemetry spans", "telemetry")) from _error


class OpenSpan(msgspec.Struct, frozen=True, eq=False):
    """The span of a running call; it is the current span until it ends."""

    span: Span
    within: Context
    before: Context

    def end(self, ending: str) -> None:
        """End the span; a problem sets its status to the kind, as the message may hold data."""
        span = self.span
        span.set_attribute("accord.outcome", ending)
        if ending in KINDS:
            span.set_attribute("error.type", ending)
            span.set_status(Status(StatusCode.ERROR, ending))
        try:
            span.end()
        finally:
            # No detach: it logs an error if a call ends in another context than it began in.
            if context.get_current() is self.within:
                context.attach(self.before)


class Spans:
    """Starts a span for each call of a server."""

    def __init__(self) -> None:
        self._tracer = trace.get_tracer("accord", version("accord-mcp"))

    def begin(self, tool: str, request_id: str, protocol: str | None, meta: bytes) -> OpenSpan:
        """Start a span and make it current, as the parent of the tool's own spans."""
        before = context.get_current()
        parent = propagate.extract(_carrier(meta), before) if meta else before
        attributes = {
            "mcp.method.name": "tools/call",
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": tool,
            "accord.request_id": request_id,
        }
        if protocol is not None:
            attributes["mcp.protocol.version"] = protocol
        span = self._tracer.start_span(
            f"tools/call {tool}",
            parent,
            SpanKind.SERVER,
            attributes,
            links=_links(before, parent),
        )
        within = trace.set_span_in_context(span, parent)
        context.attach(within)
        return OpenSpan(span, within, before)


def members() -> dict[str, str]:
    """Return the current trace as members of `_meta`."""
    found: dict[str, str] = {}
    propagate.inject(found)
    return found


def _carrier(meta: bytes) -> dict[str, str]:
    """Return the strings in `_meta`, where propagators look for the caller's trace."""
    try:
        members = msgspec.json.decode(meta)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(members, dict):
        return {}
    return {name: value for name, value in members.items() if isinstance(value, str)}


def _links(before: Context, parent: Context) -> Sequence[Link]:
    """Link to the current span (of an HTTP request) if the caller's span is the parent."""
    ambient = trace.get_current_span(before)
    if ambient is trace.get_current_span(parent) or not ambient.get_span_context().is_valid:
        return ()
    return (Link(ambient.get_span_context()),)
