"""A server that verifies tokens, for tests; its verifier is made of the environment."""

import asyncio
import os
from typing import Any

from accord import Context, Server, TokenVerifier
from accord.auth import AnyOf, Introspection, StaticTokens

AUDIENCE = "https://mcp.example.com/mcp"


def verifier() -> Any:
    """Return the verifier that the environment describes."""
    found: list[Any] = []
    issuer, audience = os.environ.get("ISSUER"), os.environ.get("AUDIENCE", AUDIENCE)
    if issuer is not None:
        found.append(TokenVerifier(issuer, audience, scopes=["shop:read"]))
    if "INTROSPECT" in os.environ:
        found.append(
            Introspection(
                os.environ["INTROSPECT"],
                client_id="mcp",
                client_secret="s3cret&",
                issuer=os.environ["INTROSPECT"].removesuffix("/introspect"),
                audience=audience,
            )
        )
    if "TOKENS" in os.environ:
        found.append(StaticTokens(os.environ["TOKENS"], scopes=["shop:read"]))
    return found[0] if len(found) == 1 else AnyOf(found)


def build(**options: Any) -> Server:
    """Return the server."""
    server = Server("guarded", page_size=3, changing=["tools"], **options)

    @server.tool
    async def add(a: int, b: int) -> int:
        return a + b

    @server.tool(scopes=["shop:write", "shop:stock"])
    async def restock(item: str) -> str:
        return f"restocked {item}"

    @server.tool(scopes=["shop:admin"], hidden=True)
    def purge() -> str:
        return "purged"

    @server.tool
    async def whoami(context: Context) -> dict[str, Any]:
        caller = context.caller
        if caller is None:
            return {"caller": None, "key": context.caller_key}
        return {
            "issuer": caller.issuer,
            "subject": caller.subject,
            "client": caller.client,
            "scopes": sorted(caller.scopes),
            "claims": sorted(caller.claims),
            "key": context.caller_key,
        }

    _add_slow_tools(server)
    _add_others(server)
    return server


def _add_slow_tools(server: Server) -> None:
    @server.tool
    async def count(to: int, context: Context) -> int:
        for number in range(to):
            await context.progress(number + 1, to)
            await asyncio.sleep(0.05)
        return to

    @server.tool(read_only=True)
    def lines(cursor: str | None = None) -> list[str]:
        return [f"line {number} " + "x" * 1_000 for number in range(1_000)]

    @server.tool
    async def order(context: Context) -> str:
        """Ask before ordering."""
        answer = await context.elicit("How many?", int)
        return f"{answer.action} {answer.data}"

    @server.tool
    async def wait() -> str:
        await asyncio.sleep(1)
        return "waited"


def _add_others(server: Server) -> None:
    @server.prompt(scopes=["shop:write"])
    def plan(item: str) -> str:
        return f"Restock {item}"

    @server.completion("plan", "item")
    def complete_item(value: str) -> list[str]:
        return ["rope"]

    @server.prompt(scopes=["shop:admin"], hidden=True)
    def audit() -> str:
        return "Audit"

    @server.resource("shop://stock", scopes=["shop:write"], is_public=True, watched=True)
    def stock() -> str:
        return "7"

    @server.resource("shop://ledger/{year}", scopes=["shop:admin"], hidden=True)
    def ledger(year: str) -> str:
        return year


if {"ISSUER", "INTROSPECT", "TOKENS"} & os.environ.keys():
    server = build(auth=verifier())
