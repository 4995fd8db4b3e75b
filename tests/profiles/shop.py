"""For the tables of the profiles: a server whose one tool says what it is told to say."""

from typing import Any

import wire
from accord import Problem, Server
from accord.sources.functions import Options
from peer import Peer, asking

V1, V2, V3, V4, V5 = wire.REVISIONS
META = "dev.accord-mcp/answer"
STAMP = {"io.modelcontextprotocol/serverInfo": {"name": "shop", "version": "1.0"}}
ABSENT = object()


def saying(
    outcome: Any, hint: Any = Any, *, structured: bool = True, read_only: bool | None = None
) -> Server:
    """A server whose tool `get` returns the outcome, or raises it."""

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
    """What a client that asks for the profile gets."""
    return Peer(server, revision, asking(profile)).call("get", **arguments)


def result(outcome: Any, profile: str, revision: str, hint: Any = Any) -> Any:
    return reply(saying(outcome, hint), profile, revision)["result"]


def listed(server: Server, profile: str, revision: str) -> Any:
    """The tool, as that client sees it in the list."""
    (tool,) = Peer(server, revision, asking(profile)).ask("tools/list")["result"]["tools"]
    return tool


def text(words: str) -> dict[str, str]:
    return {"type": "text", "text": words}


def required(revision: str, beside: Any = None) -> dict[str, Any]:
    """What the newest revision has in every result, and what the answer has beside its data."""
    meta = ({} if beside is None else {META: beside}) | (STAMP if revision == V5 else {})
    return ({"resultType": "complete"} if revision == V5 else {}) | (
        {"_meta": meta} if meta else {}
    )


def structure(revision: str, as_object: Any, as_any: Any) -> dict[str, Any]:
    """The member in the form that each revision has, or without it."""
    value = {V1: ABSENT, V2: ABSENT, V5: as_any}.get(revision, as_object)
    return {} if value is ABSENT else {"structuredContent": value}


def problem(message: str = "No customer 7", **details: Any) -> Problem:
    """One that has everything to say."""
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
