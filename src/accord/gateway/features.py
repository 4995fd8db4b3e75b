"""Tools, prompts and resources of an upstream, as features of a server."""

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache
from typing import Any, Final

import msgspec

from accord.client import Reply
from accord.client.entries import completion_of
from accord.errors import ContractError, PeerError
from accord.gateway.faults import raise_error
from accord.gateway.repair import Fits, Repaired, fits_schema, repair
from accord.gateway.spec import UpstreamSpec
from accord.gateway.upstreams import Upstream
from accord.model.answer import Problem
from accord.model.completion import Completer, Completion
from accord.model.context import Context
from accord.model.prompt import Argument, Prompt
from accord.model.resource import Resource, Template
from accord.model.tool import Bound, Foreign, Hints, Tool
from accord.model.values import WireResult
from accord.protocol.header_params import header_params_of
from accord.server.forwarding import ForwardedResult, read_result, replies_for
from accord.server.readings import for_revision

Entry = Mapping[str, Any]

_HEADER_MEMBER: Final = "x-mcp-header"
_HINTS: Final = {
    "read_only": "readOnlyHint",
    "destructive": "destructiveHint",
    "idempotent": "idempotentHint",
    "open_world": "openWorldHint",
}
_ANY_OBJECT: Final = {"type": "object"}


def is_served(spec: UpstreamSpec, name: str, entry: Entry, *, is_tool: bool) -> bool:
    """True if the filters of an upstream let a tool or prompt through."""
    if spec.read_only and is_tool and _hints(entry).read_only is not True:
        return False
    return not spec.only or any(fnmatchcase(name, pattern) for pattern in spec.only)


def tool_of(upstream: Upstream, entry: Entry, name: str) -> Tool:
    """Return a tool that forwards its calls to an upstream."""
    own = str(entry["name"])
    hints = _hints(entry)
    check = cache(lambda: fits_schema(entry.get("outputSchema")))  # few tools are ever called

    async def invoke(arguments: msgspec.Raw, context: Context[Any]) -> ForwardedResult:
        reply = await upstream.requests.request(
            "tools/call",
            {"name": own, "arguments": arguments},
            context,
            is_repeatable=hints.read_only is True or hints.idempotent is True,
            entry=entry,
        )
        if reply.error is not None:
            raise_error(reply.error, "tools/call", context, upstream.spec.name)
        return _result(upstream, tool, own, reply, bytes(arguments), context, check())

    schema = entry.get("inputSchema")
    description, title = entry.get("description"), entry.get("title")
    tool = Tool(
        name=name,
        title=title if isinstance(title, str) else None,
        description=description if isinstance(description, str) else "",
        input_schema=_input_schema(schema),
        bind=_bind,
        invoke=invoke,
        is_async=True,
        wants_context=True,
        hints=hints,
        task="auto" if upstream.supports_tasks(entry) else False,
        foreign=Foreign(_valid(entry), upstream.spec.replies, _is_stale(upstream), upstream.origin),
    )
    return _with_valid_header_params(tool)


def _bind(arguments: bytes) -> Bound:
    return Bound(msgspec.Raw(arguments or b"{}"))


def _result(
    upstream: Upstream,
    tool: Tool,
    own: str,
    reply: Reply,
    arguments: bytes,
    context: Context[Any],
    fits: Fits | None,
) -> ForwardedResult:
    """Return the result of a call, repaired unless it is sent as it is."""
    replies, result = replies_for(tool, context.client), reply.result
    if replies == "as-is":
        if not isinstance(result, dict):
            raise Problem.internal(
                f"Server {upstream.spec.name!r} sent a result that is not an object"
            )
        repaired, reading = Repaired(_encoded_members(reply.raw, result)), None
    else:
        repaired = repair(result, fits)
        reading = read_result(repaired.members, own, arguments)
        is_marked = repaired.members.get("isError") is True
        is_hidden = reading.is_failure and reading.confidence == "certain" and not is_marked
        if is_hidden and replies == "repaired":
            repaired = Repaired(
                {**repaired.members, "isError": True}, (*repaired.changed, "isError: missing")
            )
    if repaired.changed:
        upstream.count_change(own)
    return ForwardedResult(
        tool=own,
        raw=reply.raw,
        members=repaired.members,
        replies=replies,
        changed=repaired.changed,
        arguments=arguments,
        server=upstream.spec.name,
        reading=reading,
        note_change=lambda: upstream.count_change(own),
    )


class _RawReply(msgspec.Struct):
    result: dict[str, msgspec.Raw]


def _encoded_members(raw: bytes, result: dict[str, Any]) -> dict[str, Any]:
    """Return the members of a result as their bytes; decoded where those are not valid JSON."""
    try:
        raw.decode()
        return dict(msgspec.json.decode(raw, type=_RawReply).result)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return result


def _input_schema(schema: Any) -> dict[str, Any]:
    """Return an input schema; one that cannot be sent or searched is replaced by any object."""
    if not isinstance(schema, dict) or not isinstance(schema.get("properties", {}), dict):
        return dict(_ANY_OBJECT)
    return schema if schema.get("type") == "object" else {**schema, "type": "object"}


def _with_valid_header_params(tool: Tool) -> Tool:
    """Return a tool without arguments in headers if their declarations are not valid."""
    try:
        header_params_of(tool)
    except ContractError:
        schema = _without(tool.input_schema, _HEADER_MEMBER)
        return msgspec.structs.replace(tool, input_schema=schema)
    return tool


def _without(node: Any, key: str) -> Any:
    if isinstance(node, list):
        return [_without(each, key) for each in node]
    if not isinstance(node, dict):
        return node
    return {name: _without(each, key) for name, each in node.items() if name != key}


def _hints(entry: Entry) -> Hints:
    given = entry.get("annotations")
    found = given if isinstance(given, dict) else {}
    known = {name: found.get(wire) for name, wire in _HINTS.items()}
    return Hints(**{name: each for name, each in known.items() if isinstance(each, bool)})


_TYPES: Final[Mapping[str, type]] = {
    "title": str,
    "description": str,
    "annotations": dict,
    "_meta": dict,
    "icons": list,
    "arguments": list,
    "mimeType": str,
    "size": int,
}


def _valid(entry: Entry) -> dict[str, Any]:
    """Return an entry without the members whose type the protocol does not allow."""
    return {
        name: each
        for name, each in entry.items()
        if name not in _TYPES or isinstance(each, _TYPES[name])
    }


def _is_stale(upstream: Upstream) -> bool:
    return upstream.status != "ok"


def prompt_of(upstream: Upstream, entry: Entry, name: str) -> Prompt:
    """Return a prompt that an upstream has."""
    own = str(entry["name"])

    async def invoke(arguments: msgspec.Raw, context: Context[Any]) -> WireResult:
        params = {"name": own, "arguments": arguments}
        return await _forward(upstream, "prompts/get", params, context)

    foreign = Foreign(_valid(entry), is_stale=_is_stale(upstream), origin=upstream.origin)
    found = foreign.entry.get("arguments", ())
    return Prompt(
        name=name,
        description=foreign.entry.get("description", ""),
        arguments=[
            Argument(str(each["name"]), required=each.get("required") is True)
            for each in found
            if isinstance(each, dict) and isinstance(each.get("name"), str)
        ],
        bind=_bind,
        invoke=invoke,
        is_async=True,
        wants_context=True,
        foreign=foreign,
    )


def resource_of(upstream: Upstream, entry: Entry, uri: str) -> Resource:
    """Return a resource, or a template, of an upstream, which is served at `uri`."""
    is_static = "uri" in entry
    own = str(entry["uri" if is_static else "uriTemplate"])
    foreign = Foreign(_valid(entry), is_stale=_is_stale(upstream), origin=upstream.origin)
    template = Template(own, is_foreign=True)

    async def invoke(variables: Mapping[str, str], context: Context[Any]) -> WireResult:
        params = {"uri": own if is_static else template.filled(variables)}
        return await _forward(upstream, "resources/read", params, context)

    reference = {"type": "ref/resource", "uri": own}
    return Resource(
        uri=uri,
        name=str(entry.get("name") or own),
        description=foreign.entry.get("description", ""),
        mime_type=foreign.entry.get("mimeType"),
        bind=lambda raw: Bound(msgspec.json.decode(raw)),
        invoke=invoke,
        is_async=True,
        wants_context=True,
        foreign=foreign,
        watched=upstream.can_subscribe,
        on_watch=lambda variables, watch: upstream.watch(
            own if is_static else template.filled(variables), watch
        ),
        completers={} if is_static else completers_of(upstream, reference, template.path_names),
    )


async def _forward(
    upstream: Upstream, method: str, params: Mapping[str, Any], context: Context[Any]
) -> WireResult:
    """Return the result of a prompt or resource for the caller's revision."""
    reply = await upstream.requests.request(method, params, context)
    if reply.error is not None:
        raise_error(reply.error, method, context, upstream.spec.name)
    result = reply.result
    member = "contents" if method == "resources/read" else "messages"
    if not isinstance(result, dict) or not isinstance(result.get(member), list):
        raise Problem.internal(f"Server {upstream.spec.name!r} sent no {member} for {method}")
    is_public = not upstream.depends_on_caller
    return WireResult(_projected(result, context, is_public=is_public))


def _cache_hints(result: Mapping[str, Any], *, is_public: bool) -> dict[str, Any]:
    """Return for how long, and for whom, a caller may keep a resource."""
    ttl = result.get("ttlMs")
    is_valid = isinstance(ttl, int) and not isinstance(ttl, bool) and ttl > 0
    is_shared = is_public and result.get("cacheScope") == "public"
    return {"ttlMs": ttl if is_valid else 0, "cacheScope": "public" if is_shared else "private"}


def _projected(
    result: Mapping[str, Any], context: Context[Any], *, is_public: bool
) -> dict[str, Any]:
    """Return the members of a result without those that belong to the upstream's connection."""
    revision = context.client.revision
    found = {name: each for name, each in result.items() if name not in _CONNECTION}
    if "contents" in found and revision.stateless:
        found |= _cache_hints(result, is_public=is_public)
    if isinstance(found.get("messages"), list):
        found["messages"] = [
            {**each, "content": for_revision(each["content"], revision)}
            if isinstance(each, dict) and isinstance(each.get("content"), dict)
            else each
            for each in found["messages"]
        ]
    meta = found.pop("_meta", None)
    if isinstance(meta, dict):
        kept = {name: each for name, each in meta.items() if name != _SERVER_INFO}
        if kept:
            found["_meta"] = kept
    return found


_CONNECTION: Final = ("resultType", "ttlMs", "cacheScope")
_SERVER_INFO: Final = "io.modelcontextprotocol/serverInfo"


def completers_of(
    upstream: Upstream, reference: Entry, names: Sequence[str]
) -> dict[str, Completer]:
    """Return the completers of a prompt's arguments, or of a template's variables."""
    if not upstream.can_complete:
        return {}
    return {name: _completer(upstream, reference, name) for name in names}


def _completer(upstream: Upstream, reference: Entry, name: str) -> Completer:
    async def complete(value: str, others: dict[str, str]) -> Completion:
        params: dict[str, Any] = {"ref": reference, "argument": {"name": name, "value": value}}
        if others:
            params["context"] = {"arguments": others}
        try:
            reply = await upstream.requests.complete(params)
        except PeerError as error:
            raise Problem.unavailable(f"Server {upstream.spec.name!r}: {error}") from error
        return Completion(()) if reply.error is not None else completion_of(reply.result)

    return Completer(complete, is_async=True)
