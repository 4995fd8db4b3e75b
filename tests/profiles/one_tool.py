"""A server with one tool that returns or raises what a test gives, and the forms of its replies."""

import json
from typing import Any

import pytest

import wire
from accord import Image, Link, Problem, Server
from accord.sources.functions import Options
from peer import Peer, asking

V1, V2, V3, V4, V5 = wire.REVISIONS
META = "dev.accord-mcp/answer"
STAMP = {"io.modelcontextprotocol/serverInfo": {"name": "shop", "version": "1.0"}}
ABSENT = object()
BLOCKS: list[Any] = [Image(b"hi", "image/png"), Link("shop://a", "a")]
each_revision = pytest.mark.parametrize("revision", wire.REVISIONS)


def saying(
    outcome: Any, hint: Any = Any, *, structured: bool = True, read_only: bool | None = None
) -> Server:
    """Return a server whose tool `get` returns the outcome, or raises it."""

    def get(limit: int = 1):
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    get.__annotations__ = {"limit": int, "return": hint}
    server = Server("shop", version="1.0", structured=structured)
    options: Options = {} if read_only is None else {"read_only": read_only}
    server.tool(**options)(get)
    return server


def reply(server: Server, profile: str, revision: str, **arguments: Any) -> Any:
    """Return the reply to a client that asks for the profile."""
    return Peer(server, revision, asking(profile)).call("get", **arguments)


def result(outcome: Any, profile: str, revision: str, hint: Any = Any) -> Any:
    return reply(saying(outcome, hint), profile, revision)["result"]


def listed(server: Server, profile: str, revision: str) -> Any:
    """Return the tool as that client sees it in the list."""
    (tool,) = Peer(server, revision, asking(profile)).ask("tools/list")["result"]["tools"]
    return tool


def text(words: str) -> dict[str, str]:
    return {"type": "text", "text": words}


def required(revision: str, beside: Any = None) -> dict[str, Any]:
    """Return the members that a revision requires, with what the answer has beside its data."""
    meta = ({} if beside is None else {META: beside}) | (STAMP if revision == V5 else {})
    return ({"resultType": "complete"} if revision == V5 else {}) | (
        {"_meta": meta} if meta else {}
    )


def structure(revision: str, as_object: Any, as_any: Any) -> dict[str, Any]:
    """Return `structuredContent` in the form of a revision, if it has that member."""
    value = {V1: ABSENT, V2: ABSENT, V5: as_any}.get(revision, as_object)
    return {} if value is ABSENT else {"structuredContent": value}


def shown_blocks(revision: str) -> list[dict[str, str]]:
    """Return `BLOCKS` as content of a revision."""
    link = {"type": "resource_link", "uri": "shop://a", "name": "a"}
    return [
        {"type": "image", "data": "aGk=", "mimeType": "image/png"},
        text("shop://a") if revision in (V1, V2) else link,
    ]


def assert_is(result: Any, shape: Any, revision: str, beside: Any = None, **members: Any) -> None:
    """Assert that a result is this object, in text and structure, without further members."""
    first = result["content"][0]
    assert (first["type"], json.loads(first["text"])) == ("text", shape)
    assert result == {
        "content": result["content"],
        **({} if revision in (V1, V2) else {"structuredContent": shape}),
        **members,
        **required(revision, beside),
    }


def sent(outcome: Any) -> dict[str, Any]:
    """Return the members of a problem as `_meta` has them; of a bug, those of the masked one."""
    if not isinstance(outcome, Problem):
        outcome = Problem.internal("Internal error")
    fields = [
        {"field": each.field, "error": each.error, "severity": each.severity}
        for each in outcome.fields
    ]
    members = {
        "kind": outcome.kind,
        "code": outcome.code,
        "message": outcome.message,
        "summary": outcome.summary,
        "fields": fields or None,
        "remediation": outcome.remediation,
        "retryable": outcome.retryable,
        "retry_after": outcome.retry_after,
    }
    return {name: each for name, each in members.items() if each is not None}


def problem(message: str = "No customer 7", **details: Any) -> Problem:
    """Return a problem with every detail."""
    return Problem(
        message,
        **{
            "kind": "not_found",
            "summary": "Lookup failed",
            "remediation": "call customers first",
            "retryable": True,
            "retry_after": 2.5,
            **details,
        },
    )
