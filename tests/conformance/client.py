"""The client that the official conformance suite drives: `python -m tests.conformance.client URL`.

Whatever a server has, it uses once: each tool with arguments that fit its schema, or those of the
suite, each resource and each prompt. A server that requires it is signed in to, by a person who
agrees at once.
"""

import asyncio
import json
import os
import sys
import urllib.request
from typing import Any

from accord import Client
from accord.auth.sign_in import Auth, MemoryStore
from accord.client import ClientCredentials, ElicitRequest, SignIn

METADATA_URL = "https://conformance-test.local/client-metadata.json"
"""The suite expects this one."""
VALUES: dict[str, Any] = {"string": "text", "integer": 1, "number": 1.5, "boolean": True}

context: dict[str, Any] = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}"))
scenario = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
revision = os.environ.get("MCP_CONFORMANCE_PROTOCOL_VERSION")


def agree(page: str) -> None:
    """Open the page and follow where it leads, as a browser does."""
    urllib.request.urlopen(page, timeout=20).read()


def auth() -> Auth:
    """Return a sign-in with what the scenario gives."""
    if scenario.startswith("auth/client-credentials"):
        return ClientCredentials(
            context["client_id"],
            context.get("client_secret"),
            private_key=context.get("private_key_pem"),
            algorithm=context.get("signing_algorithm", "ES256"),
        )
    return SignIn(
        client_id=context.get("client_id"),
        client_secret=context.get("client_secret"),
        issuer=context.get("issuer"),
        client_metadata_url=METADATA_URL,
        store=MemoryStore(),
        open_page=agree,
        announce=lambda page: None,
    )


def fitting(schema: dict[str, Any], tools: dict[str, Any]) -> dict[str, Any]:
    """Return an object that fits a schema; a schema that is asked for is that of the first tool."""
    found = {}
    for name, each in schema.get("properties", {}).items():
        if name == "schema":
            found[name] = next(iter(tools.values()))
        elif "default" in each:
            found[name] = each["default"]
        else:
            found[name] = VALUES.get(each.get("type"), {})
    return found


def answer(request: ElicitRequest) -> dict[str, Any]:
    """Fill a form with its defaults."""
    return fitting(request.schema or {}, {})


async def main(url: str) -> None:
    async with Client(url, auth=auth(), revision=revision, on_elicit=answer, timeout=10) as client:
        tools = {tool.name: tool.raw["inputSchema"] for tool in await client.list_tools()}
        calls = {name: fitting(schema, tools) for name, schema in tools.items()}
        for given in context.get("toolCalls", ()):
            calls[given["name"]] = given["arguments"]
        for name, arguments in calls.items():
            await client.call_tool_raw(name, arguments)
        if "resources" in client.capabilities:
            for resource in await client.list_resources():
                await client.read_resource(resource.uri)
        if "prompts" in client.capabilities:
            for prompt in await client.list_prompts():
                await client.get_prompt(prompt.name)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
